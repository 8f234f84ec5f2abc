"""Eval runs: suites, the runner, statistics and comparison."""

from __future__ import annotations

from harness.evals.compare import RunComparison, compare_runs, read_report
from harness.evals.dryrun import plan_evaluation
from harness.evals.pass_rates import compare_paired, pass_rate_error, pass_rate_interval
from harness.evals.plan import EvalPlan
from harness.evals.runner import Tally, finished_items, run_eval
from harness.evals.session import EvalSettings, Evaluator, records, run_evaluation
from harness.evals.suite import LoadedSuite, Suite, load_suite
from harness.evals.types import EvalReport, ItemRecord
from harness.stats import PairedComparison, detectable_lift

__all__ = [
    "EvalPlan",
    "EvalReport",
    "EvalSettings",
    "Evaluator",
    "ItemRecord",
    "LoadedSuite",
    "PairedComparison",
    "RunComparison",
    "Suite",
    "Tally",
    "compare_paired",
    "compare_runs",
    "detectable_lift",
    "finished_items",
    "load_suite",
    "pass_rate_error",
    "pass_rate_interval",
    "plan_evaluation",
    "read_report",
    "records",
    "run_eval",
    "run_evaluation",
]
