"""Estimates and p-values after a walk was stopped early, in the stagewise ordering.

A candidate that was accepted early was, on average, lucky; its plain mean is too high. In the
stagewise ordering an outcome is more extreme if it left upwards earlier, or at the same look with
a higher sum; the value of the parameter under which half of the outcomes are more extreme is the
median-unbiased estimate (Tsiatis, Rosner and Mehta 1984). The walk is discrete, so the observed
outcome counts half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from harness.evals.walk import exits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

HALVINGS = 20


class Stopped(NamedTuple):
    """Walks that have stopped, many at once.

    Attributes:
        sizes: [paths, looks, largest step], as in :func:`harness.evals.walk.exits`.
        upper: boundaries [paths, looks].
        lower: boundaries [paths, looks].
        look: look of the stop [paths]; 0 for the first.
        sums: the sum there [paths].
    """

    sizes: Ints
    upper: Ints
    lower: Floats
    look: Ints
    sums: Ints


def more_extreme(stopped: Stopped, heads: Floats, *, binding: bool = True) -> tuple[Floats, Floats]:
    """Probability of an outcome at least as extreme as the observed one, and of a more extreme.

    Args:
        stopped: the walks.
        heads: probability that a step goes up [paths].
        binding: whether the walks stop at the lower boundary; without, a p-value stays valid for
            who goes on.
    """
    import numpy as np

    rows = np.arange(len(stopped.look), dtype=np.int64)
    looks = np.arange(stopped.sizes.shape[1], dtype=np.int64)
    until = looks[None, :] <= stopped.look[:, None]
    sizes = stopped.sizes * until[:, :, None]
    gave_up = stopped.sums <= stopped.lower[rows, stopped.look]

    def probability(beyond: Ints) -> Floats:
        """Of leaving upwards earlier, or at the stop with a sum of `beyond` or more."""
        upper, lower = stopped.upper.copy(), stopped.lower.copy()
        upper[rows, stopped.look] = beyond
        lower[rows, stopped.look] = beyond - 1
        if not binding:
            lower[:] = -np.inf
        out = exits(sizes, upper, lower, heads)
        up: Floats = (out.up * until).sum(axis=1)
        # Who gave up is below everyone who went on at that look or left upwards at it or before;
        # all but those who gave up earlier or with a lower sum are at least as high.
        down: Floats = (out.down * until).sum(axis=1)
        reached: Floats = np.where(gave_up & binding, 1.0 - down, up)
        return reached

    return probability(stopped.sums), probability(stopped.sums + 1)


def quantile(stopped: Stopped, probability: float, weight: float) -> Floats:
    """Probability of a step upwards under which the outcome sits at `probability` [paths].

    Args:
        stopped: the walks.
        probability: share of outcomes beyond the observed one.
        weight: how much of the observed outcome itself counts as beyond: 1 for a lower limit, 0
            for an upper one, 1/2 for the median.
    """
    import numpy as np

    def beyond(heads: Floats) -> Floats:
        with_it, without = more_extreme(stopped, heads)
        return weight * with_it + (1 - weight) * without

    return _bisect(beyond, probability, np.zeros(len(stopped.look)))


def _bisect(rising: Callable[[Floats], Floats], target: float, low: Floats) -> Floats:
    import numpy as np

    high = low + 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = rising(middle) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
