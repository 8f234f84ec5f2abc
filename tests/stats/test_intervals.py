"""Intervals and paired tests of numbers against published values and properties."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, multinomial

from harness.stats import (
    change_interval,
    detectable_lift,
    mean_interval,
    required_tasks,
    sign_flip_p,
    wilson,
)


def test_wilson_agrees_with_scipy() -> None:
    interval = binomtest(7, 20).proportion_ci(method="wilson")
    assert wilson(7, 20) == pytest.approx((interval.low, interval.high))
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("gain", "loss"), [(0.1, 0.0), (0.2, 0.0), (0.2, 0.1), (0.3, 0.3)])
def test_the_interval_of_a_difference_covers(gain: float, loss: float) -> None:
    """Exactly, by summing over all that 50 tasks can do; a t interval covers 92 % of the first."""
    n, covered = 50, 0.0
    for gains in range(n + 1):
        for losses in range(n - gains + 1):
            chance = multinomial.pmf(
                [gains, losses, n - gains - losses], n, [gain, loss, 1 - gain - loss]
            )
            if chance > 1e-6:
                low, high = changed(gains, losses, n)
                covered += chance * (low <= gain - loss <= high)
    assert 0.94 < covered < 0.99


def changed(gains: int, losses: int, n: int) -> tuple[float, float]:
    found = change_interval([1.0] * gains + [-1.0] * losses + [0.0] * (n - gains - losses))
    assert found is not None
    return found


@given(st.lists(st.sampled_from([-1.0, -0.75, -0.5, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=30))
def test_intervals_of_differences_are_mirrored_and_hold_the_mean(changes: list[float]) -> None:
    low, high = change_interval(changes) or (1.0, -1.0)
    mirrored = change_interval([-change for change in changes])
    assert mirrored == pytest.approx((-high, -low))
    assert -1 <= low <= sum(changes) / len(changes) + 1e-12
    assert sum(changes) / len(changes) - 1e-12 <= high <= 1


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_sign_flips_are_counted_exactly(units: list[int]) -> None:
    signs = list(product((-1, 1), repeat=len(units)))
    extreme = sum(
        abs(sum(s * u for s, u in zip(one, units, strict=True))) >= abs(sum(units)) for one in signs
    )
    assert sign_flip_p([unit / 4 for unit in units]) == pytest.approx(extreme / len(signs))


def test_too_fine_changes_are_drawn() -> None:
    changes = [1 / prime for prime in (101, 103, 107, 109, 113)] * 8
    assert sign_flip_p(changes) < 0.001
    assert sign_flip_p([*changes, *(-change for change in changes), 1 / 127]) > 0.5


def test_two_hundred_tasks_see_ten_points() -> None:
    lift = detectable_lift(200)
    assert lift is not None
    assert 0.09 < lift < 0.1
    assert required_tasks(lift) == pytest.approx(200, abs=1)
    assert detectable_lift(5) is None


def test_an_interval_holds_its_mean() -> None:
    low, high = mean_interval([0.0, 1.0] * 50, 2000)
    assert 0.38 < low < 0.45
    assert 0.55 < high < 0.62
    assert mean_interval([0.3]) == (0.3, 0.3)
    assert mean_interval([]) == (0.0, 0.0)
