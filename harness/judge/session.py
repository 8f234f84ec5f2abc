"""From settings to judged rows: what is refused before a call, the calls, resuming."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from harness.core import (
    BadInput,
    Option,
    Unreachable,
    digest_file,
    loops,
    mapping,
    read_json,
    read_models,
    write_atomic,
)
from harness.core.rundir import UNASKED, RunWriter, finished_report, mark_finished, request_of
from harness.evals import (
    DEFAULT_MODEL,
    ItemRecord,
    ModelSettings,
    ProgressHook,
    Tally,
    budget_of,
    load_suite,
)
from harness.evals.report import open_run
from harness.judge.direct import DirectJudge
from harness.judge.knockout import best_of
from harness.judge.probes.bias import OrderJudge, marks, probe, read_bias
from harness.judge.report import Judged, JudgeReport, report_of
from harness.judge.rows import LabelRow, Row, passes, read_judged
from harness.judge.rubric import question_of
from harness.judge.types import Judge, Question, Rater, Setting
from harness.models import CallStore, Model, open_model, parse_roles
from harness.tasks import JudgeSettings

Method = Literal["direct", "openrs", "skill"]
BIAS, SETTINGS = "bias.json", "settings.json"
# Seconds between two tellings of the state while no row ends.
BEAT_S = 5.0
PROBE_PAIRS = 64
# Of the reward skill for one verdict, at most: diagnose, select, six steps, forced finish, and the
# verdict of an emergency.
SKILL_CALLS = 10


class JudgeCommand(ModelSettings):
    """Everything `harness judge` takes.

    Attributes:
        rows: JSONL file, or the folder of an eval run.
        method: how answers are compared; single answers are judged directly, or by the skill.
        setting: what the method `skill` shows its judge.
        rubric: criteria, or a file of them.
        suite: whose `judge:` holds, in place of `rubric`, `votes` and `threshold`.
        calibrate: labels; with them the error of the judge is written to `calibration.json`.
        out: run folder.
        resume: whether to go on with the run that is there.
    """

    rows: Path
    method: Annotated[Method, Option("How answers are compared.")] = "direct"
    setting: Annotated[
        Setting, Option("With --method skill: 'fair' leaves references and criteria of rows out.")
    ] = "operational"
    rubric: Annotated[str, Option("Criteria, a line each; or a .md or .txt file of them.")] = ""
    votes: Annotated[int, Field(ge=1, le=99), Option("Replies for each verdict.")] = 1
    threshold: Annotated[
        float,
        Field(gt=0, le=1),
        Option("Least share of criteria met by an answer that passes.", metavar="SHARE"),
    ] = 1.0
    suite: Annotated[str | None, Option("Take the settings of this suite's 'judge:'.")] = None
    calibrate: Annotated[
        Path | None, Option("Labels (JSONL of id, label): measure the judge.", metavar="LABELS")
    ] = None
    probe: Annotated[bool, Option("Look for six biases of the judge, too.")] = False
    probe_pairs: Annotated[int, Field(ge=1, le=192), Option("Pairs of each of the six probes.")] = (
        PROBE_PAIRS
    )
    limit: Annotated[int | None, Field(ge=1), Option("Take the first rows only.")] = None
    out: Path
    resume: bool = False
    concurrency: Annotated[int, Field(ge=1), Option()] = 8

    def judging(self) -> tuple[JudgeSettings, dict[str, Question] | None]:
        """Criteria, votes and threshold, with their files read; and what a suite asks of each task.

        The reference and the criteria of a task go to the judge as `check: rubric` shows them: a
        judge that was measured without them is another one.

        Raises:
            BadInput: if a suite is named that has no `judge:`, or a file cannot be read.
        """
        if self.suite is None:
            settings = JudgeSettings(rubric=self.rubric, votes=self.votes, threshold=self.threshold)
            return settings.loaded(Path.cwd(), trusted=True), None
        split = open_run(self.rows).lock.get("split") if self.rows.is_dir() else None
        suite = load_suite(self.suite, split)
        if suite.suite.judge is None:
            raise BadInput(f"suite {self.suite!r} has no 'judge:'")
        judging = suite.suite.judge.loaded(suite.root, trusted=False)
        if not self.rows.is_dir():
            return judging, None
        return judging, {task.id: question_of(task, judging) for task in suite.tasks}

    def spec(self, judging: JudgeSettings) -> str:
        """Spec of the judge's model."""
        roles = [*([f"judge={judging.model}"] if judging.model else []), *self.models]
        return str(parse_roles(roles or [DEFAULT_MODEL])["judge"])


