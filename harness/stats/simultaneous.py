"""Several differences from one condition at once, paired by task: intervals that hold together.

The critical value is that of the largest of all studentised means. Its law is simulated with normal
weights on the tasks, or on whole groups of them (max-T multiplier bootstrap: Chernozhukov,
Chetverikov and Kato 2013, section 3), so that comparisons which share tasks, and a control that
resembles another one, cost what they must and no more. The intervals themselves are those of
:func:`change_interval` at that value: they keep their level where few tasks change, and for one
comparison they are the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from harness.stats.effects import cluster_sums
from harness.stats.intervals import change_interval, clustered, z_of
from harness.stats.paired import detectable_lift
from harness.stats.spending import dunnett_critical

DRAWS = 20_000
BLOCK = 500
RELABELLINGS = 1000
_SEED = 20260325


def joint_critical(
    changes: NDArray[np.float64],
    alpha: float = 0.05,
    draws: int = DRAWS,
    groups: Sequence[str] = (),
) -> float:
    """Critical value for all comparisons together, normal; never below that of one.

    A comparison without spread says nothing of its correlation with the others and is taken to be
    independent of them, which is never too little.

    Args:
        changes: change of each task in each comparison, nan where it has none [tasks, comparisons].
        alpha: probability that any interval misses.
        draws: of the weights; the same ones every time.
        groups: of the tasks, where those of a group are not independent.
    """
    single = z_of(1 - alpha / 2)
    if not changes.size:
        return single
    present = ~np.isnan(changes)
    filled = np.where(present, changes, 0.0)
    means = filled.sum(axis=0) / np.maximum(1, present.sum(axis=0))
    centred = np.where(present, filled - means, 0.0)
    if groups:
        centred = cluster_sums(centred, np.unique(groups, return_inverse=True)[1])
    spread = np.sqrt((centred**2).sum(axis=0))
    flat = spread < 1e-12
    scaled = centred / np.where(flat, 1.0, spread)
    rng = np.random.default_rng(_SEED)
    largest: list[NDArray[np.float64]] = []
    for start in range(0, draws, BLOCK):
        count = min(BLOCK, draws - start)
        means_drawn = rng.standard_normal((count, len(scaled))) @ scaled
        means_drawn[:, flat] = rng.standard_normal((count, int(flat.sum())))
        largest.append(np.abs(means_drawn).max(axis=1))
    return max(single, float(np.quantile(np.concatenate(largest), 1 - alpha)))


def false_difference_rate(
    changes: Sequence[float], critical: float, groups: Sequence[str] = ()
) -> float:
    """Return how often two attempts with one condition would be called different by chance alone.

    The two sides of every task, or of every group as a whole, are swapped by a fair coin, 1,000
    times with a fixed seed: the share of draws whose interval leaves out zero.

    Args:
        changes: of the tasks, between two runs of the same condition.
        critical: value of the intervals.
        groups: of the tasks, where those of a group are not independent.
    """
    clusters = [tuple(cluster) for cluster in clustered(changes, groups)]
    moved = [cluster for cluster in clusters if any(cluster)]
    still = [cluster for cluster in clusters if not any(cluster)]
    if not moved:
        return 0.0
    rng = np.random.default_rng(_SEED)
    signs = rng.choice((-1.0, 1.0), size=(RELABELLINGS, len(moved))).tolist()
    draws = Counter(
        tuple(sorted(tuple(sign * change for change in cluster) for sign, cluster in pairs))
        for pairs in (zip(row, moved, strict=True) for row in signs)
    )
    calls = 0
    for drawn, count in draws.items():
        rows = [*drawn, *still]
        names = [str(number) for number, row in enumerate(rows) for _ in row] if groups else ()
        low, high = change_interval([*chain(*rows)], critical, names) or (-1.0, 1.0)
        calls += count * (low > 0 or high < 0)
    return calls / RELABELLINGS


def joint_lift(tasks: float, comparisons: int, power: float = 0.8) -> float | None:
    """Smallest true difference that each of several comparisons finds with `power`.

    Before anything was run: results of a quarter of the tasks are taken to differ (more only where
    a quarter could never be found), and comparisons with one condition to have the correlation 1/2
    (Dunnett 1955). None if there are too few tasks for any difference.
    """
    value = dunnett_critical(comparisons, 0.5) if comparisons > 1 else z_of(0.975)
    alpha = math.erfc(value / math.sqrt(2))
    lifts = (detectable_lift(tasks, share, power, alpha) for share in (0.25, 0.5, 1.0))
    return next((lift for lift in lifts if lift is not None), None)
