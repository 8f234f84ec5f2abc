"""Greedy and TPE selection: on functions that are known, and in an evolution."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evolve import EvolveSettings, run_evolution
from harness.evolve.selection import (
    CANDIDATES,
    Members,
    Trial,
    best_of,
    greedy,
    most_trials,
    tpe,
)
from tests.evolve.baselines.conftest import order_suite

# Two lessons help only together, three help alone, two hurt, the others do nothing.
ALONE = {0: 0.05, 4: 0.08, 9: 0.04, 6: -0.1, 11: -0.07}
TOGETHER = frozenset({2, 7})


class Planted:
    """A score that is known, and what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[Members] = []

    async def score(self, members: Members) -> float:
        self.asked.append(members)
        joint = 0.1 if members >= TOGETHER else 0.0
        return 0.5 + joint + sum(ALONE.get(one, 0.0) for one in members)


def test_greedy_stops_where_every_candidate_hurts() -> None:
    planted = Planted()
    trials = asyncio.run(greedy(7, planted.score))
    assert best_of(trials).members == (0, 1, 2, 3, 4, 5)
    # None, then 7, 6, ... 1 candidates: the last is the one that hurts, and it is tried last.
    assert len(trials) == len(planted.asked) == 29
    assert planted.asked[1:8] == [frozenset({one}) for one in range(7)]


def test_greedy_runs_no_more_than_it_says() -> None:
    trials = asyncio.run(greedy(5, Planted().score))
    assert len(trials) == most_trials("greedy", 40) == 16


def test_greedy_finds_a_pair_late() -> None:
    planted = Planted()
    asyncio.run(greedy(15, planted.score))
    tried = [one for one in planted.asked if len(one & TOGETHER) == 1]
    assert min(len(one) for one in tried) == 1
    # Nothing draws it to the pair before all that helps alone is in.
    assert min(len(one) for one in planted.asked if one >= TOGETHER) > 3


def test_tpe_is_better_than_as_many_random_sets_and_than_all() -> None:
    gains: list[float] = []
    full = asyncio.run(Planted().score(frozenset(range(15))))
    for seed in range(10):
        planted, rng = Planted(), random.Random(100 + seed)
        trials = asyncio.run(tpe(15, planted.score, random.Random(seed)))
        assert len(set(planted.asked)) == len(planted.asked) == len(trials)
        assert len(trials) <= most_trials("tpe", 15)
        drawn = [frozenset(one for one in range(15) if rng.random() < 0.5) for _ in trials]
        chance = max(asyncio.run(Planted().score(one)) for one in drawn)
        assert best_of(trials).score > full
        gains.append(best_of(trials).score - chance)
    assert sum(gains) / len(gains) > 0.02


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_candidates_are_tried_exhaustively_at_most(count: int) -> None:
    planted = Planted()
    trials = asyncio.run(tpe(count, planted.score, random.Random(0)))
    sets = [set(one) for size in range(count + 1) for one in combinations(range(count), size)]
    assert all(set(trial.members) in sets for trial in trials)
    assert len(trials) <= len(sets) == most_trials("tpe", count)


def test_of_equal_sets_the_larger_is_kept() -> None:
    trials = [Trial(members=(), score=0.5), Trial(members=(0, 1), score=0.5)]
    assert best_of(trials).members == (0, 1)


@pytest.fixture
def settings(tmp_path: Path) -> EvolveSettings:
    return EvolveSettings(
        out=tmp_path / "out",
        suite=order_suite(tmp_path, train=24, selection=12),
        create="order-desk",
        models=("simulated/orders", "analyst=simulated/orders-analyst?error=0.4"),
        select="greedy",
        select_tasks=12,
        sandbox="none",
    )


def test_an_evolution_keeps_the_set_that_did_best(settings: EvolveSettings) -> None:
    messages: list[str] = []
    run_evolution(settings, progress=lambda event: messages.append(f"{event.stage} {event}"))
    assert any("16 sets of lessons on 12 trial tasks, 192 attempts" in one for one in messages)
    selection = json.loads((settings.out / "report.json").read_text())["selection"]
    best = max(trial["score"] for trial in selection["trials"])
    assert any(
        trial["members"] == selection["kept"] and trial["score"] == best
        for trial in selection["trials"]
    )
    assert len(selection["candidates"]) <= CANDIDATES["greedy"]
    skill = whole(settings.out / "skill" / "order-desk")
    discarded = json.loads((settings.out / "discarded.json").read_text())
    beaten = [one for one in discarded if "the set that did best" in one["reason"]]
    assert len(beaten) == len(selection["candidates"]) - len(selection["kept"])
    assert all(one["content"] not in skill for one in beaten)
    kept = [selection["candidates"][one].rpartition("**: ")[2] for one in selection["kept"]]
    assert all(text in skill for text in kept)
    # Again: every attempt of every trial is on disk, and the skill is the same.
    again = run_evolution(settings)
    assert whole(Path(again.skill)) == skill


def whole(skill: Path) -> str:
    """The text of a skill: what few tasks taught is in its references."""
    return "\n".join(file.read_text() for file in sorted(skill.rglob("*.md")))


def test_a_selection_needs_tasks(settings: EvolveSettings, tmp_path: Path) -> None:
    asked = settings.model_copy(
        update={"suite": None, "trajectories": tmp_path, "gate": "none", "out": tmp_path / "two"}
    )
    with pytest.raises(BadInput, match="--select runs tasks"):
        run_evolution(asked)
