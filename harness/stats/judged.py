"""Rates that were measured by a judge who errs, corrected for its errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from harness.stats.intervals import wilson

# Of the three shares behind a corrected rate: its ends are right to a thousandth or two.
DRAWS = 400_000


class Corrected(NamedTuple):
    """A rate that no judge stands between.

    Attributes:
        value: the estimate, in [0, 1].
        low: lower end of its 95 % interval.
        high: upper end.
    """

    value: float
    low: float
    high: float


def corrected_rate(
    rate: float, n: float, right_passes: int, passes: int, right_fails: int, fails: int
) -> Corrected | None:
    """The true pass rate behind a judged one, with an interval that holds the judge's error, too.

    Rogan and Gladen (1978): (rate + specificity - 1) / (sensitivity + specificity - 1), where both
    were measured on labels. The interval holds the central 95 % of that formula over draws of the
    three shares from their posteriors with Jeffreys' prior (seeded, so that it is the same every
    time); `benchmarks/judge/coverage.py` compares its coverage with that of others.

    Args:
        rate: share of attempts that the judge passed.
        n: independent attempts behind it.
        right_passes: answers labelled as passes that the judge passed.
        passes: answers labelled as passes.
        right_fails: answers labelled as fails that the judge failed.
        fails: answers labelled as fails.

    Returns:
        None where the labels do not show that the judge tells passes from fails: then its rate
        says nothing of the true one; or where all of the interval is out of [0, 1]: then the rate
        cannot come of a judge with such errors.
    """
    informed = informedness(right_passes, passes, right_fails, fails)
    if n <= 0 or informed is None or informed[1] <= 0:
        return None
    import numpy as np

    draw = np.random.default_rng(20260325)
    shares = ((rate * n, n), (right_passes, passes), (right_fails, fails))
    judged, sensitivity, specificity = (
        draw.beta(hits + 0.5, size - hits + 0.5, DRAWS) for hits, size in shares
    )
    youden = sensitivity + specificity - 1
    true = (judged + specificity - 1)[youden > 0] / youden[youden > 0]
    low, high = map(float, np.quantile(true, (0.025, 0.975)))
    if high <= 0 or low >= 1:
        return None
    value = (rate + right_fails / fails - 1) / (right_passes / passes + right_fails / fails - 1)
    value = min(1.0, max(0.0, value))
    return Corrected(value, min(value, max(0.0, low)), max(value, min(1.0, high)))


def informedness(
    right_passes: int, passes: int, right_fails: int, fails: int
) -> tuple[float, float, float] | None:
    """Sensitivity + specificity - 1 (Youden 1950) with a 95 % interval; None without both labels.

    The distances of the Wilson limits of both shares are added as squares (Newcombe 1998).
    """
    ends = wilson(right_passes, passes), wilson(right_fails, fails)
    if ends[0] is None or ends[1] is None:
        return None
    shares = right_passes / passes, right_fails / fails
    down = math.hypot(shares[0] - ends[0][0], shares[1] - ends[1][0])
    up = math.hypot(ends[0][1] - shares[0], ends[1][1] - shares[1])
    value = sum(shares) - 1
    return value, value - down, value + up


def reliability_curve(
    scores: Sequence[float], labels: Sequence[bool]
) -> list[tuple[float, float, int]]:
    """(score, share of passes, labels at it), the shares never falling: isotonic regression.

    Args:
        scores: what a judge gave, in [0, 1].
        labels: whether the answer is right.
    """
    from scipy.optimize import isotonic_regression

    groups: dict[float, list[bool]] = {score: [] for score in sorted(scores)}
    for score, label in zip(scores, labels, strict=True):
        groups[score].append(label)
    means = [sum(group) / len(group) for group in groups.values()]
    shares = isotonic_regression(means, weights=list(map(len, groups.values()))).x
    rows = zip(groups, shares, groups.values(), strict=True)
    return [(score, float(share), len(group)) for score, share, group in rows]
