"""Exact laws of a stopped random walk with steps of known size and random sign.

The changes of a paired comparison, in whole units, are such a walk: given how large every change
is, under the null hypothesis each sign is a fair coin. With one attempt per task every change is
one unit and this is the sequential McNemar test; with several it is the sequential sign-flip test.
Everything is computed for many paths at once by convolution, without approximation.

Estimates and p-values of a stopped walk are those of the stagewise ordering: a candidate that was
accepted early was, on average, lucky, so its plain mean is too high. There an outcome is more
extreme if it left upwards earlier, or at the same look with a higher sum; the value of the
parameter under which half of the outcomes are more extreme is the median-unbiased estimate
(Tsiatis, Rosner and Mehta 1984). The walk is discrete, so the observed outcome counts half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.core import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


# Of the interval from 0 to 1 in which a probability of a step upwards is searched.
HALVINGS = 20


class Operating(Value):
    """Average behaviour of a plan at its discordance.

    Attributes:
        power: probability of accepting a candidate whose true lift is the plan's.
        false_acceptance: probability of accepting a candidate without effect.
        tasks_null: tasks run on average without effect.
        tasks_lift: tasks run on average at the plan's lift.
    """

    power: float
    false_acceptance: float
    tasks_null: float
    tasks_lift: float


class Exits(NamedTuple):
    """Probability of leaving at each look, first exits only; both [paths, looks].

    Attributes:
        up: at or above the upper boundary.
        down: at or below the lower boundary.
    """

    up: Floats
    down: Floats


def spending_boundaries(sizes: Ints, budget: Floats) -> tuple[Ints, Floats]:
    """Upper boundaries that spend no more than `budget` if every sign is a fair coin.

    At each look the boundary is the smallest sum whose probability of being reached now, and no
    boundary before, fits into what the budget leaves; what discreteness leaves unspent is kept for
    later looks (Lan and DeMets 1983, with exact probabilities instead of normal ones).

    Args:
        sizes: [paths, looks, largest step]; how many steps of size s + 1 each look adds.
        budget: [looks], cumulative, non-decreasing.

    Returns:
        Boundaries [paths, looks], and the probability spent up to each look [paths, looks].
    """
    import numpy as np

    paths, looks, _ = sizes.shape
    state: Floats = np.ones((paths, 1))
    bounds = np.empty((paths, looks), dtype=np.int64)
    spent = np.zeros((paths, looks))
    total = np.zeros(paths)
    fair = np.full(paths, 0.5, dtype=np.float64)
    for look in range(looks):
        state = _advance(state, sizes[:, look], fair)
        tail = state[:, ::-1].cumsum(axis=1)[:, ::-1]
        too_likely = tail > (budget[look] - total)[:, None]
        width = state.shape[1]
        first = width - too_likely[:, ::-1].argmax(axis=1)
        first[~too_likely.any(axis=1)] = 0
        columns = np.arange(width, dtype=np.int64)
        out = columns[None, :] >= first[:, None]
        total = total + np.where(out, state, 0.0).sum(axis=1)
        state = np.where(out, 0.0, state)
        bounds[:, look], spent[:, look] = first - width // 2, total
    return bounds, spent


def exits(sizes: Ints, upper: Ints, lower: Floats | Ints, heads: Floats) -> Exits:
    """Compute where the walk leaves if a step goes up with probability `heads` [paths].

    Args:
        sizes: as in :func:`spending_boundaries`.
        upper: boundaries [paths, looks]; a sum at or above leaves upwards.
        lower: boundaries [paths, looks]; a sum at or below leaves downwards.
        heads: probability that a step goes up.
    """
    import numpy as np

    paths, looks, _ = sizes.shape
    state: Floats = np.ones((paths, 1))
    up, down = np.zeros((paths, looks)), np.zeros((paths, looks))
    for look in range(looks):
        state = _advance(state, sizes[:, look], heads)
        columns = np.arange(state.shape[1], dtype=np.int64)
        sums = columns[None, :] - state.shape[1] // 2
        above = sums >= upper[:, look, None]
        below = (sums <= lower[:, look, None]) & ~above
        up[:, look] = np.where(above, state, 0.0).sum(axis=1)
        down[:, look] = np.where(below, state, 0.0).sum(axis=1)
        state = np.where(above | below, 0.0, state)
    return Exits(up, down)


def _advance(state: Floats, counts: Ints, heads: Floats) -> Floats:
    """The law after `counts` [paths, largest step] more steps of each size.

    Column i of a law of width 2 r + 1 is the sum i - r; the law grows as far as a path can go.
    """
    import numpy as np

    steps = np.arange(1, counts.shape[1] + 1, dtype=np.int64)
    farther = int(np.max(counts @ steps, initial=0))
    state = np.pad(state, ((0, 0), (farther, farther)))
    for index in range(counts.shape[1]):
        size = index + 1
        for step in range(int(counts[:, index].max(initial=0))):
            # Paths that have fewer steps of this size stand still.
            rows = np.flatnonzero(counts[:, index] > step)
            moved = state[rows]
            following = np.zeros_like(moved)
            following[:, size:] = heads[rows, None] * moved[:, :-size]
            following[:, :-size] += (1.0 - heads[rows, None]) * moved[:, size:]
            state[rows] = following
    return state


def skewness(squares: Ints, net: Ints, seen: Ints, lost: Floats) -> Floats:
    """Skewness of the changes towards losses, by the square root of their number; 0 for the other.

    A sum of n changes of skewness g is above x estimated standard deviations with a probability
    that is larger by -g (2 x^2 + 1) / (6 sqrt n) times the normal density than that of a symmetric
    one (Hall 1992, section 2.6). One more loss is counted: rare ones may not have come yet.

    Args:
        squares: [paths, looks]; summed squares of the changes up to each look.
        net: [paths, looks, most]; changes of s + 1 units up less those down.
        seen: [paths, looks]; valid tasks, or groups, up to each look.
        lost: [paths, looks]; units of that loss.
    """
    import numpy as np

    steps = np.arange(1, net.shape[2] + 1, dtype=np.int64)
    count = seen + 1
    mean = (np.cumsum(net @ steps, axis=1) - lost) / count
    square = (squares + lost**2) / count
    cube = (np.cumsum(net @ steps**3, axis=1) - lost**3) / count
    spread: Floats = np.sqrt(square - mean**2)
    third: Floats = cube - 3 * mean * square + 2 * mean**3
    towards: Floats = np.maximum(0.0, -third) / np.maximum(spread, 1e-9) ** 3
    return towards / np.sqrt(count)


class Stopped(NamedTuple):
    """Walks that have stopped, many at once.

    Attributes:
        sizes: [paths, looks, largest step], as in :func:`exits`.
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

    def probability(least: Ints) -> Floats:
        """Return the probability to leave upwards before, or at the stop with `least` or more."""
        upper, lower = stopped.upper.copy(), stopped.lower.copy()
        upper[rows, stopped.look] = least
        lower[rows, stopped.look] = least - 1
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


def walk_quantile(stopped: Stopped, probability: float, weight: float) -> Floats:
    """Probability of a step upwards under which the outcome sits at `probability` [paths].

    Args:
        stopped: the walks.
        probability: share of outcomes beyond the observed one.
        weight: how much of the observed outcome itself counts as beyond: 1 for a lower limit, 0
            for an upper one, 1/2 for the median.
    """
    import numpy as np

    low: Floats = np.zeros(len(stopped.look))
    high = low + 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        as_extreme, more = more_extreme(stopped, middle)
        below = weight * as_extreme + (1 - weight) * more < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
