"""The demo: from tasks that fail to a skill of functions that is measured and exported.

gold programs -> functions, proven on train tasks -> gate on selection tasks -> ladder on test tasks
-> export -> report. It runs live, or answers from our recording; every program is run either way.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from harness.core import Task, Value, assets, read_foreign, render_page, write_atomic
from harness.evals import ProgressHook, load_suite, records
from harness.evolve import Event, EvolveResult, EvolveSettings, ignore_event, run_evolution
from harness.models import read_calls
from harness.receipts.ladder.plan import PLAN, LadderSettings
from harness.receipts.ladder.report import Ladder
from harness.receipts.ladder.session import run_ladder
from harness.receipts.plan import LEAST_TASKS
from harness.skills import (
    LADDER,
    beside,
    export,
    load_skill,
    read_provenance,
    shown_blocks,
)
from harness.trajectories import open_trajectories, programs_run

RECORDING = "evals/recordings/demo.jsonl.zst"
NAME = "table-cleaning"
SUITE = "tables"
EXAMPLES = "evals/examples/roster.jsonl"
RUNGS = "none,nearest"
"""Nothing, and the nearest examples; a ladder of functions has the rung without a model anyway."""
PAIRS = 3
"""Programs shown side by side, without and with the skill, each of another kind of task."""
Origin = Literal["live", "recorded", "simulated"]


class ProgramPair(Value):
    """A test task that fails without the skill and passes with it.

    Attributes:
        kind: of the task.
        prompt: of the task.
        before: the last program that the model wrote without the skill.
        why: what was wrong with it.
        after: the program that it wrote with the skill.
    """

    kind: str
    prompt: str
    before: str
    why: str
    after: str


class DemoReport(Value):
    """The end of a demo.

    Attributes:
        origin: live, recorded (answered from our recording), or simulated.
        model: spec of the model that answered, now or when it was recorded.
        evolution: result of the evolution with its gate.
        ladder: the skill beside its controls; None if no skill came out.
        full: the ladder of the shipped skill of the same name; None where there is none.
        pairs: programs without and with the skill.
        exported: files of the export; empty if the gate refused the skill.
        tokens: of the whole demo.
        seconds: wall-clock time of the whole demo.
        peak_memory_mb: largest resident memory of this process, MiB.
    """

    origin: Origin
    model: str
    evolution: EvolveResult
    ladder: Ladder | None
    full: Ladder | None
    pairs: tuple[ProgramPair, ...]
    exported: tuple[str, ...]
    tokens: int
    seconds: float
    peak_memory_mb: int


def run_demo(
    out: Path,
    *,
    model: str,
    gate: int = 8,
    test: int = LEAST_TASKS,
    concurrency: int = 8,
    tell: Callable[[Event], None] = ignore_event,
    show: ProgressHook | None = None,
) -> DemoReport:
    """Run the demo into the folder `out`; running it again resumes where it was.

    Args:
        out: folder to write.
        model: spec; `replay/FILE` answers from a recording.
        gate: selection tasks of the gate.
        test: test tasks of the ladder.
        concurrency: calls at one time.
        tell: called with every event of the evolution, and every sentence of the ladder.
        show: called with the tally of every run of the ladder.

    Raises:
        HarnessError: as an evolution and a ladder do; a recording that no longer fits is BadInput.
    """
    started = time.monotonic()
    examples = assets.find(EXAMPLES)
    evolution = run_evolution(
        EvolveSettings(
            out=out / "evolved",
            trajectories=examples,
            tasks=SUITE,
            create=NAME,
            analyst="programs",
            gate=SUITE,
            limit=gate,
            epochs=1,
            models=(model,),
            concurrency=concurrency,
        ),
        progress=tell,
    )
    skill = out / "evolved" / "skill" / NAME
    ladder, pairs = None, tuple[ProgramPair, ...]()
    exported = out / "export"
    shutil.rmtree(exported, ignore_errors=True)
    if evolution.edits:
        begun = (out / "ladder" / PLAN).is_file()
        settings = LadderSettings(
            skill=skill,
            suite=SUITE,
            examples=str(examples),
            rungs=RUNGS,
            limit=test,
            out=None if begun else out / "ladder",
            resume=out / "ladder" if begun else None,
            models=(model,),
            concurrency=concurrency,
        )
        ladder = run_ladder(
            settings, tell=lambda text: tell(Event(stage="ladder", message=text)), show=show
        ).ladder
        tasks = {task.id: task for task in load_suite(SUITE, "test").tasks}
        pairs = tuple(program_pairs(out / "ladder", tasks.values()))[:PAIRS]
        if evolution.accepted:
            for client in ("agents", "claude", "zip"):
                export(load_skill(skill), client, exported)
    kind, _, name = model.partition("/")
    if kind == "replay":  # the spec of the model that answered when the recording was made
        call = next(read_calls(Path(name)))
        model = f"{call.kind}/{call.body['model']}"
    origins: dict[str, Origin] = {"replay": "recorded", "simulated": "simulated"}
    measured = sum(round((r.tokens_per_task or 0) * r.valid) for r in ladder.rungs) if ladder else 0
    report = DemoReport(
        origin=origins.get(kind, "live"),
        model=model,
        evolution=evolution,
        ladder=ladder,
        full=shipped_ladder(),
        pairs=pairs,
        exported=tuple(
            sorted(str(path.relative_to(out)) for path in exported.rglob("*") if path.is_file())
        ),
        tokens=evolution.tokens + measured,
        seconds=time.monotonic() - started,
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    write_atomic(out / "demo.json", report.model_dump_json(indent=1, by_alias=True) + "\n")
    written = (skill / "SKILL.md").is_file()
    blocks = shown_blocks(read_provenance(skill), load_skill(skill)) if written else []
    page = render_page(
        Path(__file__).parent / "templates" / "demo.html.j2",
        report=report,
        gate=evolution.gate,
        blocks=blocks,
    )
    write_atomic(out / "report.html", page)
    return report


def recording() -> Path:
    """The recording that `harness demo` answers from."""
    return assets.find(RECORDING)


def shipped_ladder() -> Ladder | None:
    """The ladder at full size of a skill that ships; None if it does not ship."""
    path = beside(assets.root() / "skills" / NAME, LADDER)
    return Ladder.model_validate_json(read_foreign(path)) if path.is_file() else None


def program_pairs(ladder: Path, tasks: Iterable[Task]) -> Iterator[ProgramPair]:
    """Tasks that fail without the skill and pass with it, the first one of every kind."""
    before = {run.task_id: run for run in open_trajectories(ladder / "none")}
    after = {run.task_id: run for run in open_trajectories(ladder / "skill")}
    reasons = {item.task_id: item.reason for item in records(ladder / "none")}
    kinds = set[str]()
    for task in tasks:
        kind = str(task.meta.get("kind", ""))
        if kind in kinds or task.id not in before or task.id not in after:
            continue
        old, new = before[task.id], after[task.id]
        programs, better = programs_run(old), programs_run(new)
        if old.outcome == "fail" and new.outcome == "pass" and programs and better:
            kinds.add(kind)
            yield ProgramPair(
                kind=kind,
                prompt=task.prompt,
                before=programs[-1],
                why=reasons[task.id],
                after=better[-1],
            )
