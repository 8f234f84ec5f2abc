"""Intervals and paired tests against published values and properties."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, multinomial

from harness.core import Outcome
from harness.evals.signflip import sign_flip_p
from harness.evals.types import ItemRecord
from harness.stats.intervals import change_interval
from harness.stats.paired import (
    compare_paired,
    detectable_lift,
    pass_rate_error,
    pass_rate_interval,
    required_tasks,
    wilson,
)


def item(task: str, outcome: Outcome, epoch: int = 0) -> ItemRecord:
    return ItemRecord(
        id=f"{task}@{epoch}",
        task_id=task,
        epoch=epoch,
        outcome=outcome,
        value=float(outcome == "pass"),
    )


def test_wilson_agrees_with_scipy() -> None:
    interval = binomtest(7, 20).proportion_ci(method="wilson")
    assert wilson(7, 20) == pytest.approx((interval.low, interval.high))
    assert wilson(0, 0) is None


def test_invalid_counts_in_no_mean() -> None:
    items = [item("a", "pass"), item("b", "fail"), item("c", "invalid")]
    assert pass_rate_interval(items) == wilson(1, 2)


def test_attempts_at_one_task_are_one_cluster() -> None:
    once = [item(str(n), "pass" if n % 2 else "fail") for n in range(20)]
    copied = [item(str(n), "pass" if n % 2 else "fail", e) for n in range(20) for e in range(5)]
    low, high = wilson(10, 20) or (0, 0)
    clustered = pass_rate_interval(copied)
    assert clustered is not None
    # Five copies carry no more information than one: the interval must not shrink as if n = 100.
    assert clustered[1] - clustered[0] > 0.8 * (high - low)
    assert pass_rate_interval(once) == (low, high)


def test_paired_comparison_lists_what_changed() -> None:
    before = [item("a", "pass"), item("b", "fail"), item("c", "pass"), item("d", "invalid")]
    after = [item("a", "fail"), item("b", "pass"), item("c", "pass"), item("d", "pass")]
    result = compare_paired(before, after)
    assert (result.tasks, result.unpaired) == (3, 1)
    assert result.broken == ("a",)
    assert result.fixed == ("b",)
    assert result.difference == 0
    assert result.p == 1.0


def test_no_change_among_few_tasks_does_not_prove_that_there_is_none() -> None:
    few = compare_paired(*[[item(str(n), "pass") for n in range(10)]] * 2).ci95
    many = compare_paired(*[[item(str(n), "pass") for n in range(300)]] * 2).ci95
    assert few is not None
    assert many is not None
    assert few == pytest.approx((-0.278, 0.278), abs=0.001)  # Wilson: 0 of 10 gained, 0 lost
    assert many[1] < 0.013


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


def test_mcnemar_is_exact() -> None:
    before = [item(str(n), "fail") for n in range(30)]
    after = [item(str(n), "pass" if n < 8 else "fail") for n in range(30)]
    assert compare_paired(before, after).p == pytest.approx(2 * 0.5**8)


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


@given(st.lists(st.sampled_from(["pass", "fail", "invalid"]), max_size=30))
def test_a_run_against_itself_is_no_difference(outcomes: list[Outcome]) -> None:
    items = [item(str(n), outcome) for n, outcome in enumerate(outcomes)]
    result = compare_paired(items, items)
    assert result.difference in (None, 0)
    assert result.p in (None, 1.0)
    assert not result.broken
    assert not result.fixed


def test_the_standard_error_knows_that_attempts_at_one_task_are_not_independent() -> None:
    once = [item(str(n), "pass" if n % 2 else "fail") for n in range(20)]
    four_times = [item(str(n), "pass" if n % 2 else "fail", e) for n in range(20) for e in range(4)]
    expected = math.sqrt(0.25 / 19)
    assert pass_rate_error(once) == pytest.approx(expected)
    assert pass_rate_error(four_times) == pytest.approx(expected)
    assert pass_rate_error(once[:1]) is None
