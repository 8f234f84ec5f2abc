"""Scoring what executed runs left: recalculation in batches, then comparison with the golden."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.core import BadInput, Task, Trajectory
from harness.evals.reexecution.execution import Execution
from harness.evals.reexecution.types import Label, Recalculation, RunResult
from harness.sandbox import Sandbox
from harness.tasks import compare_workbooks, recalculate

_BATCH = 28  # workbooks of one start of LibreOffice
_BATCH_S = 300.0


def recalculate_all(
    outputs: Sequence[Path], folder: Path, sandbox: Sandbox, workers: int
) -> dict[Path, Path]:
    """Output -> recalculated copy in `folder`, without the outputs where that was impossible."""

    def one(batch: Sequence[Path]) -> dict[Path, Path]:
        return recalculate(batch, folder, timeout=_BATCH_S, sandbox=sandbox)

    batches = [outputs[start : start + _BATCH] for start in range(0, len(outputs), _BATCH)]
    found: dict[Path, Path] = {}
    with ThreadPoolExecutor(workers) as pool:
        for part in pool.map(one, batches):
            found |= part
    return found


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
