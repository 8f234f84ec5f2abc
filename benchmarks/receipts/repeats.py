"""How often a ladder calls a difference where there is none, and whether its verdict holds.

    python -m benchmarks.receipts.repeats --runs runs/repeats

The same ladder again and again, with other seeds and new calls of a real model at a temperature
above 0: `skills/short-answers` on tasks of `demo`, without a skill, with it, and with it again
(A/A). Resumes after the last whole ladder.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reports import Journal, read_options, report, share_interval
from harness.core import write_atomic
from harness.receipts.ladder.plan import PLAN, LadderSettings
from harness.receipts.ladder.session import run_ladder

SUITE = """\
name: demo-sampled
corpus: almanac
agent: graph:answer
skill_mode: preloaded
sampling: {{temperature: {}, max_tokens: 16, stop: ["\\n"]}}
max_turns: 1
"""


def main() -> None:
    options = read_options(
        __doc__,
        repetitions=40,
        tasks=40,
        temperature=0.7,
        model="local/smollm2-135m",
        runs=Path("runs/repeats"),
        out=Path("evals/results/ladder_repeats.json"),
    )
    suite = options.runs / "suite.yaml"
    write_atomic(suite, SUITE.format(options.temperature))
    # Each receipt is written beside the skill: that of the shipped one stays.
    skill = shutil.copytree(
        Path("skills/short-answers"), options.runs / "short-answers", dirs_exist_ok=True
    )
    journal = Journal(options.runs / "journal.jsonl")

    def ladder(seed: int) -> dict[str, Any]:
        run = options.runs / f"seed-{seed}"
        begun = (run / PLAN).is_file()
        result = run_ladder(
            LadderSettings(
                skill=skill, suite=str(suite), examples="none",
                rungs="none,repeat", limit=options.tasks, models=(options.model,), seed=seed,
                **{"resume" if begun else "out": run},
            ),
            tell=lambda _: None,
        ).ladder  # fmt: skip
        rungs = {rung.name: rung for rung in result.rungs}
        assert result.again is not None
        row = {
            "seed": seed,
            "passed": {name: rung.passed for name, rung in rungs.items()},
            "changed": result.again.changed,
            "called": result.again.differs,
            "verdict": rungs["none"].verdict,
        }
        print(row, flush=True)
        return row

    rows = [
        journal.result(f"{options.model} {options.tasks} {options.temperature} {seed}",
                       lambda seed=seed: ladder(seed))
        for seed in range(1, options.repetitions + 1)
    ]  # fmt: skip
    called = sum(row["called"] for row in rows)
    verdicts = Counter(row["verdict"] for row in rows)
    report(
        {
            "command": "python -m benchmarks.receipts.repeats",
            "model": options.model,
            "tasks": options.tasks,
            "temperature": options.temperature,
            "repetitions": len(rows),
            "called": called,
            "called_ci95": share_interval(called, len(rows)),
            "verdicts": dict(verdicts.most_common()),
            "rows": rows,
        },
        options.out,
    )


if __name__ == "__main__":
    main()
