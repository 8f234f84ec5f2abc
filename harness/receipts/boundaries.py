"""How far an estimate must be from zero at each look, for all units and all looks together.

Error spending (Lan and DeMets 1983) with the power family: by the share t of the rollouts,
alpha t^rho is spent (Jennison and Turnbull 2000, section 7.2). All units together: each gets the
level 1 - (1 - alpha)^(1/units), which keeps the joint level whatever the correlation of the
estimates (Sidak 1967; for the looks of several units together by the Gaussian correlation
inequality, Royen 2014) and loses nothing here, since the design makes them nearly uncorrelated.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from harness.core import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RHO = 2.0
"""Power of the spending: little is spent on early looks, so the last one costs little."""
POINTS = 401
"""Of the grid over which the walk's density is integrated (Simpson's rule)."""


def per_unit(alpha: float, units: int) -> float:
    """Level of one unit such that all together keep `alpha` (Sidak 1967)."""
    return 1 - (1 - alpha) ** (1 / units)


@lru_cache(maxsize=256)
def boundaries(
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
    found: list[float] = []
    walk: tuple[Floats, Floats] | None = None
    for look, share in enumerate(shares):
        before = shares[look - 1] if look else 0.0
        wanted = spent[look] - (spent[look - 1] if look else 0.0)
        edge = _edge(walk, share - before, wanted)
        found.append(edge / share**0.5)
        walk = _onwards(walk, share - before, edge)
    return tuple(found)


def critical(normal: float, degrees: int) -> float:
    """The t value with the tail of a normal one: standard errors are estimated, too."""
    from scipy.stats import norm, t

    return float(t.isf(norm.sf(normal), max(1, degrees)))


def _edge(walk: tuple[Floats, Floats] | None, step: float, wanted: float) -> float:
    """The edge that a walk that is still inside passes with probability `wanted`."""
    low, high = 0.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        if _beyond(walk, step, middle) > wanted:
            low = middle
        else:
            high = middle
    return high


def _beyond(walk: tuple[Floats, Floats] | None, step: float, edge: float) -> float:
    import numpy as np
    from scipy.special import ndtr

    if walk is None:
        return 2 * NormalDist().cdf(-edge / step**0.5)
    places, mass = walk
    ends = np.stack([edge - places, edge + places]) / -(step**0.5)
    out: Floats = np.asarray(ndtr(ends), dtype=np.float64).sum(axis=0)
    return float(mass @ out)


def _onwards(walk: tuple[Floats, Floats] | None, step: float, edge: float) -> tuple[Floats, Floats]:
    """Places and probability masses of a walk that is inside the edge after this look."""
    import numpy as np

    places = np.linspace(-edge, edge, POINTS)
    weights = np.where(np.arange(POINTS) % 2 == 1, 4.0, 2.0)
    weights[0] = weights[-1] = 1.0
    weights *= (places[1] - places[0]) / 3
    if walk is None:
        density = _normal(places, step)
    else:
        before, mass = walk
        density = _normal(places[:, None] - before[None, :], step) @ mass
    return places, weights * density


def _normal(distance: Floats, variance: float) -> Floats:
    import numpy as np

    found: Floats = np.exp(-(distance**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return found
