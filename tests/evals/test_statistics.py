"""Intervals and paired tests against published values and properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from harness.core import Outcome
from harness.evals.statistics import (
    compare_paired,
    detectable_lift,
    pass_rate_error,
    pass_rate_interval,
    required_tasks,
    wilson,
)
from harness.evals.types import ItemRecord


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
    assert few == pytest.approx((-0.308, 0.308), abs=0.001)  # Clopper and Pearson: 0 of 10
    assert many[1] < 0.0125


def test_a_difference_has_the_t_interval_of_its_tasks() -> None:
    before = [item(str(n), "fail") for n in range(12)]
    after = [item(str(n), "pass" if n < 6 else "fail") for n in range(12)]
    expected = ttest_1samp([1.0] * 6 + [0.0] * 6, 0).confidence_interval()
    assert compare_paired(before, after).ci95 == pytest.approx((expected.low, expected.high))


def test_mcnemar_is_exact() -> None:
    before = [item(str(n), "fail") for n in range(30)]
    after = [item(str(n), "pass" if n < 8 else "fail") for n in range(30)]
    assert compare_paired(before, after).p == pytest.approx(2 * 0.5**8)


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
