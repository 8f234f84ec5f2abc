"""All baselines beside one evolution."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from harness.core import BadInput
from harness.evals import ItemRecord, compare_paired
from harness.evolve.baselines import NAMES, BaselineRow, Ground, run_baselines
from harness.skills import load_skill
from tests.evolve.baselines.conftest import Bench
from tests.evolve.conftest import items


async def _all(bench: Bench, ground: Ground) -> tuple[list[ItemRecord], list[BaselineRow]]:
    suite = bench.suite("selection")
    evolved = await bench.evaluate("evolved", ground.done.evolution.skill_dir, suite)
    rows = await run_baselines(NAMES, ground, suite=suite, evaluate=bench.evaluate, evolved=evolved)
    return evolved, rows


@pytest.mark.wing("rag")
def test_every_baseline_is_measured_on_the_same_tasks(bench: Bench, ground: Ground) -> None:
    evolved, rows = asyncio.run(_all(bench, ground))
    found = {row.name: row for row in rows}
    assert tuple(found) == NAMES
    assert {row.tasks for row in rows} == {24}
    skills = {name: skill for name, skill, _ in bench.seen}
    for row in rows:
        again = asyncio.run(bench.evaluate(row.name, skills[row.name], _suite(bench, row.name)))
        pairs = compare_paired(again, evolved)
        assert (row.difference, row.ci95, row.p) == (pairs.difference, pairs.ci95, pairs.p)
        assert row.pass_rate == sum(one.outcome == "pass" for one in again) / 24
        skill = skills[row.name]
        assert row.skill == (load_skill(skill).digest if skill else None)
    # The simulated analyst writes no skill from tasks alone: the seed, and it says so.
    assert found["parametric"].skill == found["seed"].skill
    assert len(found["parametric"].losses) == 1
    assert found["none"].skill is None
    assert found["memory"].skill is None
    assert len({found[name].skill for name in ("seed", "sequential-1", "random-half")}) == 3
    records = len(ground.records)
    assert (found["sequential-1"].calls, found["sequential-4"].calls) == (records, -(-records // 4))
    assert found["sequential-1"].tokens > 0
    shared = ground.done.collected.usage.tokens
    assert found["sequential-1"].shared_tokens == found["memory"].shared_tokens == shared > 0
    assert found["parametric"].shared_tokens == 0


def _suite(bench: Bench, name: str) -> Any:
    """The gate's tasks as that baseline asked them."""
    suite = bench.suite("selection")
    prompts = next(asked for seen, _, asked in bench.seen if seen == name)
    tasks = [
        task.model_copy(update={"prompt": prompt})
        for task, prompt in zip(suite.tasks, prompts, strict=True)
    ]
    return suite.model_copy(update={"tasks": tuple(tasks)})


def test_only_tasks_that_the_evolved_skill_attempted_are_run(bench: Bench, ground: Ground) -> None:
    asked: list[str] = []

    async def evaluate(name: str, skill: Path | None, suite: Any) -> list[ItemRecord]:
        asked.extend(task.id for task in suite.tasks)
        return items({task.id: False for task in suite.tasks})

    evolved = items({"selection-3": True, "selection-5": False})
    suite = bench.suite("selection")
    rows = asyncio.run(
        run_baselines(("none",), ground, suite=suite, evaluate=evaluate, evolved=evolved)
    )
    assert asked == ["selection-3", "selection-5"]
    assert (rows[0].pass_rate, rows[0].difference, rows[0].tasks) == (0.0, 0.5, 2)


@pytest.mark.parametrize(
    ("names", "evolved", "message"),
    [
        (("none", "best"), ["selection-1"], "got 'best'"),
        (("none", "sequential-4"), ["selection-1"], "'sequential-4' asks a model: give --model"),
        (("none",), ["train-1"], "no task of 'orders'"),
    ],
)
def test_nothing_is_run_for_what_cannot_be_done(
    bench: Bench, ground: Ground, names: tuple[str, ...], evolved: list[str], message: str
) -> None:
    async def never(name: str, skill: Path | None, suite: Any) -> list[ItemRecord]:
        raise AssertionError("ran before checking")

    call = run_baselines(
        cast("Any", names),
        replace(ground, model=None),
        suite=bench.suite("selection"),
        evaluate=never,
        evolved=items(dict.fromkeys(evolved, True)),
    )
    with pytest.raises(BadInput, match=message):
        asyncio.run(call)
