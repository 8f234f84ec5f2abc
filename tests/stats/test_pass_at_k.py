"""pass@k, pass^k and at least k, against enumeration of all draws."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from harness.core import Outcome
from harness.evals import ItemRecord, attempts_by_task
from harness.stats import at_least, even_spread, pass_all, pass_at, repeated


def _groups(results: dict[str, str]) -> list[list[float]]:
    names: dict[str, Outcome] = {"p": "pass", "f": "fail", "i": "invalid"}
    items = [
        ItemRecord(id=f"{task}@{epoch}", task_id=task, epoch=epoch, outcome=names[mark], value=0.0)
        for task, row in results.items()
        for epoch, mark in enumerate(row)
    ]
    return list(attempts_by_task(items).values())


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_the_formulas_are_shares_of_all_draws(passed: list[bool], k: int) -> None:
    n, c = len(passed), sum(passed)
    if k > n:
        return
    draws = list(combinations(passed, k))
    assert pass_at(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_at_least_counts_attempts() -> None:
    assert [at_least(4, 2, k) for k in (1, 2, 3)] == [1.0, 1.0, 0.0]


def test_all_figures_of_a_run() -> None:
    figures = repeated(_groups({"a": "pppp", "b": "pfff", "c": "ffff"}), 4)
    assert list(figures) == [
        "pass@2", "pass^2", "at least 2", "pass@4", "pass^4", "at least 4"
    ]  # fmt: skip
    assert figures["pass@2"].value == pytest.approx((1 + 0.5 + 0) / 3)
    assert figures["pass^2"].value == pytest.approx(1 / 3)
    assert figures["pass@4"].value == pytest.approx(2 / 3)
    assert figures["at least 2"].value == pytest.approx(1 / 3)
    interval = figures["pass@2"].ci95
    assert interval is not None
    assert interval[0] <= 0.5 <= interval[1]


def test_no_pass_among_four_tasks_does_not_prove_that_there_is_none() -> None:
    figures = repeated(_groups({"a": "ff", "b": "ff", "c": "ff", "d": "ff"}), 2)
    interval = figures["pass@2"].ci95
    assert interval is not None
    assert interval[0] == 0
    assert interval[1] > 0.5


def test_three_attempts_have_their_own_k() -> None:
    assert {"pass@2", "pass@3"} <= set(repeated(_groups({"a": "ppf"}), 3))


def test_invalid_attempts_are_none_and_a_task_with_too_few_is_left_out() -> None:
    figures = repeated(_groups({"a": "pif", "b": "ppp"}), 3)
    assert figures["pass@3"].tasks == 1
    assert figures["pass@2"].tasks == 2
    nothing = repeated(_groups({"a": "ii"}), 2)["pass@2"]
    assert (nothing.value, nothing.ci95, nothing.tasks) == (None, None, 0)


def test_a_single_attempt_has_no_such_figures() -> None:
    assert repeated(_groups({"a": "p"}), 1) == {}


@given(st.lists(st.integers(0, 60), min_size=1, max_size=6))
def test_an_even_spread_is_pearsons_chi_square(counts: list[int]) -> None:
    spread = even_spread(counts)
    if len(counts) < 2 or sum(counts) < 5 * len(counts):
        assert spread is None
        return
    expected = chisquare(counts)
    assert spread == pytest.approx((expected.statistic, expected.pvalue))
