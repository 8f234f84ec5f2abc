"""Intervals from plain numbers: score intervals of shares and changes, bootstraps of the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ValueT = TypeVar("ValueT")
BOOTSTRAP_SAMPLES = 10_000
TINY = 1e-9
# With so many fails, or passes, the correlation in a cluster is taken to be half way to 1.
DOUBT = 0.25
# `between` of :func:`effective` for intervals of several changes that hold together.
JOINT = 0.5


def wilson(passes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a proportion, None for n = 0 (Wilson 1927)."""
    return score_interval(passes / n, n, z_of(0.5 + confidence / 2)) if n else None


def upper_limit(passes: int, n: int, confidence: float = 0.95) -> float:
    """One-sided exact upper limit of a proportion (Clopper and Pearson 1934)."""
    from scipy.stats import beta

    return 1.0 if passes == n else float(beta.ppf(confidence, passes + 1, n - passes))


def seen_at_least(times: int, n: int, rate: float) -> float:
    """Chance that what happens in a share `rate` of attempts is seen so often in `n` of them."""
    return 1.0 - sum(
        math.comb(n, count) * rate**count * (1 - rate) ** (n - count) for count in range(times)
    )


def score_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share `p` of `n` independent values for the quantile `z`."""
    if math.isinf(z):
        return 0.0, 1.0
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


class Effective(NamedTuple):
    """Independent values whose mean is as uncertain as that of values that come in clusters.

    Attributes:
        size: their number; it need not be whole.
        degrees: degrees of freedom with which their variance is known.
    """

    size: float
    degrees: float


def effective(
    clusters: Sequence[Sequence[float]], doubt: float = 0.0, between: float = 0.0
) -> Effective:
    """Count values that come in clusters of any size as independent ones.

    The correlation r of two values of a cluster comes from an analysis of variance (Donner 1986).
    With the shares w of the clusters, the mean varies like that of n / (1 + r (n sum w^2 - 1))
    values (Kish 1965). The variance between clusters has 1 / sum w^2 - 1 degrees of freedom, as
    many as that number of clusters of one size, and the variance within them n less their number;
    the reciprocals are weighted by the parts that the two have in the variance of the mean.

    Args:
        clusters: two or more.
        doubt: share by which the correlation is moved towards 1.
        between: share by which the part of the variance between clusters is, for its degrees.
    """
    sizes, sums = list(map(len, clusters)), list(map(sum, clusters))
    n, count = sum(sizes), len(sizes)
    alike = sum(size * size for size in sizes) / n**2
    mean, squares = sum(sums) / n, sum(value * value for values in clusters for value in values)
    means = sum(total * total / size for total, size in zip(sums, sizes, strict=True))
    between = max(0.0, means - n * mean**2) / (count - 1)
    within = max(0.0, squares - means) / max(1, n - count)
    usual = n * (1 - alike) / (count - 1)  # size of a cluster
    spread = between + (usual - 1) * within
    correlation = min(1.0, max(0.0, (between - within) / spread)) if spread > TINY else 1.0
    correlation += (1 - correlation) * doubt
    variance = correlation * alike + (1 - correlation) / n
    shared = correlation * alike / variance
    shared += (1 - shared) * between
    free = shared / max(TINY, 1 / alike - 1) + (1 - shared) / max(1, n - count)
    return Effective(min(n, 1 / variance), 1 / free)


def rate_interval(clusters: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """95 % interval of the mean of zeros and ones that come in clusters; None without any.

    Wilson's, with as many values as are :func:`effective` and Student's t in place of the normal
    quantile; (0, 1) for a single cluster of several. `benchmarks/evals/interval_coverage.py` shows
    its coverage.
    """
    n, passes = sum(map(len, clusters)), sum(map(sum, clusters))
    if n == len(clusters):
        return wilson(int(passes), n)
    if len(clusters) < 2:
        return 0.0, 1.0
    # Few passes or fails do not show how alike those of a cluster are.
    rare = min(passes, n - passes)
    count = effective(clusters, DOUBT / (rare + DOUBT))
    return score_interval(passes / n, count.size, t_quantile(count.degrees))


def effective_size(clusters: Sequence[Sequence[float]]) -> float:
    """Independent zeros and ones whose mean is as uncertain as that of these clusters (Kish)."""
    n = sum(map(len, clusters))
    return effective(clusters).size if 1 < len(clusters) < n else float(len(clusters))


def share_interval(
    values: Sequence[float], groups: Sequence[str] = ()
) -> tuple[float, float] | None:
    """95 % interval of the mean of values in [0, 1]; None below two, or below two groups.

    Wilson's with the effective sample size of their variance, which is never less than their
    number: values between 0 and 1 vary less than zeros and ones of the same mean.

    Args:
        values: independent of one another, or but for those of a group.
        groups: of the values.
    """
    count = _effective(values, groups, len(values) - 1)
    return count and _bounded_interval(values, count.size, t_quantile(count.degrees))


def _effective(
    values: Sequence[float], groups: Sequence[str], degrees: float, between: float = 0.0
) -> Effective | None:
    """The values as independent ones, with `degrees` where they are; None below two of them."""
    clusters = clustered(values, groups)
    if len(clusters) < 2:
        return None
    independent = len(clusters) == len(values)
    return Effective(len(values), degrees) if independent else effective(clusters, 0.0, between)


def cluster_names(tasks: Sequence[str], groups: Mapping[str, str]) -> list[str]:
    """The group of every task, where a task without one is alone; nothing if none has one."""
    if not any(task in groups for task in tasks):
        return []
    return [groups.get(task) or f"task {task}" for task in tasks]


def clustered(values: Sequence[ValueT], groups: Sequence[str]) -> list[list[ValueT]]:
    """Values by their groups; without groups each is alone."""
    clusters: dict[object, list[ValueT]] = {}
    for index, value in enumerate(values):
        clusters.setdefault(groups[index] if groups else index, []).append(value)
    return list(clusters.values())


def _bounded_interval(values: Sequence[float], size: float, z: float) -> tuple[float, float]:
    n = len(values)
    mean, error = sum(values) / n, clustered_error([[value] for value in values])
    least = max(mean * (1 - mean) / error**2, n) if error else n
    return score_interval(mean, least * size / n, z)


def clustered_error(groups: Sequence[Sequence[float]]) -> float | None:
    """Standard error of the mean of values that come in clusters; None below two clusters.

    The root of the sum over clusters of (sum of its residuals)^2, over the number of values
    (Miller 2024, section 2.2), times sqrt(T / (T - 1)) for T clusters.
    """
    if len(groups) < 2:
        return None
    n = sum(map(len, groups))
    mean = sum(map(sum, groups)) / n
    squares = sum((sum(values) - mean * len(values)) ** 2 for values in groups)
    return math.sqrt(squares * len(groups) / (len(groups) - 1)) / n


def change_interval(
    changes: Sequence[float], z: float | None = None, groups: Sequence[str] = ()
) -> tuple[float, float] | None:
    """95 % interval of the mean of changes in [-1, 1]; None below two, or below two groups.

    The mean is that of the gains less that of the losses. Each is a mean in [0, 1] with its score
    interval, and the distances of the limits are added as squares, less their correlation (MOVER,
    Zou and Donner 2008, section 2). A t interval covers too seldom where most changes are gains.
    Changes of groups count as many as are :func:`effective`.

    Args:
        changes: one a task.
        z: normal critical value, in place of that of 95 %.
        groups: of the changes, where those of a group are not independent.
    """
    # Far out in the tails a correlation that is estimated too small costs more.
    count = _effective(changes, groups, math.inf, 0.0 if z is None else JOINT)
    if count is None:
        return None
    n = len(changes)
    gains = [max(change, 0.0) for change in changes]
    losses = [max(-change, 0.0) for change in changes]
    up, down = sum(gains) / n, sum(losses) / n
    z = t_quantile(count.degrees, z_of(0.975) if z is None else z)
    up_low, up_high = _bounded_interval(gains, count.size, z)
    down_low, down_high = _bounded_interval(losses, count.size, z)
    spread = math.sqrt(
        sum((gain - up) ** 2 for gain in gains) / n * (sum((x - down) ** 2 for x in losses) / n)
    )
    shared = 2 * up * down / spread if spread else 0.0  # no change is both: covariance - up * down

    def added(first: float, second: float) -> float:
        return math.sqrt(first * first + second * second + shared * first * second)

    low, high = added(up - up_low, down_high - down), added(up_high - up, down - down_low)
    return max(-1.0, up - down - low), min(1.0, up - down + high)


def mean_interval(values: Sequence[float], samples: int = BOOTSTRAP_SAMPLES) -> tuple[float, float]:
    """95 % percentile bootstrap of a mean; a single value is its own interval, none is (0, 0)."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    return ratio_interval([(value, 1.0) for value in values], samples) or (0.0, 0.0)


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
        statistic: of the rows with these numbers; None where it has no value for them.
        clusters: shape (rows,): what a row belongs to.
        samples: how often clusters are resampled.
    """
    import numpy as np

    rng = np.random.default_rng(0)
    names, index = np.unique(clusters, return_inverse=True)
    rows: list[NDArray[np.int64]] = [np.flatnonzero(index == name) for name in range(len(names))]
    values: list[float] = []
    for _ in range(samples):
        drawn: list[int] = rng.integers(len(names), size=len(names)).tolist()
        value = statistic(np.concatenate([rows[name] for name in drawn]))
        if value is not None:
            values.append(value)
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def z_of(probability: float) -> float:
    """Quantile of the normal distribution."""
    return NormalDist().inv_cdf(probability)


def t_quantile(degrees: float, z: float | None = None) -> float:
    """Quantile of Student's t with the tail of the normal one `z`; default 2.5 %."""
    from scipy.special import stdtrit

    z = z_of(0.975) if z is None else z
    return z if math.isinf(degrees) else -float(stdtrit(degrees, NormalDist().cdf(-z)))


def product_interval(
    sign: tuple[float, float, float], share: tuple[float, float, float], size: float
) -> tuple[float, float]:
    """Interval of sign * share * size from those of the first two (estimate, low, high).

    The distances of the limits are added as squares (MOVER, Zou and Donner 2008).
    """
    (mean, low, high), (moved, fewest, most) = sign, share
    far, near = (most, fewest) if mean >= 0 else (fewest, most)
    down = math.hypot(moved * (mean - low), mean * (moved - near))
    up = math.hypot(moved * (high - mean), mean * (far - moved))
    return max(-1.0, (mean * moved - down) * size), min(1.0, (mean * moved + up) * size)
