"""Intervals and paired tests. Invalid attempts count in no mean; they are counted beside it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from harness.core import Value
from harness.evals.types import ItemRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOOTSTRAP_SAMPLES = 10_000


def wilson(passes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a proportion, None for n = 0 (Wilson 1927)."""
    if n == 0:
        return None
    return _score_interval(passes / n, n, _z(0.5 + confidence / 2))


def _score_interval(p: float, n: float, z: float) -> tuple[float, float]:
    if math.isinf(z):
        return 0.0, 1.0
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def pass_rate_interval(items: Iterable[ItemRecord]) -> tuple[float, float] | None:
    """95 % interval of the pass rate over valid items, attempts at one task being one cluster.

    Wilson's, with several attempts at a task for as many independent attempts as would have the
    same standard error (Kish's effective sample size), and Student's t in place of the normal
    quantile. `benchmarks/eval_statistics.py` shows its coverage.
    """
    groups = list(attempts_by_task(items).values())
    sizes, passes = list(map(len, groups)), sum(map(sum, groups))
    n = sum(sizes)
    if n == len(groups):
        return wilson(int(passes), n)
    error, rate = _clustered_error(groups), passes / n
    least = n * n / sum(size * size for size in sizes)  # all attempts at a task end alike
    return _score_interval(rate, min(_effective(rate, error, least), n), _t(len(groups)))


def share_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of independent values in [0, 1]; None below two.

    Wilson's with the effective sample size of their variance, which is never less than their
    number: values between 0 and 1 vary less than zeros and ones of the same mean.
    """
    n = len(values)
    if n < 2:
        return None
    mean, error = sum(values) / n, _clustered_error([[value] for value in values])
    return _score_interval(mean, _effective(mean, error, n), _t(n))


def _effective(rate: float, error: float | None, least: float) -> float:
    """Independent attempts with this standard error; as many as that is known of at least."""
    return max(rate * (1 - rate) / error**2, least) if error else least


def pass_rate_error(items: Iterable[ItemRecord]) -> float | None:
    """Standard error of the pass rate over valid items; None below two tasks.

    Attempts at one task are one cluster: the root of the sum over tasks of (sum of its
    residuals)^2, over the number of attempts (Miller 2024, section 2.2), times sqrt(T / (T - 1))
    for T tasks.
    """
    return _clustered_error(list(attempts_by_task(items).values()))


def attempts_by_task(items: Iterable[ItemRecord]) -> dict[str, list[float]]:
    """1 for every attempt that passed, 0 for one that failed; invalid ones are left out."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.outcome != "invalid":
            groups[item.task_id].append(float(item.outcome == "pass"))
    return groups


def _clustered_error(groups: Sequence[Sequence[float]]) -> float | None:
    if len(groups) < 2:
        return None
    n = sum(map(len, groups))
    mean = sum(map(sum, groups)) / n
    squares = sum((sum(values) - mean * len(values)) ** 2 for values in groups)
    return math.sqrt(squares * len(groups) / (len(groups) - 1)) / n


def _t(n: int) -> float:
    """97.5 % quantile of Student's t with n - 1 degrees of freedom; infinite for one value."""
    if n < 2:
        return math.inf
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.975))


class PairedComparison(Value):
    """The same tasks under two conditions.

    Attributes:
        tasks: tasks with a valid attempt on both sides.
        unpaired: tasks of either side left out (missing or invalid on one side).
        before: pass rate of the first condition over `tasks`.
        after: pass rate of the second.
        difference: after - before.
        ci95: 95 % interval of the difference, Student's t over tasks; None below two tasks.
        p: two-sided p-value: exact McNemar for one attempt per task, else sign-flip permutation.
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
        ci95=_mean_interval(changes),
        p=_sign_flip_p(changes),
        discordance=sum(change != 0 for change in changes) / n,
        broken=tuple(task for task in common if first[task] > 0.5 > second[task]),
        fixed=tuple(task for task in common if first[task] < 0.5 < second[task]),
    )


def _mean_interval(changes: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of values in [-1, 1]; None below two.

    Where no value differs from zero there is no variance to go by; the interval is then as wide as
    the largest share of tasks with a change of one that the data do not exclude (none of n seen:
    1 - 0.025^(1/n), Clopper and Pearson 1934).
    """
    n = len(changes)
    if n < 2:
        return None
    mean = sum(changes) / n
    if not any(changes):
        most = 1 - 0.025 ** (1 / n)
        return -most, most
    spread = (_clustered_error([[change] for change in changes]) or 0.0) * _t(n)
    return max(-1.0, mean - spread), min(1.0, mean + spread)


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
    z_alpha, z_power = _z(1 - alpha / 2), _z(power)
    spread = math.sqrt(max(0.0, discordance - lift * lift))
    return (z_alpha * math.sqrt(discordance) + z_power * spread) ** 2 / (lift * lift)


def _z(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


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


def _sign_flip_p(changes: list[float]) -> float:
    """Exact McNemar where all changes are -1, 0 or 1; else a seeded permutation test."""
    moved = [change for change in changes if change != 0]
    if not moved:
        return 1.0
    if all(abs(change) == 1 for change in moved):
        from scipy.stats import binomtest

        return float(binomtest(sum(change > 0 for change in moved), len(moved)).pvalue)
    import numpy as np

    rng = np.random.default_rng(20260325)
    values = np.abs(np.asarray(moved))
    signs = rng.choice((-1.0, 1.0), size=(BOOTSTRAP_SAMPLES, len(moved)))
    extreme = np.abs(signs @ values) >= abs(sum(moved)) - 1e-12
    return float((extreme.sum() + 1) / (BOOTSTRAP_SAMPLES + 1))