def started_with(run: Path) -> dict[str, Any]:
    """Settings of a run, by the fields of :class:`JudgeCommand`, as they were typed.

    Raises:
        BadInput: if the folder has none.
    """
    if not (run / SETTINGS).is_file():
        raise BadInput(f"{str(run)!r} does not say what was judged: name the ROWS")
    return mapping(read_json(run / SETTINGS))


def plan(settings: JudgeCommand) -> dict[str, Any]:
    """Plan the judging with the largest number of calls, without making one."""
    judging, rows, _ = _work(settings)
    direct, skill = judging.votes, settings.method == "skill"
    orders = 1 if rows[0].mode == "pointwise" else 2
    calls = 0
    for row in rows:
        openrs = 5 + len(row.constraints)
        per_row = (
            openrs if settings.method == "openrs" else orders * (SKILL_CALLS if skill else direct)
        )
        calls += per_row * max(1, len(row.candidates) - 1)
    if settings.probe:
        calls += len(marks("")) * settings.probe_pairs * (SKILL_CALLS if skill else direct)
    return {
        "rows": len(rows),
        "mode": rows[0].mode,
        "judge": f"{settings.method}:{settings.spec(judging)}",
        "calls": calls,
        "note": "calls without further tries of replies that cannot be read",
    }


def open_judge(settings: JudgeCommand, judging: JudgeSettings, model: Model) -> Judge:
    """The judge of a method.

    Raises:
        BadInput: if it needs a sandbox and there is none, or a wing that is not in the tree.
    """
    if settings.method == "direct":
        return DirectJudge(model, votes=judging.votes, seed=settings.seed)
    from harness.sandbox import select

    sandbox = select(settings.sandbox)
    if settings.method == "openrs":
        from harness.judge.openrs.judge import OpenRSJudge

        return OpenRSJudge(model, sandbox, seed=settings.seed)
    from harness.judge.skill_rm.judge import SkillJudge

    return SkillJudge(model, sandbox, setting=settings.setting, seed=settings.seed)


async def judge_rows(
    settings: JudgeCommand, on_progress: ProgressHook | None = None
) -> JudgeReport:
    """Judge the rows into a run folder; what is finished there is not judged again.

    Raises:
        BadInput: for rows, labels or settings that cannot be used, before any call.
        LimitReached: when a budget is spent; what is judged is kept.
        Unreachable: if no row got a verdict.
    """
    judging, rows, labels = _work(settings)
    spec, file = settings.spec(judging), settings.rows
    lock = {
        "kind": "judge", "rows": digest_file(file / "run.json" if file.is_dir() else file),
        "method": settings.method, "key": judging.key(spec), "model": spec, "seed": settings.seed,
        "limit": settings.limit, "setting": settings.setting,
    }  # fmt: skip
    request = request_of(settings, content=lock, labels=labels)
    if earlier := finished_report(settings.out, request, resume=settings.resume):
        return JudgeReport.model_validate({**earlier, "run": settings.out.name})
    finished: dict[str, Judged] = {}
    # The sandbox is the machine's: a folder of a stranger's may not switch it off.
    typed = settings.model_dump(mode="json", exclude={*UNASKED, "sandbox"})
    with CallStore(settings.out / "calls.sqlite") as calls:
        model = open_model(
            spec, base_url=settings.base_url, calls=calls, budget=budget_of(settings),
            concurrency=settings.concurrency, role="judge",
        )  # fmt: skip
        async with aclosing(model):
            judge = open_judge(settings, judging, model)
            with RunWriter(settings.out, lock) as run:
                for record in map(Judged.model_validate, run.items()):
                    if record.valid:
                        finished[record.id] = record
                write_atomic(settings.out / SETTINGS, json.dumps(typed, indent=2) + "\n")
                tally, slots = Tally(len(rows)), asyncio.Semaphore(settings.concurrency)

                began = time.monotonic()

                def show() -> None:
                    if on_progress is not None:
                        tally.running = min(len(rows) - tally.done, settings.concurrency)
                        tally.longest_s = time.monotonic() - began
                        on_progress(settings.out.name, tally)

                async def work(row: Row) -> None:
                    async with slots:
                        judged = finished.get(row.id)
                        if judged is None:
                            judged = await _judged(row, judge, judging, settings)
                            run.append_item(judged.model_dump(mode="json"))
                            finished[row.id] = judged
                    tally.count(
                        ItemRecord(
                            id=row.id, task_id=row.id, value=0, usage=judged.usage,
                            outcome=judged.outcome(judging.threshold), reason=judged.fault,
                        )
                    )  # fmt: skip
                    if on_progress is not None:
                        on_progress(settings.out.name, tally)
                    if tally.stuck.startswith("Unreachable"):  # the others would wait as long
                        raise Unreachable(f"no row got a verdict: {tally.stuck}")

                show()
                tasks = [asyncio.create_task(work(row)) for row in rows]
                async with loops.every(BEAT_S, show):
                    try:
                        await asyncio.gather(*tasks)
                    finally:  # a spent budget ends the others
                        for task in tasks:
                            task.cancel()
                        await asyncio.gather(*tasks, return_exceptions=True)
                bias, path = None, settings.out / BIAS
                if settings.probe and isinstance(judge, OrderJudge):
                    bias = await probe(
                        judge, judge.name, spec, count=settings.probe_pairs, seed=settings.seed
                    )
                    write_atomic(path, bias.model_dump_json(indent=2) + "\n")
                elif path.exists():
                    bias = read_bias(path)
        judged_rows = [finished[row.id] for row in rows]
        report = report_of(
            settings, judging, judge.name, model, judged_rows, rows[0].mode, labels, bias
        )
    if report.invalid == report.rows:
        faults = (row.fault for row in judged_rows)
        raise Unreachable(f"no row got a verdict: {next(filter(None, faults), '')}")
    return mark_finished(settings.out, request, report, invalid=report.invalid)


