"""Distance from zero that an estimate must reach at each look, for all units and looks together.

Error spending (Lan and DeMets 1983) with the power family: by the share t of the rollouts,
alpha t^rho is spent (Jennison and Turnbull 2000, section 7.2). All units together: each gets the
level 1 - (1 - alpha)^(1/units), which keeps the joint level whatever the correlation of the
estimates (Sidak 1967; for the looks of several units together by the Gaussian correlation
inequality, Royen 2014) and loses nothing here, since the design makes them nearly uncorrelated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.stats.effects import EffectFit

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Power of the spending: little is spent on early looks, so the last one costs little.
RHO = 2.0
# Of the grid over which the walk's density is integrated (Simpson's rule).
POINTS = 401


def per_unit(alpha: float, units: int) -> float:
    """Level of one unit such that all together keep `alpha` (Sidak 1967)."""
    return 1 - (1 - alpha) ** (1 / units)


@lru_cache(maxsize=256)
def normal_boundaries(
    shares: tuple[float, ...], alpha: float, units: int, rho: float = RHO
) -> tuple[float, ...]:
    """Normal critical values of the looks: an interval is estimate -+ value x standard error.

    With independent increments the probability that any interval of any unit misses at any look is
    `alpha`; if the looks share the tasks' own deviations they are closer to one another, and it is
    lower.

    Args:
        shares: share of the planned rollouts at each look, rising, the last one 1.
        alpha: for all units and looks together.
        units: how many intervals hold together.
        rho: power of the spending.

    Raises:
        BadInput: if the shares do not rise from above 0 to 1.
    """
    rising = all(a < b for a, b in zip((0.0, *shares), shares, strict=False))
    if not shares or not rising or abs(shares[-1] - 1) > 1e-9:
        raise BadInput(f"expected rising shares of the rollouts that end in 1, got {shares!r}")
    level = per_unit(alpha, units)
    spent = [level * share**rho for share in shares]
    values: list[float] = []
    walk: tuple[Floats, Floats] | None = None
    for look, share in enumerate(shares):
        before = shares[look - 1] if look else 0.0
        budget = spent[look] - (spent[look - 1] if look else 0.0)
        low, edge = 0.0, 12.0  # the edge that a walk still inside passes with that probability
        for _ in range(60):
            middle = (low + edge) / 2
            if _beyond(walk, share - before, middle) > budget:
                low = middle
            else:
                edge = middle
        values.append(edge / share**0.5)
        walk = _onwards(walk, share - before, edge)
    return tuple(values)


def critical(normal: float, degrees: float) -> float:
    """The t value with the tail of a normal one: standard errors are estimated, too."""
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(normal), max(1, degrees)))


def alone(alpha: float, units: int, degrees: float) -> float:
    """The t value of one look at one unit, at its share of `alpha`."""
    from scipy.stats import t

    return float(t.isf(per_unit(alpha, units) / 2, max(1, degrees)))


def with_ends(effects: Floats, errors: Floats, value: float) -> Floats:
    """Estimates with both ends of their intervals [units, 3].

    Args:
        effects: estimates.
        errors: their standard errors.
        value: critical value.
    """
    return np.stack([effects, effects - value * errors, effects + value * errors], axis=1)


def settled(fitted: EffectFit, value: float, width: float) -> tuple[Bools, Bools]:
    """Units whose effect is decided, and those whose interval is narrow enough [units].

    Args:
        fitted: of the rollouts so far.
        value: critical value of the look.
        width: half-width of an interval that is narrow enough.
    """
    half = critical(value, fitted.degrees) * fitted.errors
    return np.abs(fitted.effects) > half, half <= width


def chances(looks: Sequence[int], values: Sequence[float], look: int, fitted: EffectFit) -> Floats:
    """Chance that a unit is decided at a later look, if its effect is what it now seems [units].

    Conditional power under the current trend (Lan, Simon and Halperin 1982). An estimate at a later
    look is normal around the present one, with the later look's variance times the share of it
    that is still to come. Chances of several looks are added up, which is never too little
    (the sum may pass 1).

    Stopping for want of a chance leaves the intervals as they are: their boundaries hold at all
    looks together, whatever the reason to stop at one (Jennison and Turnbull 2000, chapter 9).

    Args:
        looks: rollouts at each look.
        values: critical values of the looks.
        look: the one at hand.
        fitted: its fit.
    """
    from scipy.special import ndtr

    total: Floats = np.zeros(len(fitted.effects))
    for end, value in zip(looks[look + 1 :], values[look + 1 :], strict=True):
        seen = looks[look] / end
        error = fitted.errors * seen**0.5
        needed = critical(value, fitted.degrees) * error
        spread = np.maximum(error * (1 - seen) ** 0.5, 1e-12)
        ends = np.stack([fitted.effects - needed, -fitted.effects - needed]) / spread
        total = total + np.asarray(ndtr(ends), dtype=np.float64).sum(axis=0)
    return total


def _beyond(walk: tuple[Floats, Floats] | None, step: float, edge: float) -> float:
    from scipy.special import ndtr

    if walk is None:
        return 2 * NormalDist().cdf(-edge / step**0.5)
    sums, mass = walk
    ends = np.stack([edge - sums, edge + sums]) / -(step**0.5)
    out: Floats = np.asarray(ndtr(ends), dtype=np.float64).sum(axis=0)
    return float(mass @ out)


def _onwards(walk: tuple[Floats, Floats] | None, step: float, edge: float) -> tuple[Floats, Floats]:
    """Places and probability masses of a walk that is inside the edge after this look."""
    sums = np.linspace(-edge, edge, POINTS)
    weights = np.where(np.arange(POINTS) % 2 == 1, 4.0, 2.0)
    weights[0] = weights[-1] = 1.0
    weights *= (sums[1] - sums[0]) / 3
    if walk is None:
        density = _normal(sums, step)
    else:
        before, mass = walk
        density = _normal(sums[:, None] - before[None, :], step) @ mass
    return sums, weights * density


def _normal(distance: Floats, variance: float) -> Floats:
    density: Floats = np.exp(-(distance**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return density


def dunnett_critical(units: int, correlation: float, alpha: float = 0.05) -> float:
    """Two-sided critical value of comparisons with one control (Dunnett 1955), normal.

    Args:
        units: comparisons.
        correlation: of any two of them.
        alpha: for all of them together.
    """
    from scipy.special import ndtr

    grid = np.linspace(-8, 8, 2001)
    weight = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])
    shift, scale = correlation**0.5 * grid, (1 - correlation) ** 0.5
    low, high = 1.0, 6.0
    for _ in range(50):
        middle = (low + high) / 2
        ends = np.stack([middle - shift, -middle - shift]) / scale
        tails: Floats = np.asarray(ndtr(ends), dtype=np.float64)
        inside = tails[0] - tails[1]
        low, high = (middle, high) if (weight * inside**units).sum() < 1 - alpha else (low, middle)
    return high
