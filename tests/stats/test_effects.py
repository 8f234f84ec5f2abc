"""Effects of all units from one fit, their errors, and interactions."""

from __future__ import annotations

import numpy as np
import pytest

from harness.core import BadInput
from harness.stats import (
    EffectData,
    critical,
    effects_at_full,
    fit_effects,
    half_subsets,
    holm,
    normal_boundaries,
    screen_pairs,
)

UNITS, TASKS = 6, 40
EFFECTS = np.array([0.2, -0.2, 0.0, 0.0, 0.1, 0.0])


def planted(seed: int, pairs: int = 240, clash: float = 0.0) -> EffectData:
    """Passes of a linear probability model; units 2 and 3 depend on one another by `clash`."""
    rng = np.random.default_rng(seed)
    half = half_subsets(UNITS, pairs, seed)
    present = np.stack([half, ~half], axis=1).reshape(-1, UNITS).astype(np.int64)
    tasks = np.repeat(np.arange(pairs) % TASKS, 2)
    signs = 2 * present - 1
    chance = rng.uniform(0.4, 0.6, TASKS)[tasks] + signs @ EFFECTS / 2
    chance = np.clip(chance + clash * signs[:, 2] * signs[:, 3] / 4, 0, 1)
    return EffectData(tasks, present, (rng.random(len(tasks)) < chance).astype(np.float64))


def test_without_noise_the_effects_are_exact() -> None:
    data = planted(1)
    exact = data._replace(values=data.tasks * 0.3 + data.present @ EFFECTS)
    fitted = fit_effects(exact)
    assert fitted.effects == pytest.approx(EFFECTS)
    assert fitted.errors == pytest.approx(np.zeros(UNITS), abs=1e-9)


def test_errors_are_those_of_dummies_and_clusters_done_by_hand() -> None:
    """Fit with one column a task, and CR2 with explicit matrices, cluster by cluster."""
    data = planted(2, pairs=60)
    fitted = fit_effects(data)
    dummies = np.eye(TASKS)[data.tasks]
    full = np.hstack([data.present - 0.5, dummies])
    inverse = np.linalg.inv(full.T @ full)
    coefficients = inverse @ full.T @ data.values
    residuals = data.values - full @ coefficients
    meat = np.zeros((full.shape[1], full.shape[1]))
    for task in range(TASKS):
        rows = full[data.tasks == task]
        hat = rows @ inverse @ rows.T
        values, vectors = np.linalg.eigh(np.eye(len(rows)) - hat)
        roots = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0.0)
        score = rows.T @ (vectors * roots) @ vectors.T @ residuals[data.tasks == task]
        meat += np.outer(score, score)
    expected = np.sqrt(np.diag(inverse @ meat @ inverse))[:UNITS]
    assert fitted.effects == pytest.approx(coefficients[:UNITS])
    assert fitted.errors == pytest.approx(expected)


def test_intervals_hold_together() -> None:
    """Simultaneous coverage of 200 simulated audits; the benchmark runs thousands."""
    value = normal_boundaries((1.0,), 0.05, UNITS)[0]
    missed = 0
    for seed in range(200):
        fitted = fit_effects(planted(seed))
        half = critical(value, fitted.degrees) * fitted.errors
        missed += bool((np.abs(fitted.effects - EFFECTS) > half).any())
    assert 2 <= missed <= 20  # 10 expected


def test_too_few_rollouts_are_refused() -> None:
    data = planted(3)
    with pytest.raises(BadInput, match="more valid rollouts than units and tasks together"):
        fit_effects(data.first(12))
    same = data._replace(present=np.repeat(data.present[:, :1], UNITS, axis=1))
    with pytest.raises(BadInput, match="cannot tell all units apart"):
        fit_effects(same)


def test_a_planted_interaction_is_flagged_and_gives_the_effect_at_the_whole_skill() -> None:
    data = planted(4, pairs=1200, clash=0.4)
    main = fit_effects(data)
    pairs = screen_pairs(data, main)
    flagged = [(int(pairs.first[i]), int(pairs.second[i])) for i in np.flatnonzero(pairs.p < 0.05)]
    assert flagged == [(2, 3)]
    pair = int(np.flatnonzero((pairs.first == 2) & (pairs.second == 3))[0])
    assert abs(pairs.effects[pair] - 0.4) < 4 * pairs.errors[pair]
    effects, errors = effects_at_full(data, flagged)
    wanted = EFFECTS + 0.2 * np.array([0, 0, 1, 1, 0, 0])
    assert (np.abs(effects - wanted) < 4 * errors).all()
    assert (np.abs(main.effects - EFFECTS) < 4 * main.errors).all()
    assert not (screen_pairs(planted(5), fit_effects(planted(5))).p < 0.05).any()


def test_one_pair_a_task_says_nothing_about_interactions() -> None:
    data = planted(6, pairs=TASKS)
    pairs = screen_pairs(data, fit_effects(data))
    assert np.isnan(pairs.errors).all() and (pairs.p == 1).all()


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
