"""Re-execution of many recorded runs: execute in parallel, recalculate in batches, compare."""

from __future__ import annotations

import tempfile
import time
from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from harness.core import BadInput, Task, Trajectory
from harness.evals.reexecution.execution import Execution, execute, interpreter, plan_run
from harness.evals.reexecution.report import (
    Label,
    Recalculation,
    ReexecutionReport,
    RunResult,
    summarise,
)
from harness.sandbox import Sandbox
from harness.tasks import compare_workbooks, find_soffice, recalculate

_INPUT = "input.xlsx"
_BATCH = 28
"""Workbooks of one start of LibreOffice."""
_BATCH_S = 300.0


def reexecute(
    trajectories: Iterable[Trajectory],
    tasks: Iterable[Task],
    *,
    sandbox: Sandbox,
    recalc: Recalculation = "both",
    workers: int = 2,
    timeout_s: float = 120.0,
    python: Path | None = None,
    out: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReexecutionReport:
    """Run the code of recorded runs again, and compare its score with the recorded label.

    Args:
        trajectories: recorded runs, as `open_trajectories` reads them.
        tasks: their tasks, found by id.
        sandbox: where the recorded code, and LibreOffice, run.
        recalc: score with LibreOffice recalculation ("on"), without ("off"), or in both ways.
        workers: runs at one time.
        timeout_s: wall-clock limit of one run, seconds.
        python: an interpreter with other packages, such as an older pandas.
        out: empty or new folder that keeps the runs' work folders, numbered in the order of the
            trajectories; None: they are deleted.
        progress: called with (runs executed, all runs).

    Raises:
        BadInput: if recalculation is asked for and LibreOffice is missing, `out` is not empty, or
            `python` does not start.
    """
    if recalc != "off" and find_soffice() is None:
        raise BadInput("recalculation needs LibreOffice, which is not installed; or --recalc off")
    started = time.monotonic()
    runs = list(trajectories)
    by_id = {task.id: task for task in tasks}
    matched = [by_id.get(run.task_id) for run in runs]
    program = interpreter(python)
    with _folder(out) as base:

        def executed_again(number: int) -> Execution:
            try:
                plan = plan_run(runs[number])
                workbook = _only_input(matched[number], plan.task_id)
            except BadInput as error:
                return Execution(output=None, reason=str(error), seconds=0.0)
            # A number, because ids may repeat and may hold any character.
            folder = base / f"{number:04d}"
            return execute(
                plan, workbook, folder, sandbox=sandbox, timeout_s=timeout_s, python=program
            )

        executed: list[Execution] = []
        with ThreadPoolExecutor(workers) as pool:
            for item in pool.map(executed_again, range(len(runs))):
                executed.append(item)
                if progress is not None:
                    progress(len(executed), len(runs))
        outputs = [item.output for item in executed if item.output and recalc != "off"]
        fresh = recalculate_all(outputs, base / "recalculated", sandbox, workers)
        results = tuple(
            score_run(run, item, task, recalc, fresh)
            for run, item, task in zip(runs, executed, matched, strict=True)
        )
    return summarise(results, recalc, time.monotonic() - started, sandbox.name)


@contextmanager
def _folder(out: Path | None) -> Generator[Path]:
    if out is None:
        with tempfile.TemporaryDirectory(prefix="replay-") as name:
            yield Path(name).resolve()
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"expected an empty or new folder, found {str(out)!r} in use")
    out.mkdir(parents=True, exist_ok=True)
    yield out.resolve()


def _only_input(task: Task | None, task_id: str) -> Path:
    if task is None:
        raise BadInput(f"no task {task_id!r} among the tasks")
    if not isinstance(task.answer, str) or len(task.files) != 1 or _INPUT not in task.files:
        raise BadInput(f"task {task_id!r}: expected one {_INPUT} and one golden workbook")
    return Path(task.files[_INPUT])


def recalculate_all(
    outputs: Sequence[Path], folder: Path, sandbox: Sandbox, workers: int
) -> dict[Path, Path]:
    """Output -> recalculated copy in `folder`, without the outputs where that was impossible."""

    def recalculated(batch: Sequence[Path]) -> dict[Path, Path]:
        return recalculate(batch, folder, timeout=_BATCH_S, sandbox=sandbox)

    batches = [outputs[start : start + _BATCH] for start in range(0, len(outputs), _BATCH)]
    with ThreadPoolExecutor(workers) as pool:
        return dict(ChainMap(*pool.map(recalculated, batches)))


def score_run(
    run: Trajectory,
    execution: Execution,
    task: Task | None,
    recalc: Recalculation,
    recalculated: dict[Path, Path],
) -> RunResult:
    """Compare a run's output with the golden workbook, in the ways asked for."""
    outcome = run.harness.get("outcome")
    label: Label | None = "pass" if outcome == "pass" else "fail" if outcome == "fail" else None
    reason, with_recalc, without_recalc = execution.reason, None, None
    output = execution.output
    if output is not None and task is not None:
        try:
            if recalc != "on":
                without_recalc = _equal(task, output)
            if recalc != "off" and output in recalculated:
                with_recalc = _equal(task, recalculated[output])
            elif recalc != "off":
                reason = "LibreOffice could not open or recalculate the output"
        except BadInput as error:
            reason = str(error)
    if not reason and label is None:
        reason = "no label was recorded"
    return RunResult(
        id=run.trajectory_id or "?",
        label=label,
        comparable=not reason,
        reason=reason,
        with_recalc=with_recalc,
        without_recalc=without_recalc,
        errors=execution.errors,
        seconds=round(execution.seconds, 3),
    )


def _equal(task: Task, output: Path) -> bool:
    sheet = task.meta.get("answer_sheet")
    position = str(task.meta.get("answer_position", ""))
    return compare_workbooks(
        Path(str(task.answer)), output, position, sheet if isinstance(sheet, str) else None
    ).equal
