"""Re-execution of many recorded runs: execute in parallel, recalculate in batches, compare."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.core import BadInput, Task, Trajectory
from harness.evals.reexecution.execution import Execution, Interpreter, execute, interpreter
from harness.evals.reexecution.plan import plan_run
from harness.evals.reexecution.types import (
    Label,
    Recalculation,
    ReexecutionReport,
    RunResult,
    summarise,
)
from harness.sandbox import Sandbox
from harness.tasks import compare_workbooks, find_soffice, recalculate

_BATCH = 28  # workbooks of one start of LibreOffice
_BATCH_S = 300.0
_INPUT = "input.xlsx"


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
        out: folder that keeps the work folders, `<number>-<id>`; None: they are deleted.
        progress: called with (runs executed, all runs).

    Raises:
        BadInput: if recalculation is asked for and LibreOffice is missing.
    """
    if recalc != "off" and find_soffice() is None:
        raise BadInput("recalculation needs LibreOffice, which is not installed; or --recalc off")
    started = time.monotonic()
    runs = list(trajectories)
    by_id = {task.id: task for task in tasks}
    program = interpreter(python)
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        base = Path(name).resolve() if out is None else out.resolve()
        base.mkdir(parents=True, exist_ok=True)
        executed = _execute_all(runs, by_id, base, sandbox, workers, timeout_s, program, progress)
        outputs = [item.output for item in executed if item.output is not None]
        fresh = (
            {}
            if recalc == "off"
            else _recalculate_all(outputs, base / "recalculated", sandbox, workers)
        )
        with ThreadPoolExecutor(workers) as pool:
            results = list(
                pool.map(
                    lambda pair: _score(pair[0], pair[1], by_id, recalc, fresh),
                    zip(runs, executed, strict=True),
                )
            )
    return summarise(tuple(results), recalc, time.monotonic() - started, sandbox.name)


def _execute_all(
    runs: Sequence[Trajectory],
    tasks: dict[str, Task],
    base: Path,
    sandbox: Sandbox,
    workers: int,
    timeout_s: float,
    python: Interpreter,
    progress: Callable[[int, int], None] | None,
) -> list[Execution]:
    def one(number: int) -> Execution:
        try:
            plan = plan_run(runs[number])
            workbook = _only_case(tasks.get(plan.task_id), plan.task_id)
        except BadInput as error:
            return Execution(output=None, reason=str(error), seconds=0.0)
        # A number, because ids may repeat and may hold any character.
        workdir = base / f"{number:04d}"
        return execute(
            plan, workbook, workdir, sandbox=sandbox, timeout_s=timeout_s, python=python
        )

    done: list[Execution] = []
    with ThreadPoolExecutor(workers) as pool:
        for item in pool.map(one, range(len(runs))):
            done.append(item)
            if progress is not None:
                progress(len(done), len(runs))
    return done


def _only_case(task: Task | None, task_id: str) -> Path:
    if task is None:
        raise BadInput(f"no task {task_id!r} among the tasks")
    if not isinstance(task.answer, str) or len(task.files) != 1 or _INPUT not in task.files:
        raise BadInput(f"task {task_id!r}: expected one {_INPUT} and one golden workbook")
    return Path(task.files[_INPUT])


def _recalculate_all(
    outputs: Sequence[Path], folder: Path, sandbox: Sandbox, workers: int
) -> dict[Path, Path]:
    batches = [outputs[start : start + _BATCH] for start in range(0, len(outputs), _BATCH)]
    found: dict[Path, Path] = {}
    with ThreadPoolExecutor(workers) as pool:
        for part in pool.map(
            lambda batch: recalculate(batch, folder, timeout=_BATCH_S, sandbox=sandbox), batches
        ):
            found |= part
    return found


def _score(
    run: Trajectory,
    execution: Execution,
    tasks: dict[str, Task],
    recalc: Recalculation,
    recalculated: dict[Path, Path],
) -> RunResult:
    label: Label | None
    outcome = run.harness.get("outcome")
    label = "pass" if outcome == "pass" else "fail" if outcome == "fail" else None
    task = tasks.get(str(run.harness.get("task_id") or run.trajectory_id))
    reason, with_recalc, without_recalc = execution.reason, None, None
    if execution.output is not None and task is not None:
        try:
            if recalc != "on":
                without_recalc = _equal(task, execution.output)
            if recalc != "off" and execution.output in recalculated:
                with_recalc = _equal(task, recalculated[execution.output])
            elif recalc != "off":
                reason = "LibreOffice could not recalculate the output"
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
