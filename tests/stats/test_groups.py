"""Intervals and tests of tasks that come in groups: groups are the independent units, not tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evals.interval_coverage import grouped_changes, grouped_rates
from harness.stats import change_interval, effective, rate_interval

OUTCOMES = st.lists(
    st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=6), min_size=2, max_size=8
)


@pytest.mark.parametrize("groups", [8, 12, 40])
def test_intervals_by_group_cover_where_those_by_task_do_not(groups: int) -> None:
    """600 simulated runs each; `benchmarks.evals.interval_coverage` has the whole table."""
    rng = np.random.default_rng(groups)
    rate = grouped_rates(rng, groups, 0.3, 0.75, 600)
    change = grouped_changes(rng, groups, 0.3, (0.6, 0.4, 0.1), 600)
    for row in (rate, change):
        assert 92.5 <= row["by group"]["percent"] <= 98.5, row
        assert row["by task"]["percent"] < 75, row


@given(OUTCOMES)
def test_clusters_are_at_most_as_many_values_and_at_least_one(clusters: list[list[float]]) -> None:
    count = effective(clusters)
    assert 1 - 1e-9 <= count.size <= sum(map(len, clusters)) + 1e-9
    assert count.degrees > 0
    turned = effective([row[::-1] for row in reversed(clusters)])
    assert turned == pytest.approx(count)


@given(OUTCOMES)
def test_the_interval_by_group_holds_the_rate(clusters: list[list[float]]) -> None:
    low, high = rate_interval(clusters) or (1.0, 0.0)
    rate = sum(map(sum, clusters)) / sum(map(len, clusters))
    assert 0 <= low <= rate + 1e-9
    assert rate - 1e-9 <= high <= 1


def test_groups_that_pass_or_fail_together_count_as_one_task_each() -> None:
    count = effective([[1.0] * 9, [0.0] * 9, [1.0] * 9, [1.0] * 9])
    assert count == pytest.approx((4, 3))
    # Those of one size in which everything varies count as their tasks.
    mixed = effective([[1.0, 0.0] * 4] * 6)
    assert mixed.size == pytest.approx(48)


def test_groups_of_one_task_are_no_groups() -> None:
    changes = [1.0, 0.0, 0.0, -1.0, 1.0, 1.0]
    assert change_interval(changes, groups=list("abcdef")) == change_interval(changes)


def test_one_group_says_nothing() -> None:
    assert change_interval([1.0, 1.0, 0.0], groups=["a"] * 3) is None
    assert rate_interval([[1.0, 1.0, 0.0]]) == (0.0, 1.0)
