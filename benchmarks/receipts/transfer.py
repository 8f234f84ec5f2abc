"""Our executable skills with models that they were not made for, each beside gold examples.

    python -m benchmarks.receipts.transfer --model SPEC [--base-url URL] [--only SKILL] [--tasks N]

Each pair of a skill and a model is a ladder (`harness skill ladder`) on the first N test tasks of
the suite that the skill is about: without a skill, with random gold examples of its length, with
the gold examples nearest to each task, with the skill. The skills were distilled for
`qwen2.5-coder-0.5b`: from its runs came what functions are called and how the examples look. Its
own rows are of the ladders at full size that ship with the skills. A ladder that was stopped is
gone on with; a row of the same skill, model and number of tasks is replaced.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, benchmark, earlier_report, option, out_or_resume, report
from harness.receipts.ladder.plan import PLAN, LadderSettings
from harness.receipts.ladder.report import Ladder
from harness.receipts.ladder.session import run_ladder
from harness.skills import LADDER, beside

SKILLS = {
    "log-wrangling": ("wire", "wire.jsonl"),
    "table-cleaning": ("roster", "roster.jsonl"),
    "workbook-programs": ("ledger-programs", "ledger.jsonl"),
}
"""Skill that ships -> suite that it is about, and its gold examples."""
FIGURES = {"passed", "valid", "rate", "tokens_per_task", "difference", "verdict"}
"""Of a rung; the difference is that of the skill and it."""
MADE_FOR = "qwen2.5-coder-0.5b"


def row(skill: str, ladder: Ladder) -> dict[str, Any]:
    """Summarise a ladder on kinds of tasks that train has and on others."""
    seen, unseen = (
        {rung.name: rung.model_dump(include=FIGURES) for rung in rungs}
        for rungs in (ladder.rungs, ladder.unseen)
    )
    return {
        "skill": skill, "model": ladder.model.rpartition("/")[2], "suite": ladder.suite,
        "tasks": ladder.tasks, "rungs": seen, "unseen_tasks": ladder.unseen_tasks,
        "unseen": unseen, "verdicts": ladder.verdicts,
    }  # fmt: skip


@benchmark(
    model=option(help="spec; without it the ladders that ship are read"),
    base_url=option(),
    only=option(choices=list(SKILLS)),
    tasks=48,
    concurrency=32,
    runs=Path("runs/transfer"),
    out=Path("evals/results/skill_transfer.json"),
)
def main(options: Options) -> None:
    rows: list[dict[str, Any]] = earlier_report(options.out).get("rows", [])
    for skill, (suite, examples) in SKILLS.items():
        if options.only not in (None, skill):
            continue
        folder = Path("skills") / skill
        if options.model is None:
            ladder = Ladder.model_validate_json(beside(folder, LADDER).read_bytes())
        else:
            run = options.runs / f"{skill}-{options.model.rpartition('/')[2]}-{options.tasks}"
            # A ladder's receipt is written beside the skill: that of the shipped one stays.
            copy = shutil.copytree(folder, options.runs / "skills" / skill, dirs_exist_ok=True)
            settings = LadderSettings(
                skill=copy, suite=suite, examples=f"evals/examples/{examples}",
                rungs="none,random,nearest", limit=options.tasks, models=(options.model,),
                base_url=options.base_url, concurrency=options.concurrency,
                **out_or_resume(run, PLAN),
            )  # fmt: skip
            ladder = run_ladder(settings, tell=print).ladder
        new = row(skill, ladder)
        same = ("skill", "model", "tasks")
        rows = [old for old in rows if any(old[key] != new[key] for key in same)] + [new]
        report(
            {
                "command": "python -m benchmarks.receipts.transfer --model SPEC --base-url URL",
                "made_for": MADE_FOR,
                "rows": sorted(rows, key=lambda old: (old["skill"], old["model"], old["tasks"])),
            },
            options.out,
        )
