"""Pairs of units whose effects depend on one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.receipts.estimate import Data, Fit, cluster_sums, fit, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """Estimates of all pairs of units.

    Attributes:
        first: number of one unit of each pair [pairs].
        second: number of the other [pairs].
        effects: how much larger the effect of either unit is if the other is present [pairs].
        errors: standard errors [pairs]; nan where the rollouts say nothing.
        p: two-sided p-values, corrected for the number of pairs (Holm 1979) [pairs].
    """

    first: Ints
    second: Ints
    effects: Floats
    errors: Floats
    p: Floats


def screen(data: Data, main: Fit) -> Pairs:
    """Estimate every pair by itself, given all main effects; screened with Holm's correction.

    Both rollouts of a complementary pair have the same product of two units, so a task needs two
    pairs or more to say anything here.
    """
    import numpy as np

    units = data.present.shape[1]
    first, second = np.triu_indices(units, 1)
    signs = 2.0 * data.present - 1
    products = within(signs[:, first] * signs[:, second] / 4, main.clusters)
    bread = np.linalg.inv(main.coded.T @ main.coded)
    products -= main.coded @ (bread @ (main.coded.T @ products))
    size = (products**2).sum(axis=0)
    known = size > 1e-6 * len(signs)
    safe = np.where(known, size, 1.0)
    effects = (products.T @ main.residuals) / safe
    left = main.residuals[:, None] - products * effects
    scores = cluster_sums(products * left, main.clusters)
    groups = len(scores)
    errors = np.sqrt((scores**2).sum(axis=0) * groups / (groups - 1)) / safe
    p = np.ones(len(first))
    usable = known & (errors > 0)
    p[usable] = _two_sided(effects[usable] / errors[usable], main.degrees)
    nothing = np.full(len(first), np.nan)
    return Pairs(
        first.astype(np.int64), second.astype(np.int64),
        np.where(usable, effects, nothing), np.where(usable, errors, nothing), holm(p),
    )  # fmt: skip


def holm(p: Floats) -> Floats:
    """p-values corrected for their number (Holm 1979)."""
    import numpy as np

    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return corrected


def at_full(data: Data, flagged: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    """(effects, standard errors) of every unit where all others are present [units].

    Main effects plus half of each flagged interaction, fitted together. Pairs that were not
    flagged are taken not to interact, and the choice of pairs is taken as given: an estimate to
    read beside the main one, not instead of it.

    Raises:
        BadInput: if the rollouts cannot tell units and flagged pairs apart.
    """
    import numpy as np

    units = data.present.shape[1]
    signs = 2 * data.present - 1
    products = [(signs[:, a] * signs[:, b] + 1) // 2 for a, b in flagged]
    # A product coded -1/2 and 1/2 has the coefficient gamma / 2: what is added at the whole skill.
    wide = fit(data._replace(present=np.column_stack([data.present, *products])))
    combine = np.zeros((units, units + len(flagged)))
    combine[:, :units] = np.eye(units)
    for number, (a, b) in enumerate(flagged):
        combine[a, units + number] = combine[b, units + number] = 1.0
    covariance = combine @ wide.covariance @ combine.T
    return combine @ wide.effects, np.sqrt(np.diag(covariance))


def _two_sided(statistic: Floats, degrees: int) -> Floats:
    import numpy as np
    from scipy.stats import t

    found: Floats = np.asarray(2 * t.sf(np.abs(statistic), degrees), dtype=np.float64)
    return found
