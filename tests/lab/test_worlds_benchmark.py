"""The benchmark on planted worlds: what methods are shown, what is counted, and its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evolution import worlds
from benchmarks.evolution.recovery.arena import Arena, BudgetSpent, Case
from benchmarks.evolution.recovery.conditions import CONDITIONS, evolved, plain, plain_cut, refined
from benchmarks.evolution.recovery.rivals.skillopt import joined
from harness.skills import count_tokens
from lab.worlds import make_world, stances


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(make_world(7), error=0.1, train=60, held_out=60)


def test_the_plain_list_has_every_lesson_once(case: Case) -> None:
    lessons = {item.line for record in case.records for item in record.items}
    assert set(plain(case).splitlines()) == {f"- {lesson}" for lesson in lessons}
    failed = [record for record in case.records if record.kind == "error"]
    assert len(failed) == sum(not run.passed for run in case.attempts)
    assert set(plain(case, "error").splitlines()) == {
        f"- {item.line}" for record in failed for item in record.items
    }


def test_ours_is_what_the_command_line_makes(case: Case) -> None:
    skill = evolved(case, "combined")
    assert skill.startswith("---")
    assert case.judge.measure(skill).recall
    assert count_tokens(plain_cut(case)) <= count_tokens(skill) < count_tokens(plain(case))


def test_refinement_says_nothing_twice_and_contradicts_nothing(case: Case) -> None:
    meanings = [stances(case.world, line) for line in refined(case).splitlines()]
    single = [next(iter(meaning)) for meaning in meanings if len(meaning) == 1]
    assert len(single) == len(set(single))


def test_a_rival_has_as_many_calls_as_it_was_given(case: Case) -> None:
    arena = Arena(case, budget=3)
    tried = [arena.attempt("", task) for task in (arena.train[0], arena.train[0], arena.train[1])]
    assert (arena.calls, tried[0]) == (2, tried[1])
    assert arena.lessons(tried[0]) == [item.lesson for item in case.records[0].items]
    with pytest.raises(BudgetSpent):
        arena.lessons(tried[2])


def test_edits_that_mean_the_same_are_joined(case: Case) -> None:
    arena = Arena(case, budget=0)
    lessons: dict[frozenset[tuple[str, bool]], list[tuple[str, int]]] = {}
    for item in (item for record in case.records for item in record.items):
        if meaning := stances(case.world, item.line):
            lessons.setdefault(frozenset(meaning.items()), []).append((item.line, 1))
    first, second = sorted(lessons.values(), key=len)[-2:]
    assert joined(arena, [*first, *second])[0] == {
        "op": "append", "content": second[0][0], "support_count": len(second),
    }  # fmt: skip


@pytest.mark.wing("rag")  # the encoder of the memory
def test_results_are_kept_and_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"

    def run(methods: str) -> dict[str, Any]:
        options = ["--seeds", "1:3", "--errors", "0,0.4", "--train", "20", "--methods", methods]
        monkeypatch.setattr("sys.argv", ["worlds", *options, "--out", str(file)])
        worlds.main()
        return json.loads(capsys.readouterr().out)

    assert {row["method"] for row in run("none,plain")["methods"]} == {"none", "plain"}
    before = file.read_text()
    again = run("none,plain,memory")
    assert file.read_text().startswith(before)
    assert len(file.read_text().splitlines()) == 12
    assert {row["method"] for row in again["methods"]} == {"none", "plain", "memory"}
    lines = {(row["error"], row["method"]): row for row in again["methods"]}
    assert lines[0.0, "plain"]["minus_plain"] == 0
    assert lines[0.0, "plain"]["tokens"] > 0


def test_an_unknown_method_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["worlds", "--seeds", "1:2", "--methods", "ours,hope"])
    with pytest.raises(SystemExit, match="hope"):
        worlds.main()


def row(world: int, method: str, passed: float, **more: object) -> dict[str, Any]:
    facts = {"causes": 4 + world, "rare": 0.5, "failed": 80, "distraction": 0.001, "train": 200}
    return {"world": str(world), "error": 0.1, "method": method, "passed": passed, **facts, **more}


def test_methods_are_compared_world_by_world() -> None:
    rows = [row(1, "ours", 0.7), row(1, "plain", 0.6), row(2, "ours", 0.9), row(3, "plain", 0.1)]
    assert worlds.paired(rows, "ours", "plain") == (pytest.approx(0.1), 0.0, 1)
    rows += [row(2, "plain", 0.6)]
    mean, half, count = worlds.paired(rows, "ours", "plain") or (0, 0, 0)
    assert (mean, count) == (pytest.approx(0.2), 2)
    assert half == pytest.approx(1.96 * 0.1, abs=0.001)
    assert worlds.paired(rows, "ours", "gepa") is None


def test_regions_divide_the_worlds() -> None:
    rows = [row(world, "ours", 0.5) for world in range(12)]
    regions = worlds.regions(rows)
    assert {label: len(part) for label, part in regions.items()} == {
        "causes < 8": 4, "causes 8 to 12": 4, "causes >= 12": 4,
    }  # fmt: skip


def test_every_method_has_a_name_that_can_be_asked_for() -> None:
    assert set(worlds.METHODS.split(",")) | {"gepa", "skillopt"} == set(CONDITIONS)
