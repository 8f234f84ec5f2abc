"""Pass rates of sample records: their intervals, and comparisons of two runs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import Outcome
from harness.evals import ItemRecord, attempts_by_task, compare_paired
from harness.stats import clustered_error, rate_interval, wilson


def item(task: str, outcome: Outcome, epoch: int = 0) -> ItemRecord:
    return ItemRecord(
        id=f"{task}@{epoch}",
        task_id=task,
        epoch=epoch,
        outcome=outcome,
        value=float(outcome == "pass"),
    )


def groups(items: list[ItemRecord]) -> list[list[float]]:
    return list(attempts_by_task(items).values())


def test_invalid_counts_in_no_mean() -> None:
    items = [item("a", "pass"), item("b", "fail"), item("c", "invalid")]
    assert rate_interval(groups(items)) == wilson(1, 2)


def test_attempts_at_one_task_are_one_cluster() -> None:
    once = [item(str(n), "pass" if n % 2 else "fail") for n in range(20)]
    copied = [item(str(n), "pass" if n % 2 else "fail", e) for n in range(20) for e in range(5)]
    low, high = wilson(10, 20) or (0, 0)
    clustered = rate_interval(groups(copied))
    assert clustered is not None
    # Five copies carry no more information than one: the interval must not shrink as if n = 100.
    assert clustered[1] - clustered[0] > 0.8 * (high - low)
    assert rate_interval(groups(once)) == (low, high)


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
    ten, hundreds = ([item(str(n), "pass") for n in range(count)] for count in (10, 300))
    few = compare_paired(ten, ten).ci95
    many = compare_paired(hundreds, hundreds).ci95
    assert few is not None
    assert many is not None
    assert few == pytest.approx((-0.278, 0.278), abs=0.001)  # Wilson: 0 of 10 gained, 0 lost
    assert many[1] < 0.013


def test_mcnemar_is_exact() -> None:
    before = [item(str(n), "fail") for n in range(30)]
    after = [item(str(n), "pass" if n < 8 else "fail") for n in range(30)]
    assert compare_paired(before, after).p == pytest.approx(2 * 0.5**8)


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
    assert clustered_error(groups(once)) == pytest.approx(expected)
    assert clustered_error(groups(four_times)) == pytest.approx(expected)
    assert clustered_error(groups(once[:1])) is None
