"""Designs of rollouts for the effects of units, and the effects: one least-squares fit.

Design: random half-subsets of units in complementary pairs.

Of a pair, each half has the units that the other lacks. So every unit is in exactly half of the
rollouts of every task, difficulty of tasks cancels, and no interaction of
two units can pass for an effect of one (a foldover design: Box and Wilson 1951). The rows of the
pairs come from Hadamard matrices (Plackett and Burman 1946) whose columns are drawn, ordered and
signed at random for every copy: within a copy all columns are orthogonal, and each row alone is a
uniform draw from all subsets, which the estimand needs.

Estimand: how much more often a task passes with the unit than without it, averaged over all
subsets of the other units, each as likely as any other, and over tasks like those of the suite.
In cooperative games that is the Banzhaf value of the unit (Banzhaf 1965; for data and features
Wang and Jia 2023). It differs from leave-one-out, which compares the whole skill with the skill
lacking the unit: a unit that repeats another one has no leave-one-out effect but a Banzhaf one,
since the other one is missing half of the time; and a unit that only works in company has half of
its leave-one-out effect. :func:`effects_at_full` gives the effect at the
whole skill from the same rollouts, as far as interactions were found.

Model: a linear probability model with one intercept per task; the units are coded -1/2 and 1/2, so
that a coefficient is present minus absent. Standard errors are robust to what rollouts of one task,
or of one group of tasks, have in common and to unequal variances: CR2 (Bell and McCaffrey 2002).
Tasks have their number - 1 degrees of freedom, groups with the shares w of the rollouts
1 / sum w^2 - 1 (Kish 1965), both fewer if little is left for the residuals. Invalid rollouts are
left out; they are no fails.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.stats.paired import holm

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@lru_cache(maxsize=64)
def hadamard(order: int) -> Ints:
    """A Hadamard matrix of the smallest order at hand that is not below `order`, of -1 and 1.

    Orders at hand: q + 1 for primes q of the form 4k - 1 (Paley 1933), doubled as often as needed.
    """
    size = max(2, order)
    while (built := _built(size)) is None:
        size += 1
    built.flags.writeable = False
    return built


def half_subsets(units: int, pairs: int, seed: int) -> Bools:
    """The units of side 0 of every pair, [pairs, units]; side 1 has the others.

    Raises:
        BadInput: without units or pairs.
    """
    if units < 1 or pairs < 1:
        raise BadInput(f"expected at least one unit and one pair, got {units} and {pairs}")
    rng = np.random.default_rng([seed, units])
    matrix = hadamard(units)
    order = len(matrix)
    copies: list[Bools] = []
    for _ in range(-(-pairs // order)):
        columns = rng.permutation(order)[:units]
        signs = rng.choice(np.array([-1, 1]), size=units)
        copies.append((matrix[rng.permutation(order)][:, columns] * signs) > 0)
    drawn: Bools = np.concatenate(copies)[:pairs]
    return drawn


def _built(order: int) -> Ints | None:
    if order == 2:
        return np.array([[1, 1], [1, -1]])
    if order % 4:
        return None
    if all((order - 1) % divisor for divisor in range(2, int((order - 1) ** 0.5) + 1)):
        prime = order - 1
        squares = {value * value % prime for value in range(1, prime)}
        character = np.array([0] + [1 if value in squares else -1 for value in range(1, prime)])
        index = np.arange(prime)
        jacobsthal = character[(index[:, None] - index[None, :]) % prime]
        skew = np.zeros((order, order), dtype=np.int64)
        skew[0, 1:], skew[1:, 0], skew[1:, 1:] = 1, -1, jacobsthal
        return skew + np.eye(order, dtype=np.int64)
    half = _built(order // 2)
    return None if half is None else np.kron(np.array([[1, 1], [1, -1]]), half)


class EffectData(NamedTuple):
    """Valid rollouts.

    Attributes:
        tasks: number of the task of each rollout [rollouts].
        present: 1 where a unit is in the skill, else 0 [rollouts, units].
        values: what is explained: 1 for a pass, 0 for a fail; or tokens, or anything [rollouts].
        groups: number of the group of each rollout's task [rollouts]; None where tasks have none.
    """

    tasks: Ints
    present: Ints
    values: Floats
    groups: Ints | None = None

    def first(self, count: int) -> EffectData:
        """The first rollouts."""
        groups = None if self.groups is None else self.groups[:count]
        return EffectData(self.tasks[:count], self.present[:count], self.values[:count], groups)


class EffectFit(NamedTuple):
    """A fit of main effects.

    Attributes:
        effects: present minus absent [units], in units of the values.
        errors: standard errors [units].
        covariance: of the effects [units, units].
        degrees: degrees of freedom of the standard errors.
        residuals: within tasks [rollouts].
        coded: the units, coded -1/2 and 1/2, less their means within tasks [rollouts, units].
        tasks: number of the task among those at hand [rollouts].
        clusters: number of the group, or else of the task [rollouts].
    """

    effects: Floats
    errors: Floats
    covariance: Floats
    degrees: float
    residuals: Floats
    coded: Floats
    tasks: Ints
    clusters: Ints


def fit_effects(data: EffectData) -> EffectFit:
    """Estimate every unit's effect.

    Raises:
        BadInput: if the rollouts cannot tell the units apart.
    """
    count, units = data.present.shape
    tasks: Ints = np.unique(data.tasks, return_inverse=True)[1]
    clusters: Ints = tasks
    if data.groups is not None:
        clusters = np.unique(data.groups, return_inverse=True)[1]
    sizes = np.bincount(clusters)
    spare = count - len(np.bincount(tasks)) - units
    if len(sizes) < 2 or spare < 1:
        of = "tasks" if data.groups is None else "groups of tasks"
        raise BadInput(
            f"expected more valid rollouts than units and tasks together, over two {of} or more; "
            f"got {count} rollouts of {len(sizes)} {of} for {units} units: run more rollouts"
        )
    coded = within(data.present.astype(np.float64) - 0.5, tasks)
    values = within(data.values[:, None], tasks)[:, 0]
    gram = coded.T @ coded
    if np.linalg.matrix_rank(gram) < units:
        raise BadInput("the rollouts cannot tell all units apart: run more rollouts")
    bread: Floats = np.linalg.inv(gram).astype(np.float64)
    effects = bread @ (coded.T @ values)
    residuals = values - coded @ effects
    scores = adjusted_scores(coded, residuals, clusters, bread)
    covariance = bread @ (scores.T @ scores) @ bread
    independent = len(sizes) if data.groups is None else float(1 / ((sizes / count) ** 2).sum())
    errors = np.sqrt(np.diag(covariance))
    degrees = min(independent - 1, spare)
    return EffectFit(effects, errors, covariance, degrees, residuals, coded, tasks, clusters)


def within(columns: Floats, clusters: Ints) -> Floats:
    """Columns less their means within each cluster [rollouts, columns]."""
    sums = cluster_sums(columns, clusters)
    sizes = np.bincount(clusters)
    deviations: Floats = columns - (sums / sizes[:, None])[clusters]
    return deviations


def cluster_sums(columns: Floats, clusters: Ints) -> Floats:
    """Sums of columns within each cluster [clusters, columns]."""
    order = np.argsort(clusters, kind="stable")
    starts = np.searchsorted(clusters[order], np.arange(int(clusters.max()) + 1))
    return np.add.reduceat(columns[order], starts, axis=0)


def adjusted_scores(coded: Floats, residuals: Floats, clusters: Ints, bread: Floats) -> Floats:
    """Each cluster's contribution to the normal equations, freed of what the fit took away (CR2).

    Residuals are smaller than errors by the share of a cluster in its own prediction, H. Its
    residuals are multiplied by (I - H)^(-1/2), which makes the variance unbiased where the errors
    are alike and independent [clusters, units]. With the cluster's rows X and bread = L L',
    H = X L (X L)', so that the root is taken of I - (X L)' X L, which has a row a unit.
    """
    units = coded.shape[1]
    products = (coded[:, :, None] * coded[:, None, :]).reshape(-1, units * units)
    root = np.linalg.cholesky(bread)
    leverage = root.T @ cluster_sums(products, clusters).reshape(-1, units, units) @ root
    values, vectors = np.linalg.eigh(np.eye(units) - leverage)
    # A direction that the fit reproduces exactly has no residual to enlarge.
    roots = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0.0)
    sums = cluster_sums(coded * residuals[:, None], clusters) @ root
    enlarged = np.einsum("gij,gj->gi", vectors, np.einsum("gji,gj->gi", vectors, sums) * roots)
    scores: Floats = enlarged @ np.linalg.inv(root)
    return scores


class UnitPairs(NamedTuple):
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


def screen_pairs(data: EffectData, main: EffectFit) -> UnitPairs:
    """Estimate every pair by itself, given all main effects; screened with Holm's correction.

    Both rollouts of a complementary pair have the same product of two units, so a task needs two
    pairs or more to say anything here.
    """
    from scipy.stats import t

    units = data.present.shape[1]
    first, second = np.triu_indices(units, 1)
    signs = 2.0 * data.present - 1
    products = within(signs[:, first] * signs[:, second] / 4, main.tasks)
    bread = np.linalg.inv(main.coded.T @ main.coded)
    products -= main.coded @ (bread @ (main.coded.T @ products))
    size = (products**2).sum(axis=0)
    varies = size > 1e-6 * len(signs)
    safe = np.where(varies, size, 1.0)
    effects = (products.T @ main.residuals) / safe
    residuals = main.residuals[:, None] - products * effects
    scores = cluster_sums(products * residuals, main.clusters)
    groups = len(scores)
    errors = np.sqrt((scores**2).sum(axis=0) * groups / (groups - 1)) / safe
    p = np.ones(len(first))
    estimable = varies & (errors > 0)
    p[estimable] = 2 * t.sf(np.abs(effects[estimable] / errors[estimable]), main.degrees)
    return UnitPairs(
        first.astype(np.int64), second.astype(np.int64),
        np.where(estimable, effects, np.nan), np.where(estimable, errors, np.nan),
        np.array(holm(p.tolist())),
    )  # fmt: skip


def effects_at_full(data: EffectData, flagged: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    """(effects, standard errors) of every unit where all others are present [units].

    Main effects plus half of each flagged interaction, fitted together. Pairs that were not
    flagged are taken not to interact, and the choice of pairs is taken as given: an estimate to
    read beside the main one, not instead of it.

    Raises:
        BadInput: if the rollouts cannot tell units and flagged pairs apart.
    """
    units = data.present.shape[1]
    signs = 2 * data.present - 1
    products = [(signs[:, a] * signs[:, b] + 1) // 2 for a, b in flagged]
    # A product coded -1/2 and 1/2 has the coefficient gamma / 2: what is added at the whole skill.
    wide = fit_effects(data._replace(present=np.column_stack([data.present, *products])))
    combine = np.zeros((units, units + len(flagged)))
    combine[:, :units] = np.eye(units)
    for number, (a, b) in enumerate(flagged):
        combine[a, units + number] = combine[b, units + number] = 1.0
    covariance = combine @ wide.covariance @ combine.T
    return combine @ wide.effects, np.sqrt(np.diag(covariance))
