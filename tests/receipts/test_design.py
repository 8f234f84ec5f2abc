"""Designs, normal_boundaries and plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core import BadInput
from harness.receipts.plan import design, plan_audit
from harness.stats import critical, hadamard, half_subsets, normal_boundaries, per_unit


@pytest.mark.parametrize("order", range(1, 65))
def test_hadamard_matrices_are_orthogonal(order: int) -> None:
    matrix = hadamard(order)
    assert order <= len(matrix) <= 2 * order + 2
    assert (matrix @ matrix.T == len(matrix) * np.eye(len(matrix))).all()


def test_every_unit_is_in_half_of_each_task_and_columns_are_nearly_uncorrelated() -> None:
    tasks = tuple(f"t{number}" for number in range(20))
    rollouts = design(tasks, 24, 240, seed=1)
    present = np.array([[unit in one.units for unit in range(24)] for one in rollouts])
    assert (present.mean(axis=0) == 0.5).all()
    for task in tasks:
        own = present[[one.task == task for one in rollouts]]
        assert (own.mean(axis=0) == 0.5).all()
    off = np.corrcoef(present.T) - np.eye(24)
    assert np.abs(off).max() < 1e-9  # 240 pairs are ten whole copies
    for first, second in zip(rollouts[::2], rollouts[1::2], strict=True):
        assert (first.task, first.pair) == (second.task, second.pair)
        assert set(first.units) | set(second.units) == set(range(24))
        assert not set(first.units) & set(second.units)
    assert len({one.id for one in rollouts}) == len(rollouts)


@given(units=st.integers(1, 40), pairs=st.integers(1, 60), seed=st.integers(0, 5))
def test_a_design_depends_on_its_seed_alone(units: int, pairs: int, seed: int) -> None:
    rows = half_subsets(units, pairs, seed)
    assert rows.shape == (pairs, units)
    assert (rows == half_subsets(units, pairs, seed)).all()


def test_subsets_are_uniform() -> None:
    rows = np.concatenate([half_subsets(3, 4, seed) for seed in range(500)])
    counts = np.bincount(rows @ np.array([1, 2, 4]), minlength=8)
    assert np.abs(counts - 250).max() < 5 * (250 * 7 / 8) ** 0.5


def test_boundaries_keep_the_level_over_all_looks() -> None:
    """Known: one look is the normal quantile; looks are checked against simulated walks."""
    assert normal_boundaries((1.0,), 0.05, 1)[0] == pytest.approx(1.95996, abs=1e-4)
    assert normal_boundaries((1.0,), 0.05, 24)[0] == pytest.approx(3.0708, abs=1e-3)
    shares = (0.4, 0.7, 1.0)
    values = normal_boundaries(shares, 0.05, 1)
    assert values[0] > values[-1] > 1.96
    rng = np.random.default_rng(0)
    steps = rng.standard_normal((200_000, 3)) * np.sqrt(np.diff((0.0, *shares)))
    walks = steps.cumsum(axis=1) / np.sqrt(shares)
    crossed = np.abs(walks) > np.array(values)
    assert crossed.any(axis=1).mean() == pytest.approx(0.05, abs=0.002)
    assert crossed[:, 0].mean() == pytest.approx(0.05 * 0.4**2, abs=0.001)
    assert per_unit(0.05, 1) == pytest.approx(0.05)
    assert critical(1.96, 10) == pytest.approx(2.228, abs=1e-3)  # t table


@pytest.mark.parametrize("shares", [(), (0.5,), (0.5, 0.5, 1.0), (0.0, 1.0), (0.7, 0.4, 1.0)])
def test_shares_that_are_no_plan(shares: tuple[float, ...]) -> None:
    with pytest.raises(BadInput, match="rising shares"):
        normal_boundaries(shares, 0.05, 3)


def test_a_plan_says_what_it_can_see() -> None:
    plan = plan_audit(24, 300, 1500)
    assert (plan.tasks, plan.pairs, plan.looks) == (300, 750, (750, 1124, 1500))
    assert 0.07 < plan.half_width < 0.09 and 0.09 < plan.detectable < 0.11
    widths = [plan.model_copy(update={"tasks": tasks}).spread.split()[0] for tasks in (12, 400)]
    assert 100 * plan.half_width < float(widths[1][2:]) < 10 and 25 < float(widths[0][2:]) < 40
    assert "1500 rollouts at most" in str(plan) and "80 % power" in str(plan)
    assert plan_audit(8, 400, 60).tasks == 15  # two pairs a task, to see interactions
    with pytest.raises(BadInput, match="cannot tell 24 units apart"):
        plan_audit(24, 100, 40)
    with pytest.raises(BadInput, match="no unit"):
        plan_audit(0, 100, 400)
    with pytest.raises(BadInput, match="8 tasks or more"):
        plan_audit(3, 4, 400)


@given(units=st.integers(1, 60), tasks=st.integers(8, 500), more=st.integers(0, 400))
def test_every_look_leaves_residuals_enough_for_its_standard_errors(
    units: int, tasks: int, more: int
) -> None:
    least = max(2 * (units + 8), -(-16 * units // 3))
    plan = plan_audit(units, tasks, least + more)
    assert plan.looks
    assert all(end - min(plan.tasks, end // 2) >= 4 * units for end in plan.looks)
    with pytest.raises(BadInput, match=f"expected {least} or more"):
        plan_audit(units, tasks, least - 1)
