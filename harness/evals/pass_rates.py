"""Sample records as numbers for the statistics: valid attempts by task, and what follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.stats import (
    PairedComparison,
    clustered_error,
    compare_rates,
    rate_interval,
)

if TYPE_CHECKING:
    from harness.evals.types import ItemRecord


def attempts_by_task(items: Iterable[ItemRecord]) -> dict[str, list[float]]:
    """1 for every attempt that passed, 0 for one that failed; invalid ones are left out."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.outcome != "invalid":
            groups[item.task_id].append(float(item.outcome == "pass"))
    return groups


def pass_rate_interval(items: Iterable[ItemRecord]) -> tuple[float, float] | None:
    """95 % interval of the pass rate over valid items (:func:`harness.stats.rate_interval`)."""
    return rate_interval(list(attempts_by_task(items).values()))


def pass_rate_error(items: Iterable[ItemRecord]) -> float | None:
    """Standard error of the pass rate over valid items; None below two tasks.

    Attempts at one task are one cluster: :func:`harness.stats.clustered_error`.
    """
    return clustered_error(list(attempts_by_task(items).values()))


def compare_paired(before: Iterable[ItemRecord], after: Iterable[ItemRecord]) -> PairedComparison:
    """Compare two sets of attempts on the same tasks and seeds, clustered by task."""
    first, second = (
        {task: sum(values) / len(values) for task, values in attempts_by_task(items).items()}
        for items in (before, after)
    )
    return compare_rates(first, second)
