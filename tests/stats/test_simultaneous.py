"""Several differences at once: coverage, false differences, and special cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.stats import (
    change_interval,
    detectable_lift,
    false_difference_rate,
    joint_critical,
    joint_lift,
    z_of,
)

Floats = NDArray[np.float64]
CONTROLS = 7
LADDERS = 400


def chances(rng: np.random.Generator, tasks: int, lifts: Floats) -> Floats:
    """Pass probabilities of rungs at tasks that differ, and that each rung suits differently."""
    logits = rng.normal(-0.5, 1.5, tasks) + rng.normal(0, 0.5, (len(lifts), tasks))
    return 1 / (1 + np.exp(-logits - lifts[:, None]))


def ladder(rng: np.random.Generator, tasks: int, lifts: Floats) -> tuple[Floats, list[float]]:
    """Changes [tasks, controls] of the first rung to each control, and to a second run of it."""
    rates = chances(rng, tasks, lifts)
    results = (rng.random(rates.shape) < rates).astype(np.float64)
    again = (rng.random(tasks) < rates[0]).astype(np.float64)
    return (results[0] - results[1:]).T, (results[0] - again).tolist()


def excludes(changes: list[float], value: float, critical: float) -> bool:
    low, high = change_interval(changes, critical) or (-1.0, 1.0)
    return not low <= value <= high


def test_the_same_skill_twice_is_rarely_called_different() -> None:
    """400 ladders of a skill that does something, and 400 of rungs that are all alike."""
    for lifts in (np.linspace(1.5, 0, 1 + CONTROLS), np.zeros(1 + CONTROLS)):
        rng, again, any_control = np.random.default_rng(5), 0, 0
        for _ in range(LADDERS):
            changes, repeat = ladder(rng, 50, lifts)
            critical = joint_critical(changes, draws=1000)
            again += excludes(repeat, 0, critical)
            any_control += any(excludes(column, 0, critical) for column in changes.T.tolist())
        assert again <= 0.05 * LADDERS
        if not lifts.any():  # each control would be called different in 5 % by itself
            assert any_control <= 0.075 * LADDERS
        else:
            assert any_control > 0.3 * LADDERS


def test_all_intervals_hold_together() -> None:
    lifts = np.array([0.8, 0, 0, 0.2, 0.4, 0.6, 0.8, 0.8])
    truth = chances(np.random.default_rng(3), 100_000, lifts).mean(axis=1)
    rng, hold, hold_alone = np.random.default_rng(4), 0, 0
    for _ in range(LADDERS):
        changes, _ = ladder(rng, 80, lifts)
        columns = list(zip((truth[0] - truth[1:]).tolist(), changes.T.tolist(), strict=True))
        critical = joint_critical(changes, draws=1000)
        hold += not any(excludes(column, value, critical) for value, column in columns)
        hold_alone += not any(excludes(column, value, z_of(0.975)) for value, column in columns)
    assert 0.925 * LADDERS <= hold <= 0.98 * LADDERS
    assert hold_alone < 0.9 * LADDERS  # what one interval at a time would come to


def test_what_comparisons_share_costs_less() -> None:
    rng = np.random.default_rng(2)
    changes = rng.choice((-1.0, 0.0, 1.0), size=(200, 8), p=(0.1, 0.7, 0.2))
    alike = np.repeat(changes[:, :1], 8, axis=1)
    assert joint_critical(alike) == pytest.approx(z_of(0.975), abs=0.03)
    assert joint_critical(changes) == pytest.approx(2.73, abs=0.05)  # of eight independent ones
    flat = np.zeros((200, 8))
    assert joint_critical(flat) == pytest.approx(2.73, abs=0.05)
    assert joint_critical(changes[:, :0]) == joint_critical(changes[:0]) == z_of(0.975)
    missing = changes.copy()
    missing[:150, 3] = np.nan
    assert joint_critical(missing) == pytest.approx(2.73, abs=0.05)


def test_one_comparison_has_the_interval_of_a_comparison() -> None:
    changes = [1.0] * 9 + [-1.0] * 3 + [0.0] * 40
    assert change_interval(changes, z_of(0.975)) == change_interval(changes)
    assert joint_lift(200, 1) == pytest.approx(detectable_lift(200))


def test_more_comparisons_see_less() -> None:
    lifts = [joint_lift(200, count) or 1.0 for count in (1, 3, 8)]
    assert lifts == sorted(lifts) and lifts[0] < lifts[2] < 0.2
    assert 0.25 < (joint_lift(40, 8) or 0.0) < 0.5  # more results must differ to be seen
    assert joint_lift(4, 8) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(20, 60))
def test_labels_by_chance_are_called_different_in_few_draws(
    gains: int, losses: int, still: int
) -> None:
    changes = [1.0] * gains + [-1.0] * losses + [0.0] * still
    rate = false_difference_rate(changes, 2.0)
    assert 0 <= rate <= 0.1
    assert rate == false_difference_rate([-change for change in changes], 2.0)
    assert rate >= false_difference_rate(changes, 2.7)
