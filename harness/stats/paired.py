"""Intervals and paired tests. Invalid attempts count in no mean; they are counted beside it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from harness.core import Value
from harness.evals.signflip import sign_flip_p
from harness.evals.types import ItemRecord
from harness.stats.intervals import (
    change_interval,
    clustered_error,
    rate_interval,
    wilson,
    z_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOOTSTRAP_SAMPLES = 10_000

__all__ = [
    "BOOTSTRAP_SAMPLES",
    "PairedComparison",
    "attempts_by_task",
    "cluster_interval",
    "compare_paired",
    "detectable_lift",
    "holm",
    "pass_rate_error",
    "pass_rate_interval",
    "ratio_interval",
    "required_tasks",
    "wilson",
]


def pass_rate_interval(items: Iterable[ItemRecord]) -> tuple[float, float] | None:
    """95 % interval of the pass rate over valid items, attempts at one task being one cluster.

    :func:`harness.stats.intervals.rate_interval` says how.
    """
    return rate_interval(list(attempts_by_task(items).values()))


def pass_rate_error(items: Iterable[ItemRecord]) -> float | None:
    """Standard error of the pass rate over valid items; None below two tasks.

    Attempts at one task are one cluster: :func:`harness.stats.intervals.clustered_error`.
    """
    return clustered_error(list(attempts_by_task(items).values()))


def attempts_by_task(items: Iterable[ItemRecord]) -> dict[str, list[float]]:
    """1 for every attempt that passed, 0 for one that failed; invalid ones are left out."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.outcome != "invalid":
            groups[item.task_id].append(float(item.outcome == "pass"))
    return groups


class PairedComparison(Value):
    """The same tasks under two conditions.

    Attributes:
        tasks: tasks with a valid attempt on both sides.
        unpaired: tasks of either side left out (missing or invalid on one side).
        before: pass rate of the first condition over `tasks`.
        after: pass rate of the second.
        difference: after - before.
        ci95: 95 % interval of the difference over tasks
            (:func:`harness.stats.intervals.change_interval`); None below two.
        p: two-sided p-value, exact: McNemar for one attempt per task, else sign-flip.
        discordance: share of tasks whose result differs.
        broken: task ids that passed before and fail after.
        fixed: task ids that failed before and pass after.
    """

    tasks: int
    unpaired: int
    before: float | None
    after: float | None
    difference: float | None
    ci95: tuple[float, float] | None
    p: float | None
    discordance: float | None
    broken: tuple[str, ...]
    fixed: tuple[str, ...]


def compare_paired(before: Iterable[ItemRecord], after: Iterable[ItemRecord]) -> PairedComparison:
    """Compare two sets of attempts on the same tasks and seeds, clustered by task."""
    first, second = _rates(before), _rates(after)
    common = sorted(first.keys() & second.keys())
    unpaired = len(first.keys() | second.keys()) - len(common)
    if not common:
        return PairedComparison(
            tasks=0, unpaired=unpaired, before=None, after=None, difference=None, ci95=None,
            p=None, discordance=None, broken=(), fixed=(),
        )  # fmt: skip
    changes = [second[task] - first[task] for task in common]
    n = len(common)
    return PairedComparison(
        tasks=n,
        unpaired=unpaired,
        before=sum(first[task] for task in common) / n,
        after=sum(second[task] for task in common) / n,
        difference=sum(changes) / n,
        ci95=change_interval(changes),
        p=sign_flip_p(changes),
        discordance=sum(change != 0 for change in changes) / n,
        broken=tuple(task for task in common if first[task] > 0.5 > second[task]),
        fixed=tuple(task for task in common if first[task] < 0.5 < second[task]),
    )


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected so that all of them hold together (Holm 1979), in the same order."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [1.0] * len(values)
    most = 0.0
    for rank, at in enumerate(order):
        most = max(most, min(1.0, values[at] * (len(values) - rank)))
        found[at] = most
    return found


def detectable_lift(
    n: int, discordance: float = 0.25, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """Smallest true difference that a paired test on `n` tasks finds with `power`.

    Solves Connor's sample-size formula for McNemar's test (Connor 1987) for the difference d:
    n = (z_alpha sqrt(psi) + z_power sqrt(psi - d^2))^2 / d^2. None if even d = psi is too small
    to be found.
    """
    if n < 1 or _tasks_for(discordance, discordance, power, alpha) > n:
        return None
    low, high = 1e-9, discordance
    for _ in range(60):
        middle = (low + high) / 2
        if _tasks_for(middle, discordance, power, alpha) > n:
            low = middle
        else:
            high = middle
    return high


def required_tasks(
    lift: float, discordance: float = 0.25, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Number of tasks that a paired test needs to find `lift` (Connor 1987)."""
    return math.ceil(_tasks_for(lift, max(discordance, lift), power, alpha))


def _tasks_for(lift: float, discordance: float, power: float, alpha: float) -> float:
    z_alpha, z_power = z_of(1 - alpha / 2), z_of(power)
    spread = math.sqrt(max(0.0, discordance - lift * lift))
    return (z_alpha * math.sqrt(discordance) + z_power * spread) ** 2 / (lift * lift)


def _rates(items: Iterable[ItemRecord]) -> dict[str, float]:
    return {task: sum(values) / len(values) for task, values in attempts_by_task(items).items()}


def ratio_interval(
    pairs: Sequence[tuple[float, float]], samples: int = BOOTSTRAP_SAMPLES
) -> tuple[float, float] | None:
    """95 % percentile interval of sum(first) / sum(second), rows resampled with a fixed seed.

    Args:
        pairs: one row a cluster: sum of its values, and their number.
        samples: how often rows are resampled.

    Returns:
        Lower and upper end; None below two clusters.
    """
    if len(pairs) < 2:
        return None
    import numpy as np

    rng = np.random.default_rng(20260325)
    table = np.asarray(pairs, dtype=float)
    # Counts per row are multinomial, which needs no table of indices.
    weights = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), samples)
    sums = weights @ table
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    return float(low), float(high)


def cluster_interval(
    statistic: Callable[[NDArray[np.int64]], float | None],
    clusters: NDArray[np.str_],
    samples: int = 2000,
) -> tuple[float, float]:
    """95 % percentile interval of any statistic of rows, their clusters resampled; fixed seed.

    Args:
        statistic: of the rows at these places; None where it has no value for them.
        clusters: shape (rows,): what a row belongs to.
        samples: how often clusters are resampled.
    """
    import numpy as np

    draw = np.random.default_rng(0)
    names, index = np.unique(clusters, return_inverse=True)
    places: list[NDArray[np.int64]] = [np.flatnonzero(index == at) for at in range(len(names))]
    found: list[float] = []
    for _ in range(samples):
        drawn: list[int] = draw.integers(len(names), size=len(names)).tolist()
        value = statistic(np.concatenate([places[at] for at in drawn]))
        if value is not None:
            found.append(value)
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))
