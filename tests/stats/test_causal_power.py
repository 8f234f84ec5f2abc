"""Causes of failure, taken one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from harness.stats import explain_failures, seen_at_least


def columns(*rows: tuple[int, int, tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """(failed, passed, causes) -> what so many attempts show, and how they ended."""
    causes = 1 + max(max(shown, default=0) for *_, shown in rows)
    shown = [
        [number in present for number in range(causes)]
        for failed, passed, present in rows
        for _ in range(failed + passed)
    ]
    ended = [True] * 0
    for failed, passed, _ in rows:
        ended += [True] * failed + [False] * passed
    return np.array(shown, dtype=np.bool_), np.array(ended, dtype=np.bool_)


def test_power_and_gain_are_those_of_the_likelihood() -> None:
    """One cause: the fit of the noisy-OR by a general optimiser, with the leak held."""
    shown, failed = columns((30, 10, (0,)), (6, 54, ()))
    (selected,), _ = explain_failures(shown, failed, 1.0, 1)

    def loss(power: np.ndarray) -> float:
        survives = (1 - selected.leak) * (1 - power[0])
        return float(-(30 * np.log(1 - survives) + 10 * np.log(1 - power[0])))

    best = minimize(loss, [0.5], bounds=[(1e-6, 1 - 1e-6)])
    assert selected.power == pytest.approx(best.x[0], abs=0.03)
    assert selected.gain == pytest.approx(loss(np.array([0.0])) - best.fun, abs=0.1)


def test_a_companion_of_a_cause_is_not_taken_and_is_seen_to_be_harmless() -> None:
    shown, failed = columns((20, 0, (0, 1)), (20, 0, (0,)), (0, 6, (1,)), (0, 60, ()))
    selected, beside = explain_failures(shown, failed, 1.0, 9)
    assert [row.cause for row in selected] == [0]
    assert beside[1] < -3


def test_a_rare_cause_is_taken_and_what_all_attempts_show_is_not() -> None:
    shown, failed = columns((30, 0, (0, 2)), (2, 0, (1, 2)), (1, 67, (2,)))
    selected, _ = explain_failures(shown, failed, 1.0, 9)
    assert [row.cause for row in selected] == [0, 1]
    assert len(explain_failures(shown, failed, 1.0, 1)[0]) == 1


def test_seen_at_least_is_the_tail_of_a_binomial() -> None:
    assert seen_at_least(2, 40, 0.02) == pytest.approx(binom.sf(1, 40, 0.02))
    assert round(seen_at_least(2, 40, 0.02), 2) == 0.19
