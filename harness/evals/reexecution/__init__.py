"""Re-execution: run the code of recorded runs again, score it, compare with the recorded label."""

from __future__ import annotations

from harness.evals.reexecution.execution import Execution, execute
from harness.evals.reexecution.plan import RunPlan, plan_run
from harness.evals.reexecution.reexecute import reexecute
from harness.evals.reexecution.table import format_table
from harness.evals.reexecution.types import Recalculation, ReexecutionReport, RunResult

__all__ = [
    "Execution",
    "Recalculation",
    "ReexecutionReport",
    "RunPlan",
    "RunResult",
    "execute",
    "format_table",
    "plan_run",
    "reexecute",
]