async def _judged(row: Row, judge: Judge, judging: JudgeSettings, settings: JudgeCommand) -> Judged:
    question = row.question(judging.rubric)
    if row.candidates:
        best = await best_of(judge, question, row.candidates, seed=settings.seed)
        return Judged(id=row.id, best=best, label=row.label)
    if row.answer is None:
        verdict = await judge.compare(question, row.a or "", row.b or "")
    else:
        assert isinstance(judge, Rater)  # _work refuses single answers for other methods
        verdict = await judge.rate(question, row.answer)
    return Judged(id=row.id, verdict=verdict, label=row.label)


def _work(settings: JudgeCommand) -> tuple[JudgeSettings, list[Row], dict[str, bool]]:
    """Read settings, rows and the labels of a calibration, and refuse now all that is refused.

    Raises:
        BadInput: as documented at :func:`judge_rows`.
    """
    judging, questions = settings.judging()
    rows = read_judged(settings.rows, settings.limit, questions)
    if settings.method == "openrs" and rows[0].mode == "pointwise":
        raise BadInput("method 'openrs' compares answers: give rows with a and b, or candidates")
    if settings.probe and settings.method == "openrs":
        raise BadInput("--probe asks in single orders: give --method direct or skill")
    return judging, rows, _labels(settings, rows)


def _labels(settings: JudgeCommand, rows: list[Row]) -> dict[str, bool]:
    """The labels of `--calibrate`, by row.

    Raises:
        BadInput: if they are none, contradict each other, label nothing, or label rows that are
            judged by criteria of their own.
    """
    if settings.calibrate is None:
        return {}
    if rows[0].mode != "pointwise" or settings.method != "direct":
        raise BadInput("--calibrate needs single answers and --method direct, as in suites")
    if settings.suite is None and any(row.rubric for row in rows):
        raise BadInput("a calibration holds for one rubric: leave 'rubric' out of the rows")
    ids, labels = {row.id for row in rows}, dict[str, bool]()
    for row in read_models(settings.calibrate, LabelRow):
        label = passes(row.label, f"{settings.calibrate}: {row.id}")
        if row.id in ids and labels.setdefault(row.id, label) != label:
            raise BadInput(f"{settings.calibrate}: {row.id!r} has two labels that contradict")
    if not labels:
        raise BadInput(f"{str(settings.calibrate)!r} labels none of the rows")
    return labels
