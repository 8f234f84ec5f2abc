"""Planted worlds: what they are made of, what their runs and analysts show, and their JSON."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.core import BadInput
from harness.evolve import AnalystRecord
from lab.worlds import (
    World,
    analyse,
    attempt,
    load_ranges,
    load_world,
    make_world,
    stances,
    tasks,
    trajectory,
    visible,
)

SEEDS = range(12)


def edited(world: World, **changes: object) -> World:
    return World.model_validate(json.loads(world.model_dump_json()) | changes)


def records(world: World, error: float, count: int = 150) -> list[AnalystRecord]:
    return [analyse(world, attempt(world, task), error) for task in tasks(world, count, "train")]


def test_a_seed_always_gives_the_same_and_another_seed_another() -> None:
    assert make_world(3) == make_world(3)
    assert records(make_world(3), 0.25, 20) == records(make_world(3), 0.25, 20)
    assert make_world(3) != make_world(4)


def test_a_world_can_be_dumped_and_loaded(tmp_path: Path) -> None:
    world, file = make_world(5), tmp_path / "world.json"
    file.write_text(world.model_dump_json())
    assert load_world(file) == world
    assert records(load_world(file), 0.4, 20) == records(world, 0.4, 20)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"noise": "much"}))
    with pytest.raises(BadInput, match="noise"):
        load_world(file)
    signs = json.loads(world.model_dump_json())["signs"]
    signs[0]["kinds"] = ["guesses"]
    file.write_text(json.dumps(json.loads(world.model_dump_json()) | {"signs": signs}))
    with pytest.raises(BadInput, match="guesses"):
        load_world(file)


def test_ranges_of_a_file_take_the_place_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "ranges.json"
    file.write_text('{"causes": {"low": 9, "high": 9}}')
    world = make_world(1, load_ranges(file))
    assert sum(sign.role == "cause" for sign in world.signs) == 9
    file.write_text('{"cause": {"low": 9, "high": 9}}')
    with pytest.raises(BadInput, match=r"cause.*expected some of"):
        load_ranges(file)


def test_worlds_hold_what_was_asked_for() -> None:
    worlds = [make_world(seed) for seed in range(60)]
    counts = [Counter(sign.role for sign in world.signs) for world in worlds]
    rates = [world.rate(sign) for world in worlds for sign in world.signs if sign.role == "cause"]
    assert {count["cause"] for count in counts} == set(range(4, 17))
    assert all(0.0099 < rate < 0.41 for rate in rates)
    assert 0.3 < sum(rate <= 0.05 for rate in rates) / len(rates) < 0.6
    assert all(1 <= count["habit"] <= 4 and count["friend"] <= 4 for count in counts)
    signs = [sign for world in worlds for sign in world.signs if sign.role == "cause"]
    assert any(sign.kinds for sign in signs) and any(sign.present < 1 for sign in signs)
    assert any(sign.elsewhere for sign in signs) and any(sign.hidden_by for sign in signs)


def test_reserved_words_are_for_seeds_that_are_quoted() -> None:
    reserved = {"temperatures", "links", "charts", "dashes", "chapters"}
    objects = [
        {text for sign in make_world(seed).signs for text in sign.objects}
        for seed in (*range(40), *range(2_000_000, 2_000_040))
    ]
    assert not any(words & reserved for words in objects[:40])
    assert any(words & reserved for words in objects[40:])


@pytest.mark.parametrize("seed", SEEDS)
def test_causes_strike_as_often_as_planted(seed: int) -> None:
    world = edited(make_world(seed), luck=0.0, noise=0.0)
    runs = [attempt(world, task) for task in tasks(world, 400, "train")]
    for sign in world.signs:
        if sign.role == "cause" and not sign.hidden_by:
            share = visible(runs)[sign.name] / len(runs)
            assert share == pytest.approx(world.rate(sign), abs=0.085)
    assert all(run.passed != any(s.struck for s in run.shown) for run in runs)


def test_a_cause_that_strikes_hides_another() -> None:
    hiding = [world for seed in range(30) for world in [make_world(seed)]
              if any(sign.hidden_by for sign in world.signs)]  # fmt: skip
    for world in hiding[:5]:
        hidden = {sign.name: sign.hidden_by for sign in world.signs if sign.hidden_by}
        for task in tasks(world, 100, "train"):
            shown = {show.sign: show.struck for show in attempt(world, task).shown}
            assert not any(shown.get(by) and name in shown for name, by in hidden.items())


@pytest.mark.parametrize("seed", SEEDS)
def test_false_friends_and_habits_are_what_they_are_called(seed: int) -> None:
    world = make_world(seed)
    runs = [attempt(world, task) for task in tasks(world, 300, "train")]
    for sign in world.signs:
        shows = [any(show.sign == sign.name and not show.right for show in run.shown)
                 for run in runs]  # fmt: skip
        if sign.role == "habit":
            assert sum(any(s.sign == sign.name for s in run.shown) for run in runs) > 240
        if sign.role == "friend":
            struck = [any(s.sign == sign.beside and s.struck for s in run.shown) for run in runs]
            with_it = [show for show, cause in zip(shows, struck, strict=True) if cause]
            without = [show for show, cause in zip(shows, struck, strict=True) if not cause]
            if len(with_it) > 10:
                assert sum(with_it) / len(with_it) > sum(without) / len(without) + 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_analysts_without_errors_say_the_truth_about_failures(seed: int) -> None:
    world = edited(make_world(seed), chatter=0.0)
    for task in tasks(world, 150, "train"):
        run = attempt(world, task)
        record = analyse(world, run, 0.0)
        meanings = [stances(world, item.line) for item in record.items]
        struck = [show.sign for show in run.shown if show.struck]
        assert len(record.items) <= 3
        assert len([name for name in struck if {name: True} in meanings]) >= min(len(struck), 1)
        if record.kind == "error":
            assert all(all(remedy.values()) for remedy in meanings)


def test_analysts_err_as_often_as_they_are_told_to() -> None:
    struck = right = opposite = 0
    for seed in range(20):
        world = make_world(seed)
        for task in tasks(world, 100, "train"):
            run = attempt(world, task)
            causes = [show.sign for show in run.shown if show.struck]
            if len(causes) == 1:
                meanings = [stances(world, item.line) for item in analyse(world, run, 0.25).items]
                struck += 1
                right += {causes[0]: True} in meanings
                opposite += {causes[0]: False} in meanings
    # Neither missed, nor mixed up, nor turned round: 0.75 * 0.75 * (1 - 0.25 / 4).
    assert right / struck == pytest.approx(0.53, abs=0.06)
    assert 0 < opposite / struck < 0.08


@pytest.mark.parametrize("seed", SEEDS)
def test_quotes_stand_in_the_transcript_where_none_is_loose(seed: int) -> None:
    world = edited(make_world(seed), loose=0.0)
    for task in tasks(world, 40, "train"):
        run = attempt(world, task)
        log = trajectory(world, run)
        text = json.dumps(log.model_dump(mode="json"), ensure_ascii=False)
        assert log.outcome == ("pass" if run.passed else "fail")
        assert log.task_id == task.task.id
        for item in analyse(world, run, 0.4).items:
            assert all(json.dumps(quote)[1:-1] in text for quote in item.evidence)
