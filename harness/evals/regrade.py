"""Judging a finished run again, without running it: a check, an answer or a scorer has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput, Outcome, Task, Usage, Value, write_atomic
from harness.core.rundir import RunReader, RunWriter
from harness.evals.carry import copy_records, judged_again
from harness.evals.compare import read_report
from harness.evals.digests import FILE, RunParts, code_digest, read_parts, sample_parts
from harness.evals.rescore import Judge, JudgingSpec, judge_elsewhere, judge_here
from harness.evals.reuse import regradable
from harness.evals.runner import Tally, finished_items
from harness.evals.suite import LoadedSuite, load_suite
from harness.evals.types import EvalReport, ItemRecord

if TYPE_CHECKING:
    from harness.fleet import Executor

KEPT = "judged by its work folder, which is gone"


class Regraded(Value):
    """An attempt whose outcome is another one now."""

    id: str
    before: Outcome
    after: Outcome
    answer: str | None
    reason: str


class RegradeReport(Value):
    """What judging again has changed.

    Attributes:
        before: report of the run.
        after: report of the new folder.
        changed: attempts with another outcome.
        graded: attempts that were judged again.
        kept: attempts left as they were, and why.
    """

    before: EvalReport
    after: EvalReport
    changed: tuple[Regraded, ...]
    graded: int
    kept: dict[str, str]


def regrade_folder(
    run: Path,
    out: Path,
    reference: str | None,
    sandbox: str,
    *,
    trust: bool,
    executor: Executor | None = None,
    on_progress: Callable[[Tally], None] | None = None,
) -> RegradeReport:
    """:func:`regrade` by the suite that `reference` or else the run itself names.

    Args:
        run: a finished run.
        out: where the new records go.
        reference: of the suite; None for the one that the run names.
        sandbox: a back end's name, `auto` or `none`.
        trust: whether code that comes with the suite runs outside the sandbox.
        executor: starts the workers that judge; None judges in this process.
        on_progress: called after every judgement.

    Raises:
        BadInput: as there, and if the run names no suite.
    """
    reader, rows = RunReader(run), read_parts(run)
    named = reference or (rows[-1].suite if rows else "")
    if not named:
        raise BadInput(f"{str(run)!r} does not say where its suite is: name it with --suite")
    spec = JudgingSpec(sandbox=sandbox, trust=trust)
    family = spec.family_of() if executor is None or executor.shares_disk else None
    suite = load_suite(named, reader.lock.get("split"))
    if executor is not None:
        judge = judge_elsewhere(suite, spec, executor)
    else:
        assert family is not None
        judge = judge_here(suite.base, family)
    return regrade(run, out, suite, judge, on_progress)


def regrade(
    run: Path,
    out: Path,
    suite: LoadedSuite,
    judge: Judge,
    on_progress: Callable[[Tally], None] | None = None,
) -> RegradeReport:
    """Judge the attempts of `run` again, into the folder `out`; `run` is not touched.

    Args:
        run: a finished run.
        out: where the new records go; must not hold a run.
        suite: the tasks as they are now.
        judge: gives the scores.
        on_progress: called after every judgement.

    Raises:
        BadInput: if `run` is no eval run, `out` holds one, or the suite asks something else now.
    """
    reader = RunReader(run)
    if reader.lock.get("kind") != "eval":
        raise BadInput(f"{str(run)!r} is a run of kind {reader.lock.get('kind')!r}, not eval")
    if (out / "run.json").exists():
        raise BadInput(f"{str(out)!r} holds a run: name another folder with --out")
    items, tasks = finished_items(reader), {task.id: task for task in suite.tasks}
    rows = read_parts(run)
    _same_questions(items, tasks, suite.base, rows)
    tools = (rows[-1].tools if rows else None) or suite.suite.tools
    kept = dict(_kept(items, tasks, reader.lock["agent"], tools))
    judged = {item.id: item for item in items}
    for item in _judged(items, kept, tasks, judge, on_progress):
        judged[item.id] = item
    lock = {name: value for name, value in reader.lock.items() if name != "schema_version"}
    with RunWriter(out, {**lock, "tasks": suite.digest, "regraded": run.name}) as writer:
        copy_records(reader, judged, writer)
    if KEPT not in kept.values():
        _write_parts(out, rows, tasks, suite.base)
    return RegradeReport(
        before=read_report(run), after=read_report(out),
        changed=tuple(_changes(items, judged)), graded=len(items) - len(kept), kept=kept,
    )  # fmt: skip


def _judged(
    items: Iterable[ItemRecord],
    kept: dict[str, str],
    tasks: dict[str, Task],
    judge: Judge,
    on_progress: Callable[[Tally], None] | None,
) -> Iterator[ItemRecord]:
    """The attempts that are not kept, as they are judged."""
    again = [item for item in items if item.id not in kept]
    tally = Tally(len(again))
    for number, score in judge([(tasks[item.task_id], item.answer) for item in again]):
        item = judged_again(again[number], score)
        yield item
        if on_progress is not None:
            tally.count(item.model_copy(update={"usage": Usage()}))  # judging uses no model
            on_progress(tally)


def _same_questions(
    items: Iterable[ItemRecord], tasks: dict[str, Task], base: Path, rows: list[RunParts]
) -> None:
    then = {name: parts for row in rows for name, parts in row.samples.items()}
    for item in items:
        task, known = tasks.get(item.task_id), then.get(item.task_id)
        now = sample_parts(task, base) if task else None
        asked = "no such task" if now is None else "another prompt or other files"
        same = known is None or (now and (now.sample, now.files) == (known.sample, known.files))
        if now is None or not same:
            raise BadInput(
                f"the suite has {asked} for {item.task_id!r}: its answers cannot be judged by it; "
                "run it again with `harness eval SUITE --from RUN`"
            )


def _kept(
    items: Iterable[ItemRecord], tasks: dict[str, Task], agent: str, tools: tuple[str, ...] | None
) -> Iterator[tuple[str, str]]:
    for item in items:
        if item.outcome == "invalid" and item.answer is None:
            yield item.id, "invalid"
        elif not regradable(tasks[item.task_id], agent, tools):
            yield item.id, KEPT


def _changes(items: list[ItemRecord], judged: dict[str, ItemRecord]) -> Iterator[Regraded]:
    for item in items:
        now = judged[item.id]
        if now.outcome != item.outcome:
            yield Regraded(
                id=item.id, before=item.outcome, after=now.outcome, answer=item.answer,
                reason=now.reason,
            )  # fmt: skip


def _write_parts(out: Path, rows: list[RunParts], tasks: dict[str, Task], base: Path) -> None:
    """What held for the attempts still does, but for what judges them; of the last start only."""
    if len(rows) != 1:
        return  # attempts of several starts: which is which is not kept in the new order
    now: dict[str, Any] = {name: sample_parts(tasks[name], base) for name in rows[0].samples
                           if name in tasks}  # fmt: skip
    row = rows[0].model_copy(update={"scorer": code_digest("tasks"), "samples": now, "first": 0})
    write_atomic(out / FILE, f"[{row.model_dump_json()}]")
