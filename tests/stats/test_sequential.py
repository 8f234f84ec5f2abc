"""The sequential test: never fooled more often than promised, whatever changes and when."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core import BadInput
from harness.stats import (
    SequentialPlan,
    decide,
    exits,
    fixed_power,
    fixed_tasks,
    spending_boundaries,
    walk_boundaries,
)

COUNTS = st.lists(st.integers(0, 10), min_size=1, max_size=8)


def _sizes(counts: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.asarray(counts, dtype=np.int64)[None, :, None]


def _first_verdict(plan: SequentialPlan, changes: list[float | None]) -> tuple[str, int]:
    for look, end in enumerate(plan.look_sizes):
        decision = decide(plan, look, changes[:end])
        if decision.verdict != "need more":
            return decision.verdict, look
    raise AssertionError("the last look must decide")


@settings(deadline=None)
@given(COUNTS, st.sampled_from([0.05, 0.0125, 0.003]))
def test_boundaries_spend_at_most_the_budget_for_every_discordance(
    counts: list[int], alpha: float
) -> None:
    budget = alpha * np.arange(1, len(counts) + 1) / len(counts)
    upper, spent = spending_boundaries(_sizes(counts), budget)
    never = np.full(upper.shape, -(2**30))
    out = exits(_sizes(counts), upper, never, np.full(1, 0.5))
    assert (np.cumsum(out.up, axis=1) <= budget + 1e-12).all()
    assert np.allclose(np.cumsum(out.up, axis=1), spent)
    assert (np.diff(spent, axis=1) >= 0).all()
    assert (upper > 0).all()


def test_the_law_is_that_of_all_sign_sequences() -> None:
    plan = SequentialPlan(tasks=60, looks=3, epochs=2)
    sizes = np.asarray([[[2, 1], [1, 2], [2, 1]]])
    steps = [(1, 1, 2), (1, 2, 2), (1, 1, 2)]
    upper, spent = spending_boundaries(sizes, plan.alpha * np.asarray([1, 2, 3]) / 3)
    accepted = 0
    for signs in product((-1, 1), repeat=9):
        total, position = 0, 0
        for look, batch in enumerate(steps):
            total += sum(s * step for s, step in zip(signs[position:], batch, strict=False))
            position += len(batch)
            if total >= upper[0, look]:
                accepted += 1
                break
    assert 0 < accepted / 2**9 == pytest.approx(float(spent[0, -1]))
    assert spent[0, -1] <= plan.alpha


@settings(deadline=None, max_examples=50)
@given(COUNTS, st.floats(0.02, 0.48))
def test_more_wins_leave_upwards_more_often(counts: list[int], heads: float) -> None:
    budget = 0.05 * np.arange(1, len(counts) + 1) / len(counts)
    upper, _ = spending_boundaries(_sizes(counts), budget)
    low = exits(_sizes(counts), upper, -upper, np.full(1, heads))
    high = exits(_sizes(counts), upper, -upper, np.full(1, 1 - heads))
    assert low.up.sum() <= high.up.sum()
    assert np.allclose(low.up, high.down)


@pytest.mark.parametrize("order", ["early", "late", "bursts"])
def test_no_order_of_changing_tasks_breaks_the_promise(order: str) -> None:
    plan = SequentialPlan(tasks=200)
    rows = {"early": [20] * 3 + [0] * 7, "late": [0] * 7 + [20] * 3, "bursts": [20, 0] * 5}
    counts = _sizes(rows[order])
    seen = np.asarray(plan.look_sizes)[None, :]
    upper, spent, _ = walk_boundaries(plan, counts, seen, 1)
    out = exits(counts, upper, np.full(upper.shape, -(2**30)), np.full(1, 0.5))
    assert float(out.up.sum()) == pytest.approx(float(spent[0, -1]))
    assert 0.01 < spent[0, -1] <= plan.alpha


def _accepted(
    plan: SequentialPlan, before: np.ndarray[Any, Any], after: np.ndarray[Any, Any], corrected: bool
) -> float:
    """Share of simulated comparisons that are accepted; rates are [comparisons, tasks]."""
    rng = np.random.default_rng(33)
    moved = rng.binomial(plan.epochs, after) - rng.binomial(plan.epochs, before)
    ends = (0, *plan.look_sizes)

    def counts(value: int) -> np.ndarray[Any, Any]:
        return np.stack([(moved[:, a:b] == value).sum(axis=1) for a, b in pairwise(ends)], axis=1)

    gains, losses = (
        np.stack([counts(sign * (step + 1)) for step in range(plan.epochs)], axis=2)
        for sign in (1, -1)
    )
    sums = moved.cumsum(axis=1)[:, np.asarray(plan.look_sizes) - 1]
    seen = np.broadcast_to(np.asarray(plan.look_sizes), sums.shape)
    net = gains - losses if corrected else None
    upper, _, lower = walk_boundaries(plan, gains + losses, seen, plan.epochs, net)
    above = sums >= upper
    stop = (above | (sums <= lower)).argmax(axis=1)
    stop[~(above | (sums <= lower)).any(axis=1)] = sums.shape[1] - 1
    return float(above[np.arange(len(stop)), stop].mean())


def test_more_attempts_at_the_same_tasks_find_more() -> None:
    once, often = SequentialPlan(tasks=40), SequentialPlan(tasks=40, epochs=4)
    assert once.operating.power + 0.15 < often.operating.power < 0.8
    assert often.operating.false_acceptance <= once.alpha + 0.025  # the error of 400 simulations
    assert often.detectable is not None
    gain = f"a gain of {100 * often.detectable:.0f} points"
    assert f"4 attempts each would find {gain}" in str(once)
    assert f"{gain} with up to 80% power" in str(often)


def test_repeated_attempts_are_named_only_where_they_show_a_smaller_gain() -> None:
    plan = SequentialPlan(tasks=8)
    often = plan.at(epochs=4).detectable
    assert plan.detectable is not None and (often is None or often > plan.detectable)
    assert "attempts each" not in str(plan)


@pytest.mark.parametrize(
    ("share", "broken", "helped"),
    [(0.1, (0.95, 0.05), (0.0, 0.1)), (0.2, (0.95, 0.15), (0.75, 0.95)),
     (0.25, (1.0, 0.0), (0.0, 1 / 3))],
)  # fmt: skip
def test_a_few_tasks_that_break_do_not_hide_behind_many_small_gains(
    share: float, broken: tuple[float, float], helped: tuple[float, float]
) -> None:
    assert share * (broken[1] - broken[0]) + (1 - share) * (helped[1] - helped[0]) == pytest.approx(
        0.0, abs=1e-9
    )
    breaks = np.random.default_rng(34).random((2000, 40)) < share
    before, after = (np.where(breaks, broken[side], helped[side]) for side in (0, 1))
    plan = SequentialPlan(tasks=40, epochs=3)
    # Standard error of a share of 0.025: 0.0035.
    assert _accepted(plan, before, after, corrected=True) < 0.032
    assert _accepted(plan, before, after, corrected=False) > 0.035


@pytest.mark.parametrize("tasks", [40, 100])
def test_the_correction_for_skewed_changes_costs_little_power(tasks: int) -> None:
    """A quarter of the tasks change, most for the better, as in `benchmarks/evolution/gate.py`."""
    drawn = np.random.default_rng(35).random((2000, tasks))
    before = np.where(drawn < 0.20, 0.1, np.where(drawn < 0.6, 0.9, 0.1))
    after = np.where(drawn < 0.20, 0.9, np.where(drawn < 0.25, 0.1, before))
    plan = SequentialPlan(tasks=tasks, epochs=3)
    corrected, plain = (_accepted(plan, before, after, correct) for correct in (True, False))
    assert plain > 0.25
    assert plain - 0.03 < corrected <= plain


def test_decisions_are_corrected_for_skewed_changes() -> None:
    spread: list[float | None] = [*[1 / 3] * 14, -1.0, *[0.0] * 5]
    plan = SequentialPlan(tasks=20, looks=1, epochs=3)
    decision = decide(plan, 0, spread)
    assert decision.verdict != "accept"
    assert decision.p >= plan.alpha
    mirrored = decide(plan, 0, [-change if change else 0.0 for change in spread])
    assert mirrored.verdict != "accept"


def test_candidates_share_the_error() -> None:
    plan = SequentialPlan(tasks=200, candidates=16)
    counts = _sizes([5] * 10)
    _, spent, _ = walk_boundaries(plan, counts, np.asarray(plan.look_sizes)[None, :], 1)
    assert 0 < spent[0, -1] <= plan.alpha / 16


def test_the_default_plan_has_power_and_saves_tasks() -> None:
    plan = SequentialPlan(tasks=200)
    does = plan.operating
    assert does.power >= 0.7
    assert plan.detectable is not None and plan.detectable < 0.115
    assert does.false_acceptance <= plan.alpha
    same = fixed_tasks(0.1, 0.25, plan.alpha, does.power)
    assert does.tasks_null < 0.62 * same
    assert does.tasks_lift < 0.8 * same


def test_a_fixed_test_needs_what_it_says() -> None:
    tasks = fixed_tasks(0.1, 0.25, 0.05, 0.8)
    assert fixed_power(tasks, 0.1, 0.25, 0.05) >= 0.8
    assert fixed_power(tasks - 1, 0.1, 0.25, 0.05) < 0.8


def test_a_plan_says_how_many_tasks_are_missing() -> None:
    plan = SequentialPlan(tasks=50)
    assert plan.operating.power < 0.5
    assert plan.at(tasks=plan.required).operating.power >= 0.8
    assert f"80% power needs {plan.required} tasks" in str(plan)


def test_a_plan_with_few_tasks_says_which_gain_they_show() -> None:
    """Not with which power they would miss a smaller one; one look has no average."""
    plan = SequentialPlan(tasks=14)
    assert plan.detectable is not None
    assert plan.at(lift=plan.detectable).operating.power >= 0.8
    gain = f"{100 * plan.detectable:.0f}"
    assert str(plan).startswith(
        f"14 tasks in 1 look find a gain of {gain} points with 80% power, if {gain}% of the results"
    )
    assert "on average" not in str(plan)
    assert "4 tasks in 1 look find no gain with 80% power" in str(SequentialPlan(tasks=4))


def test_early_stops_upwards_and_downwards() -> None:
    plan = SequentialPlan(tasks=200)
    won, lost = [1.0, 0.0] * 100, [-1.0, 0.0] * 100
    assert _first_verdict(plan, list(won)) == ("accept", 0)
    assert decide(plan, 0, lost[:20]).why == "worse"
    nothing = [1.0, -1.0, 0.0, 0.0] * 50
    verdict, look = _first_verdict(plan, list(nothing))
    assert verdict == "reject"
    assert look < 9


def test_few_tasks_are_not_gated() -> None:
    plan = SequentialPlan(tasks=20)
    changes: list[float | None] = [1.0, 1.0, 1.0, -1.0, *[0.0] * 16]
    assert _first_verdict(plan, changes)[0] == "not gated"


def test_accepted_lift_is_corrected_downwards_and_p_fits_the_verdict() -> None:
    plan = SequentialPlan(tasks=200)
    changes: list[float | None] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0] * 20
    _, look = _first_verdict(plan, changes)
    decision = decide(plan, look, changes[: plan.look_sizes[look]])
    assert decision.verdict == "accept"
    assert decision.p <= plan.alpha
    assert decision.adjusted is not None
    assert decision.difference is not None
    assert decision.ci95 is not None
    assert 0 < decision.adjusted < decision.difference
    assert decision.ci95[0] < decision.adjusted < decision.ci95[1]


def test_invalid_pairs_and_repeated_attempts_count_for_what_they_are() -> None:
    plan = SequentialPlan(tasks=30, epochs=3)
    changes = [None, 1 / 3, -2 / 3, 0.5, 1.0, *[0.0] * 5]
    decision = decide(plan, 0, changes)
    assert decision.tasks == 9
    assert decision.difference == pytest.approx((1 / 3 - 2 / 3 + 0.5 + 1.0) / 9)


@pytest.mark.parametrize(("look", "changes"), [(9, [0.0]), (0, [0.0]), (0, [2.0] * 10)])
def test_what_does_not_fit_the_plan_is_refused(look: int, changes: list[float | None]) -> None:
    with pytest.raises(BadInput, match=r"expected|decides"):
        decide(SequentialPlan(tasks=50), look, changes)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=20, max_size=20))
def test_a_win_more_never_hurts(changes: list[float]) -> None:
    plan = SequentialPlan(tasks=20, looks=1)
    rank = {"reject": 0, "not gated": 0, "accept": 1}
    better = [1.0 if change == -1.0 else change for change in changes]
    before, after = decide(plan, 0, list(changes)), decide(plan, 0, list(better))
    assert rank[before.verdict] <= rank[after.verdict]
    assert before.p >= after.p - 1e-12 or before.why in ("futile", "worse")
