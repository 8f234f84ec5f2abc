"""Judging answers again: after a check, an answer or a scorer has changed.

Files that an attempt left in its work folder are kept with the run where its check reads them.

Who judges is a :data:`Judge`: this process, or the workers of an executor. The process that asks
writes the records, so that these do not depend on where the scores come from.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import (
    BadInput,
    Outcome,
    Score,
    Task,
    Usage,
    Value,
    command_line,
    decoding,
    decompressed,
    digest,
    read_foreign,
    temporary_work_folder,
    without_thoughts,
    work_files,
    write_atomic,
    write_work_file,
)
from harness.core.rundir import RunReader, RunWriter, finished_report, mark_finished
from harness.evals.attempts import KEPT, FamilyOf, kept_work, regradable
from harness.evals.plan import (
    PARTS_FILE,
    RunParts,
    code_digest,
    read_parts,
    sample_parts,
    tasks_digest,
)
from harness.evals.pool import Tally
from harness.evals.report import (
    EvalReport,
    ItemRecord,
    finished_items,
    open_run,
    read_report,
)
from harness.evals.suite import load_suite
from harness.tasks import family

if TYPE_CHECKING:
    from harness.evals.pool import Executor

Question = tuple[Task, str | None, str]
"""A task, an answer to it, and the packed files that the attempt left, or ""."""
Judge = Callable[[Sequence[Question]], Iterator[tuple[int, Score]]]
"""Yields (number of the question, score) as scores are ready; of several questions that cannot be
judged it raises the error of the first."""

NO_WORKDIR = "judged by files that were not kept with the run"


class JudgingSpec(Value):
    """Everything a process needs to judge.

    Attributes:
        sandbox: name of a sandbox back end, `auto` or `none`; chosen on the machine that judges.
        trust_checks: whether code that judges runs outside the sandbox.
    """

    sandbox: str
    trust_checks: bool

    def family_of(self) -> FamilyOf:
        """Return the function that names the judge of a task.

        Raises:
            BadInput: if there is no such sandbox here.
        """
        from harness.sandbox import select

        return partial(family, sandbox=select(self.sandbox), trusted=self.trust_checks)


class Regraded(Value):
    """An attempt whose outcome has changed."""

    id: str
    before: Outcome
    after: Outcome
    answer: str | None
    reason: str


class RegradeReport(Value):
    """Changes made by judging again.

    Attributes:
        before: report of the run.
        after: report of the new folder.
        changed: attempts with another outcome, in the order of the suite.
        graded: number of attempts that were judged again.
        kept: attempts left as they were, and why.
    """

    before: EvalReport
    after: EvalReport
    changed: tuple[Regraded, ...]
    graded: int
    kept: dict[str, str]


def score_again(
    task: Task, base: Path, family: FamilyOf, answer: str | None, work: str = ""
) -> Score:
    """Judge an answer by today's rules, in a folder with the files of `work` alone, if there are.

    Raises:
        BadInput: if `work` is damaged, or the task cannot be judged.
    """
    with temporary_work_folder("regrade-") as folder:
        judge = family(task)
        judge.prepare(task, base, folder)
        if work:
            for name in work_files(folder):
                (folder / name).unlink()
            with decoding(f"{KEPT} files of {task.id}"):
                files = json.loads(decompressed(b64decode(work)))
                for name, (content, program) in files.items():
                    write_work_file(folder, name, b64decode(content))
                    (folder / name).chmod(0o777 if program else 0o666)
        return judge.score(task, base, folder, answer and without_thoughts(answer))


def local_judge(base: Path, family: FamilyOf) -> Judge:
    """Judges in this process, one answer after the other.

    Args:
        base: folder that the tasks' files start at.
        family: judges a task.
    """

    def judge(questions: Sequence[Question]) -> Iterator[tuple[int, Score]]:
        for number, (task, answer, work) in enumerate(questions):
            yield number, score_again(task, base, family, answer, work)

    return judge


def judged_again(item: ItemRecord, score: Score) -> ItemRecord:
    """The record of an attempt with another judgement."""
    return item.model_copy(
        update={
            "outcome": score.outcome, "value": score.value, "reason": score.reason,
            "detail": score.detail,
        }
    )  # fmt: skip


def copy_records(source: RunReader, items: dict[str, ItemRecord], run: RunWriter) -> None:
    """Append records, and their trajectories with the judgement of the records."""
    for row in source.trajectories():
        item = items.get(row.get("trajectory_id", ""))
        if item is None:
            continue
        extra = dict(row.get("extra") or {})
        judgement = {"outcome": item.outcome, "score": item.value, "reason": item.reason}
        extra["harness"] = {**extra.get("harness", {}), **judgement}
        run.append_trajectory({**row, "extra": extra})
    for item in items.values():
        run.append_item(item.model_dump(mode="json"))
        if (work := kept_work(source.path, item.id)).is_file():
            write_atomic(kept_work(run.path, item.id), read_foreign(work))


def question(task: Task, item: ItemRecord, run: Path) -> Question:
    """Return the task, the answer and the files of an attempt in a run folder."""
    work = kept_work(run, item.id)
    return task, item.answer, read_foreign(work).decode("ascii") if work.is_file() else ""


def regrade_folder(
    run: Path,
    out: Path,
    reference: str | None,
    sandbox: str,
    *,
    trust_checks: bool,
    trust: bool = False,
    executor: Executor | None = None,
    on_progress: Callable[[Tally], None] | None = None,
) -> RegradeReport:
    """Judge the attempts of `run` again, into the folder `out`; `run` is not touched.

    Args:
        run: a finished run.
        out: where the new records go; must not hold a run.
        reference: of the suite as it is now; None for the one that the run names.
        sandbox: name of a sandbox back end, `auto` or `none`.
        trust_checks: whether code that judges runs outside the sandbox.
        trust: whether the suite may name files out of its folder.
        executor: starts the workers that judge; None judges in this process.
        on_progress: called after every judgement.

    Raises:
        BadInput: if `run` is no eval run or names no suite, `out` holds a run, the suite now asks
            different questions, or none of its attempts can be judged again.
    """
    reader, rows = open_run(run), read_parts(run)
    suite_name = reference or (rows[-1].suite if rows else "")
    if not suite_name:
        raise BadInput(f"{str(run)!r} does not say where its suite is: name it with --suite")
    spec = JudgingSpec(sandbox=sandbox, trust_checks=trust_checks)
    # Where workers judge on this machine, a sandbox that is missing is noticed before they start.
    judging = spec.family_of() if executor is None or executor.shares_disk else None
    suite = load_suite(suite_name, reader.lock.get("split"), trusted=trust)
    if executor is not None:
        judge = executor.judge(suite, spec)
    else:
        assert judging is not None
        judge = local_judge(suite.base, judging)
    items, tasks = finished_items(reader), {task.id: task for task in suite.tasks}
    answers = sorted((item.id, item.outcome, item.answer or "") for item in items)
    request = {"run": digest([reader.lock, answers]), "tasks": tasks_digest(suite, agent=None)}
    if earlier := finished_report(out, request):
        return RegradeReport.model_validate(earlier)
    again_there = command_line("eval", suite_name, "--from", run)
    _check_same_questions(items, tasks, suite.base, rows, again_there)
    tools = (rows[-1].tools if rows else None) or suite.suite.tools
    unchanged: dict[str, str] = {}
    for item in items:
        if item.outcome == "invalid" and item.answer is None:
            unchanged[item.id] = "invalid"
        elif not (
            regradable(tasks[item.task_id], reader.lock["agent"], tools)
            or kept_work(run, item.id).is_file()
        ):
            unchanged[item.id] = NO_WORKDIR
    pending = [item for item in items if item.id not in unchanged]
    if not pending:
        reasons = ", ".join(f"{count} {why}" for why, count in Counter(unchanged.values()).items())
        raise BadInput(
            f"{str(run)!r}: none of {len(items)} attempts can be judged again ({reasons}): run "
            f"them again with `{again_there}`, and --agent and "
            "--model as they were"
        )
    judged, tally = {item.id: item for item in items}, Tally(len(pending))
    for number, score in judge([question(tasks[item.task_id], item, run) for item in pending]):
        item = judged_again(pending[number], score)
        judged[item.id] = item
        if on_progress is not None:
            tally.count(item.model_copy(update={"usage": Usage()}))  # judging uses no model
            on_progress(tally)
    lock = {name: value for name, value in reader.lock.items() if name != "schema_version"}
    with RunWriter(out, {**lock, "tasks": suite.digest, "regraded": run.name}) as writer:
        copy_records(reader, judged, writer)
    if NO_WORKDIR not in unchanged.values() and len(rows) == 1:
        # Of several starts, which attempt belongs to which is not kept in the new order.
        samples: dict[str, Any] = {
            name: sample_parts(tasks[name], suite.base) for name in rows[0].samples if name in tasks
        }
        update = {"scorer": code_digest("tasks"), "samples": samples, "first": 0}
        parts = rows[0].model_copy(update=update)
        write_atomic(out / PARTS_FILE, f"[{parts.model_dump_json()}]")
    order = {task: index for index, task in enumerate(tasks)}
    changed = tuple(
        Regraded(
            id=item.id, before=item.outcome, after=judged[item.id].outcome, answer=item.answer,
            reason=judged[item.id].reason,
        )
        for item in sorted(items, key=lambda item: (order[item.task_id], item.epoch))
        if judged[item.id].outcome != item.outcome
    )  # fmt: skip
    again = RegradeReport(
        before=read_report(run), after=read_report(out), changed=changed,
        graded=len(pending), kept=unchanged,
    )  # fmt: skip
    return mark_finished(out, request, again)


def _check_same_questions(
    items: Iterable[ItemRecord],
    tasks: dict[str, Task],
    base: Path,
    rows: list[RunParts],
    command: str,
) -> None:
    before = {name: parts for row in rows for name, parts in row.samples.items()}
    for item in items:
        task, old = tasks.get(item.task_id), before.get(item.task_id)
        new = sample_parts(task, base) if task else None
        if new and (old is None or (new.sample, new.files) == (old.sample, old.files)):
            continue
        difference = "another prompt or other files" if new else "no such task"
        raise BadInput(
            f"the suite has {difference} for {item.task_id!r}: its answers cannot be judged by it; "
            f"run it again with `{command}`"
        )
