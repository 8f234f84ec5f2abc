"""The gate: significant gains only, and it says when it cannot tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evals import ItemRecord, compare_paired
from harness.evolve.gate import group_sizes, read_result, sequential_gate, task_order
from harness.evolve.settings import EvolveOptions
from harness.evolve.types import GateResult
from harness.stats import SequentialPlan
from tests.evolve.conftest import items

Arm = dict[str, bool]


def test_what_can_be_detected_is_said_beforehand() -> None:
    options = EvolveOptions(out=Path("out"))
    many, few = (
        str(SequentialPlan(tasks=tasks, discordance=options.expected_discordance))
        for tasks in (200, 30)
    )
    assert "200 tasks in at most 10 looks find a gain of 11 points with 80% power" in many
    assert "80% power needs" in few


def _arms(ids: list[str], wins: set[str], losses: set[str]) -> tuple[Arm, Arm]:
    return {one: one in losses for one in ids}, {one: one in wins for one in ids}


class _Runs:
    """Hands out prepared results and remembers what was run."""

    def __init__(
        self,
        results: dict[str, bool],
        invalid: frozenset[str] = frozenset(),
        groups: dict[str, str] | None = None,
    ) -> None:
        self.results, self.invalid, self.groups = results, invalid, groups or {}
        self.ran: list[str] = []

    async def __call__(self, tasks: tuple[str, ...]) -> list[ItemRecord]:
        self.ran += tasks
        return [
            item.model_copy(update={"outcome": "invalid"}) if item.id in self.invalid else item
            for item in (
                row.model_copy(update={"group": self.groups.get(row.task_id, "")})
                for row in items({task: self.results[task] for task in tasks})
            )
        ]


def _run(
    before: Arm, after: Arm, plan: SequentialPlan, margin: float = 0.0
) -> tuple[GateResult, _Runs]:
    first, second = _Runs(before), _Runs(after)
    result = asyncio.run(sequential_gate(first, second, before, plan, margin=margin))
    assert first.ran == second.ran
    return result, first


def test_a_clear_gain_stops_early_and_saves_runs() -> None:
    ids = [f"t{number}" for number in range(200)]
    result, runs = _run(*_arms(ids, set(ids[::2]), set()), SequentialPlan(tasks=200))
    assert (result.verdict, result.stopped) == ("accepted", "better")
    assert len(runs.ran) == result.run < 60
    assert result.adjusted is not None
    assert set(result.fixed) == set(runs.ran) & set(ids[::2])
    assert f"{len(result.fixed)} fixed, 0 broken" in result.reason


def test_the_count_of_changed_tasks_belongs_to_the_gain() -> None:
    """Each of several attempts at a task counts, not only a change from none to all."""
    ids = [f"t{number}" for number in range(24)]

    async def attempts(tasks: tuple[str, ...], passed: int) -> list[ItemRecord]:
        return [
            item.model_copy(update={"id": f"{item.task_id}@{epoch}", "epoch": epoch})
            for epoch in range(4)
            for item in items(dict.fromkeys(tasks, epoch < passed))
        ]

    result = asyncio.run(
        sequential_gate(
            lambda tasks: attempts(tasks, 3), lambda tasks: attempts(tasks, 4), ids,
            SequentialPlan(tasks=24, epochs=4),
        )
    )  # fmt: skip
    assert result.difference == pytest.approx(0.25) and not result.broken
    assert len(result.fixed) == result.tasks
    assert f"{result.tasks} fixed, 0 broken" in result.reason


def test_harm_stops_early() -> None:
    ids = [f"t{number}" for number in range(200)]
    result, runs = _run(*_arms(ids, set(), set(ids[::2])), SequentialPlan(tasks=200))
    assert (result.verdict, result.stopped) == ("refused", "worse")
    assert len(runs.ran) < 60
    assert len(result.broken) == len(set(runs.ran) & set(ids[::2]))


def test_too_few_tasks_end_without_a_verdict_and_say_what_is_missing() -> None:
    ids = [f"t{number}" for number in range(20)]
    result, runs = _run(*_arms(ids, set(ids[:4]), {ids[5]}), SequentialPlan(tasks=20))
    assert result.verdict == "not gated"
    assert len(runs.ran) == 20
    assert result.detectable is not None
    assert result.detectable > 0.3
    plan = SequentialPlan(tasks=20, lift=0.15, discordance=0.25)
    assert result.more_tasks == plan.required - 20, "for the gain that was seen"
    assert f"{result.more_tasks} more tasks would be needed to show a gain like" in result.reason


def test_harm_is_refused_on_tasks_too_few_to_show_a_gain() -> None:
    ids = [f"t{number}" for number in range(14)]
    result, _ = _run(*_arms(ids, set(), set(ids[:5])), SequentialPlan(tasks=14))
    assert (result.verdict, result.stopped) == ("refused", "worse")
    assert result.ci95 is not None and result.ci95[1] < 0
    assert result.reason.startswith("worse: -35.7 points [")
    less, _ = _run(*_arms(ids, set(), set(ids[:2])), SequentialPlan(tasks=14))
    assert less.ci95 is not None and less.ci95[1] >= 0
    assert (less.verdict, less.more_tasks > 0) == ("not gated", True)


def test_where_no_result_changed_no_more_tasks_are_asked_for() -> None:
    ids = [f"t{number}" for number in range(20)]
    result, _ = _run(*_arms(ids, set(), set()), SequentialPlan(tasks=20))
    assert (result.verdict, result.more_tasks) == ("not gated", 0)
    assert result.reason.startswith("the skill changed no result")
    few, _ = _run(*_arms(ids[:4], set(), set()), SequentialPlan(tasks=4))
    assert few.more_tasks > 50, "four alike results say little"


def test_where_nothing_was_gained_the_planned_gain_is_what_tasks_are_missing_for() -> None:
    ids = [f"t{number}" for number in range(12)]
    result, _ = _run(*_arms(ids, {ids[0]}, {ids[1]}), SequentialPlan(tasks=12))
    assert result.more_tasks > 50
    assert "more tasks would be needed to find a gain of 10 points (80% power, if" in result.reason


def test_a_margin_is_demanded_of_the_sequential_gate() -> None:
    ids = [f"t{number}" for number in range(200)]
    arms = _arms(ids, set(ids[::2]), set())
    result, _ = _run(*arms, SequentialPlan(tasks=200), margin=0.9)
    assert result.verdict == "refused"
    assert "margin" in result.reason


def test_only_valid_tasks_count_and_invalid_attempts_stand_beside_every_decision() -> None:
    ids = [f"t{number}" for number in range(33)]
    order = task_order(ids, 41)
    before, after = _arms(ids, set(ids), set())
    lost, messages = frozenset(order[:8]), list[str]()
    result = asyncio.run(
        sequential_gate(
            _Runs(before), _Runs(after, lost), ids, SequentialPlan(tasks=33), tell=messages.append
        )
    )
    assert messages[0] == (
        "look 1: need more, 3 valid tasks (11 of 33 run; invalid attempts: 0 before, 8 after)"
    )
    assert (result.tasks, result.run) == (14, 22)
    assert (result.invalid_before, result.invalid_after) == (0, 8)
    assert "on 14 valid tasks (22 of 33 run; invalid attempts: 0 before, 8 after)" in result.reason


def test_a_gate_that_cannot_stop_early_has_the_interval_of_any_two_runs() -> None:
    ids = [f"t{number}" for number in range(17)]
    before, after = _arms(ids, set(ids[:9]), {ids[9]})
    result = asyncio.run(
        sequential_gate(_Runs(before), _Runs(after), ids, SequentialPlan(tasks=17))
    )
    pairs = compare_paired(items(before), items(after))
    assert (result.difference, result.ci95) == (pairs.difference, pairs.ci95)
    assert "corrected" not in result.reason
    assert "17 valid tasks (17 of 17 run; invalid attempts: none)" in result.reason


def test_whole_groups_are_run_one_after_another_and_counted() -> None:
    ids = [f"t{number}" for number in range(48)]
    groups = {task: f"kind {number % 12}" for number, task in enumerate(ids)}
    order = task_order(ids, 41, groups)
    sizes = group_sizes(order, groups)
    assert sizes == (4,) * 12
    assert len({groups[task] for task in order[:8]}) == 2
    before, after = _arms(ids, set(ids), set())
    runs = _Runs(before, groups=groups), _Runs(after, groups=groups)
    plan = SequentialPlan(tasks=48, groups=sizes)
    result = asyncio.run(sequential_gate(*runs, ids, plan, groups=groups))
    assert result.verdict == "accepted"
    assert result.groups == len({groups[task] for task in runs[0].ran})
    assert result.ci95 is not None and result.ci95[0] > 0
    assert f"of {result.groups} groups" in result.reason
    with pytest.raises(BadInput, match="the groups as planned"):
        asyncio.run(sequential_gate(*runs, ids, SequentialPlan(tasks=48), groups=groups))


def test_the_order_depends_on_ids_and_seed_alone() -> None:
    ids = [f"t{number}" for number in range(50)]
    assert task_order(ids, 1) == task_order(reversed(ids), 1)
    assert task_order(ids, 1) != task_order(ids, 2)
    assert task_order(ids, 1) != tuple(ids)


def test_tasks_that_are_not_the_plans_are_refused() -> None:
    with pytest.raises(BadInput, match="as planned"):
        _run({"a": True}, {"a": True}, SequentialPlan(tasks=2))


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"skill": 7}', "[" * 100_000])
def test_a_result_that_is_none_is_said_to_be_damaged(text: str, tmp_path: Path) -> None:
    assert read_result(tmp_path) is None
    (tmp_path / "evolve.json").write_text(text)
    with pytest.raises(BadInput, match="is damaged"):
        read_result(tmp_path)
