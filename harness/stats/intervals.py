"""Score intervals of shares, from plain numbers: independent values, or clusters of them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def wilson(passes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a proportion, None for n = 0 (Wilson 1927)."""
    if n == 0:
        return None
    return score_interval(passes / n, n, z_of(0.5 + confidence / 2))


def score_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share `p` of `n` independent values for the quantile `z`."""
    if math.isinf(z):
        return 0.0, 1.0
    centre = p + z * z / (2 * n)
    spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def rate_interval(groups: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """95 % interval of the mean of zeros and ones that come in clusters; None without any.

    Wilson's, with a cluster of several counting as many independent values as would have the same
    standard error (Kish's effective sample size), and Student's t in place of the normal quantile.
    `benchmarks/eval_statistics.py` shows its coverage.
    """
    sizes, passes = list(map(len, groups)), sum(map(sum, groups))
    n = sum(sizes)
    if n == len(groups):
        return wilson(int(passes), n)
    error, rate = clustered_error(groups), passes / n
    least = n * n / sum(size * size for size in sizes)  # all values of a cluster are alike
    return score_interval(rate, min(effective_size(rate, error, least), n), t_of(len(groups)))


def share_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of independent values in [0, 1]; None below two.

    Wilson's with the effective sample size of their variance, which is never less than their
    number: values between 0 and 1 vary less than zeros and ones of the same mean.
    """
    if len(values) < 2:
        return None
    return _bounded_interval(values, t_of(len(values)))


def _bounded_interval(values: Sequence[float], z: float) -> tuple[float, float]:
    n = len(values)
    mean, error = sum(values) / n, clustered_error([[value] for value in values])
    return score_interval(mean, effective_size(mean, error, n), z)


def effective_size(rate: float, error: float | None, least: float) -> float:
    """Independent values with this standard error; as many as that is known of at least."""
    return max(rate * (1 - rate) / error**2, least) if error else least


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


def change_interval(changes: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the mean of independent changes in [-1, 1]; None below two.

    The mean is that of the gains less that of the losses. Each is a mean in [0, 1] with its score
    interval, and the distances of the limits are added as squares, less their correlation (MOVER,
    Zou and Donner 2008, section 2). A t interval covers too seldom where most changes are gains.
    """
    n = len(changes)
    if n < 2:
        return None
    gains, losses = [max(one, 0.0) for one in changes], [max(-one, 0.0) for one in changes]
    up, down, z = sum(gains) / n, sum(losses) / n, z_of(0.975)
    (up_low, up_high), (down_low, down_high) = (
        _bounded_interval(part, z) for part in (gains, losses)
    )
    spread = math.sqrt(_variance(gains, up) * _variance(losses, down))
    shared = 2 * up * down / spread if spread else 0.0  # no change is both: covariance - up * down
    low = _added(up - up_low, down_high - down, shared)
    high = _added(up_high - up, down - down_low, shared)
    return max(-1.0, up - down - low), min(1.0, up - down + high)


def _variance(values: Sequence[float], mean: float) -> float:
    return sum((value - mean) ** 2 for value in values) / len(values)


def _added(first: float, second: float, shared: float) -> float:
    return math.sqrt(first * first + second * second + shared * first * second)


def z_of(probability: float) -> float:
    """Quantile of the normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def t_of(n: int) -> float:
    """97.5 % quantile of Student's t with n - 1 degrees of freedom; infinite for one value."""
    if n < 2:
        return math.inf
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.975))
