"""Intervals and tests of tasks that come in groups: groups are the independent units, not tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.evals.interval_coverage import (
    group_sizes,
    grouped_changes,
    grouped_rates,
    share,
    shared_chances,
)
from harness.stats import (
    EffectData,
    SequentialPlan,
    alone,
    change_interval,
    decide,
    effective,
    fit_effects,
    half_subsets,
    joint_critical,
    rate_interval,
    with_ends,
)
from harness.stats.sequential import stopped

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


JOINT_RATES = (0.7, 0.3, 0.5, 0.6, 0.7)
"""Pass rate of the condition that is compared, and of those that it is compared with."""
EFFECTS = (0.1, 0.0, -0.1, 0.05, 0.0, 0.0)


def joint_changes(rng: np.random.Generator, groups: int, alike: float, runs: int) -> dict[str, Any]:
    """Share of ladders whose intervals all hold the truth, by group and by task."""
    hits = {"by group": 0, "by task": 0}
    for _ in range(runs):
        sizes = group_sizes(rng, groups)
        index = np.repeat(np.arange(groups), sizes)
        upper, *others = (
            (rng.random(len(index)) < shared_chances(rng, rate, alike, groups)[index]).astype(float)
            for rate in JOINT_RATES
        )
        changes = np.stack([upper - lower for lower in others], axis=1)
        for side, names in (("by group", [*map(str, index)]), ("by task", [])):
            critical = joint_critical(changes, draws=2000, groups=names)
            ends = [change_interval(row, critical, names) for row in changes.T.tolist()]
            hits[side] += all(
                low <= JOINT_RATES[0] - rate <= high
                for rate, (low, high) in zip(JOINT_RATES[1:], filter(None, ends), strict=True)
            )
    shares = {side: share(count, runs) for side, count in hits.items()}
    return {"groups": groups, "alike": alike, **shares}


def grouped_effects(
    rng: np.random.Generator, groups: int, deviation: float, runs: int
) -> dict[str, Any]:
    """Share of units whose interval holds their effect, by group and by task."""
    hits, units = {"by group": 0, "by task": 0}, len(EFFECTS)
    for _ in range(runs):
        index = np.repeat(np.arange(groups), group_sizes(rng, groups))
        tasks = np.tile(np.arange(len(index)), 4)
        half = half_subsets(units, 2 * len(index), int(rng.integers(1 << 30)))
        present = np.concatenate([half, ~half]).astype(np.int64)
        does = np.asarray(EFFECTS) + deviation * rng.standard_normal((groups, units))
        level = 0.5 + 0.1 * rng.standard_normal(groups)
        chance = level[index[tasks]] + ((present - 0.5) * does[index[tasks]]).sum(axis=1)
        passed = (rng.random(len(tasks)) < chance).astype(float)
        for side, names in (("by group", index[tasks]), ("by task", None)):
            fitted = fit_effects(EffectData(tasks, present, passed, names))
            ends = with_ends(fitted.effects, fitted.errors, alone(0.05, 1, fitted.degrees))
            hits[side] += int(((ends[:, 1] <= EFFECTS) & (ends[:, 2] >= EFFECTS)).sum())
    shares = {side: share(count, runs * units) for side, count in hits.items()}
    return {"groups": groups, "deviation": deviation, **shares}


def test_intervals_of_ladders_and_audits_cover_by_group() -> None:
    """100 simulated ladders of four controls, and 40 audits of six units."""
    joint = joint_changes(np.random.default_rng(8), 8, 0.2, 100)
    effects = grouped_effects(np.random.default_rng(8), 8, 0.2, 40)
    for row in (joint, effects):
        assert 91 <= row["by group"]["percent"] <= 99, row
        assert row["by task"]["percent"] < 80, row


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


@pytest.mark.parametrize("groups", [8, 12, 40])
def test_a_gate_by_group_accepts_no_luck_of_whole_groups(groups: int) -> None:
    """Every group passes or fails nearly as a whole, anew with each side: nothing has an effect."""
    rng = np.random.default_rng(groups)
    sizes = np.maximum(2, np.rint(rng.lognormal(np.log(10), 0.6, groups))).astype(int)
    index = np.repeat(np.arange(groups), sizes)
    before, after = (
        rng.random((2000, len(index))) < rng.beta(0.3, 0.2, (2000, groups))[:, index]
        for _ in range(2)
    )
    moved = after.astype(np.int64) - before
    plan = SequentialPlan(tasks=len(index), groups=tuple(sizes.tolist()))
    by_group = stopped(plan, moved)[0].mean()
    by_task = stopped(plan.model_copy(update={"groups": ()}), moved)[0].mean()
    assert by_group <= 0.03  # standard error 0.0035
    assert by_task > 0.08


def gates_by_group(
    groups: int, alike: float, effect: tuple[float, float, float], gates: int
) -> tuple[float, float]:
    """Share of gates whose interval holds the true lift, and share that accepts.

    Args:
        groups: of each gate's tasks, which share their chances.
        alike: intraclass correlation of outcomes.
        effect: pass rate before, share of the fails that are fixed, and of the passes that break.
        gates: that are simulated.
    """
    rng = np.random.default_rng(groups)
    rate, gain, loss = effect
    holds = accepted = 0
    for _ in range(gates):
        sizes = group_sizes(rng, groups)
        index = np.repeat(np.arange(groups), sizes)
        passes, fixes, breaks = (
            rng.random(len(index)) < shared_chances(rng, share, alike, groups)[index]
            for share in effect
        )
        changes = np.where(passes, -1.0 * breaks, 1.0 * fixes).tolist()
        plan = SequentialPlan(tasks=len(index), groups=tuple(sizes.tolist()))
        looks = (decide(plan, look, changes[:end]) for look, end in enumerate(plan.look_sizes))
        decision = next(look for look in looks if look.verdict != "need more")
        low, high = decision.ci95 or (-1.0, 1.0)
        holds += low <= (1 - rate) * gain - rate * loss <= high
        accepted += decision.verdict == "accept"
    return holds / gates, accepted / gates


def test_the_interval_of_some_gates_by_group_covers() -> None:
    assert gates_by_group(12, 0.2, (0.5, 0.2, 0.2), 8) == (1.0, 0.0)
    assert gates_by_group(12, 0.2, (0.6, 0.6, 0.05), 8) == (1.0, 0.5)


@pytest.mark.full
def test_the_interval_of_a_gate_by_group_covers() -> None:
    """`docs/concepts/gate.md` has more: 120 gates of each of 18 kinds."""
    covers, accepted = gates_by_group(12, 0.2, (0.5, 0.2, 0.2), 40)
    assert covers >= 0.9 and accepted <= 0.1
    assert gates_by_group(12, 0.2, (0.6, 0.6, 0.05), 40)[0] >= 0.9


def test_a_look_ends_with_a_group() -> None:
    plan = SequentialPlan(tasks=120, groups=(7, 13) * 6)
    ends = np.cumsum(plan.groups).tolist()
    assert len(plan.look_sizes) == 3
    assert set(plan.look_sizes) <= set(ends)
    assert plan.look_sizes[-1] == 120
    assert "120 tasks of 12 groups" in str(plan)
    larger = plan.at(tasks=150)
    assert sum(larger.groups) == 150
    with pytest.raises(ValueError, match="groups of 10 tasks"):
        SequentialPlan(tasks=10, groups=(4, 5))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 1.0, None]), min_size=24, max_size=24
    ),
    st.sampled_from([(), (6,) * 4, (3, 9, 4, 8), (2,) * 12]),
    st.sampled_from([1, 2]),
)
def test_a_gate_accepts_exactly_where_its_interval_is_above_zero(
    changes: list[float | None], groups: tuple[int, ...], epochs: int
) -> None:
    if epochs == 1:
        changes = [change and float(np.sign(change)) for change in changes]
    plan = SequentialPlan(tasks=24, groups=groups, epochs=epochs)
    for look, end in enumerate(plan.look_sizes):
        decision = decide(plan, look, changes[:end])
        if decision.verdict != "need more" and decision.ci95 is not None:
            assert (decision.verdict == "accept") == (decision.ci95[0] > 0)
            break


def test_an_accepted_gain_of_a_few_tasks_has_no_interval_that_holds_zero() -> None:
    """Ten of 28 tasks are fixed and one is broken."""
    plan = SequentialPlan(tasks=28, looks=1)
    decision = decide(plan, 0, [1.0] * 10 + [-1.0] + [0.0] * 17)
    assert decision.verdict == "accept"
    assert decision.ci95 is not None and decision.ci95[0] > 0
