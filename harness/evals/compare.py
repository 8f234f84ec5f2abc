"""Two finished runs, paired by task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import BadInput, Value
from harness.core.rundir import RunReader
from harness.evals.runner import finished_items, summarise
from harness.evals.statistics import PairedComparison, compare_paired, detectable_lift
from harness.evals.types import EvalReport


class RunComparison(Value):
    """A run against the first one given.

    Attributes:
        before: report of the first run.
        after: report of this run.
        paired: the paired comparison.
        detectable: smallest lift that this many tasks can detect at 80 % power.
        differs: lock fields that differ besides skill and model; a comparison across other
            tasks is flagged here.
    """

    before: EvalReport
    after: EvalReport
    paired: PairedComparison
    detectable: float | None
    differs: tuple[str, ...]


def read_report(path: Path) -> EvalReport:
    """The report of a run folder, computed from its records."""
    run = RunReader(path)
    items = finished_items(run)
    return summarise(run.lock, path.name, items, sum(item.usage.seconds for item in items))


def compare_runs(first: Path, second: Path) -> RunComparison:
    """Compare two run folders.

    Raises:
        BadInput: if one is no eval run, or they share no task.
    """
    before, after = RunReader(first), RunReader(second)
    for run in (before, after):
        if run.lock.get("kind") != "eval":
            raise BadInput(f"{str(run.path)!r} is a run of kind {run.lock.get('kind')!r}, not eval")
    paired = compare_paired(finished_items(before), finished_items(after))
    if paired.tasks == 0 and paired.unpaired:
        raise BadInput(f"{str(first)!r} and {str(second)!r} share no task that is valid in both")
    return RunComparison(
        before=read_report(first),
        after=read_report(second),
        paired=paired,
        detectable=detectable_lift(paired.tasks, paired.discordance or 0.25),
        differs=_differences(before.lock, after.lock),
    )


def _differences(first: dict[str, Any], second: dict[str, Any]) -> tuple[str, ...]:
    keys = first.keys() | second.keys()
    return tuple(sorted(key for key in keys if first.get(key) != second.get(key)))
