"""The factory over a planted world: reasons, rounds, bands, splits, kills and outages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, Unreachable
from harness.core.rundir import RunReader, RunWriter
from harness.evals import load_suite
from harness.models import Message, Sampling
from harness.synth.factory import Factory
from harness.synth.proposers.search import SearchProposer
from harness.synth.registry import Registry, known_suites, split_by_origin
from harness.synth.session import run_factory
from harness.synth.types import Proposal, Record
from lab.worlds.models import Decide
from lab.worlds.proposals import EXPECTED, World
from tests.synth.cases import FEW, asked, down, factory, materials, run, silent, world

LOCK = {"kind": "synth"}


def made(
    folder: Path,
    planted: World,
    checker: Decide | None = None,
    proposer: Decide | None = None,
    **settings: Any,
) -> tuple[Factory, RunWriter]:
    """A factory of the kind `search` over a planted world; the caller closes the run."""
    models = proposer or planted.propose, checker or planted.checker()
    stuff = materials(folder / "documents", folder / "out", *models)
    writer = RunWriter(folder / "out", LOCK)
    given: dict[str, Any] = {"want": 100, "most": len(planted.houses) + planted.duplicates}
    return factory(stuff, SearchProposer(stuff), writer, **{**given, **settings}), writer


def finished(folder: Path) -> list[Record]:
    rows = RunReader(folder / "out").items()
    return [Record.model_validate(row["record"]) for row in rows]


def test_each_planted_fault_is_rejected_with_its_reason(tmp_path: Path) -> None:
    planted = world(tmp_path)
    made_factory, writer = made(
        tmp_path, planted, suites=known_suites([str(tmp_path / "suite.jsonl")])
    )
    with writer:
        run(run_factory(made_factory))
    rows = finished(tmp_path)
    assert len(rows) == sum(FEW.values())
    seen: set[str] = set()
    for row in rows:
        town = row.proposal.answers[0]
        fault = "duplicate" if town in seen else planted.houses[town].fault
        seen.add(town)
        if fault == "good":
            assert (row.decision, row.reason) == ("accepted", "")
        elif fault == "duplicate" and planted.houses[town].fault != "good":
            assert row.decision == "rejected"  # what was faulty still is
        else:
            by, begins = EXPECTED[fault]
            assert (row.decision, row.by) == ("rejected", by), row
            assert row.reason.startswith(begins)


def test_noise_passages_stand_among_the_evidence_in_no_fixed_order(tmp_path: Path) -> None:
    planted = world(tmp_path, {"good": 12})
    made_factory, writer = made(tmp_path, planted, most=8)
    with writer:
        run(run_factory(made_factory))
    prompts = asked(made_factory.materials.checker).prompts
    places: Counter[int] = Counter()
    for prompt in prompts:
        passages = prompt.split("<passage>\n")[1:]
        building = prompt.rpartition("called ")[2].partition("?")[0]
        assert len(passages) > 4
        places[next(n for n, text in enumerate(passages) if building in text)] += 1
    assert len(places) > 1


def test_an_outage_of_the_checker_accepts_nothing(tmp_path: Path) -> None:
    """The official SSP code accepts a question where validation raises."""
    planted = world(tmp_path, {"good": 4})
    made_factory, writer = made(tmp_path, planted, checker=down)
    with writer:
        run(run_factory(made_factory))
    rows = finished(tmp_path)
    assert {row.decision for row in rows} == {"invalid"}
    assert {row.stage for row in rows} == {"validate"}
    assert "down" in rows[0].reason


def test_a_reply_that_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    made_factory, writer = made(tmp_path, world(tmp_path, {"good": 4}), checker=silent)
    with writer:
        run(run_factory(made_factory))
    assert {row.decision for row in finished(tmp_path)} == {"invalid"}


def test_an_outage_of_the_proposer_ends_the_run(tmp_path: Path) -> None:
    made_factory, writer = made(
        tmp_path, world(tmp_path, {"good": 4}),
        proposer=down,
    )  # fmt: skip
    with writer, pytest.raises(Unreachable, match="down"):
        run(run_factory(made_factory))


def test_the_band_keeps_what_is_neither_easy_nor_hard(tmp_path: Path) -> None:
    async def solve(name: str, proposals: Sequence[Proposal]) -> dict[str, list[bool | None]]:
        rights: list[list[bool | None]] = [
            [False] * 5, [True] * 5, [True, True, False, False, False],
            [None, None, None, True, False],
        ]  # fmt: skip
        return {row.id: rights[n % 4] for n, row in enumerate(proposals)}

    made_factory, writer = made(
        tmp_path, world(tmp_path, {"good": 8}), solve=solve, low=0.2, high=0.8
    )
    with writer:
        run(run_factory(made_factory))
    rows = finished(tmp_path)
    assert [row.decision for row in rows[:4]] == ["rejected", "rejected", "accepted", "invalid"]
    assert [row.by for row in rows[:4]] == ["too hard", "too easy", "", "solver"]
    assert [row.reward for row in rows[:3]] == [1.0, 0.0, pytest.approx(0.6)]
    assert (rows[2].right, rows[2].attempts) == (2, 5)


def test_it_stops_when_enough_are_accepted(tmp_path: Path) -> None:
    planted = world(tmp_path, {"good": 40})
    made_factory, writer = made(tmp_path, planted, want=3)
    with writer:
        run(run_factory(made_factory))
        counts = made_factory.write_suite()
    assert len(finished(tmp_path)) == 8
    assert sum(counts.values()) == 3
    suite = load_suite(str(tmp_path / "out"), "test")
    assert suite.suite.agent == "graph:search"
    assert suite.tasks[0].check == "search"
    assert (suite.base / suite.tasks[0].files["documents.jsonl"]).is_file()


@pytest.mark.parametrize("calls", [1, 12, 40])
def test_a_killed_factory_goes_on_to_the_same_end(tmp_path: Path, calls: int) -> None:
    planted = world(tmp_path, {"good": 10, "unanswerable": 6})
    whole, writer = made(tmp_path / "whole", planted_at(tmp_path / "whole", planted))
    with writer:
        run(run_factory(whole))
    count = 0

    def dying(messages: list[Message], sampling: Sampling | None) -> str:
        nonlocal count
        count += 1
        if count == calls:
            raise ZeroDivisionError
        return planted.propose(messages, None)

    place = planted_at(tmp_path / "killed", planted)
    killed, writer = made(tmp_path / "killed", place, proposer=dying)
    with writer, pytest.raises(ZeroDivisionError):
        run(run_factory(killed))
    again, writer = made(tmp_path / "killed", place)
    with writer:
        run(run_factory(again))
    assert finished(tmp_path / "killed") == finished(tmp_path / "whole")
    more, writer = made(tmp_path / "killed", place, proposer=silent)
    with writer:
        run(run_factory(more))  # nothing is left to do
    assert finished(tmp_path / "killed") == finished(tmp_path / "whole")


def planted_at(folder: Path, planted: World) -> World:
    planted.write(folder / "documents")
    return planted


def test_tasks_that_share_a_document_share_a_split() -> None:
    origins = [("a", "b"), ("b", "c"), ("d",), ("e",), ("f",), ("c",), ("g",), ("h",)]
    rows = [Proposal(id=str(n), origin=origin) for n, origin in enumerate(origins)]
    splits = split_by_origin(rows)
    assert splits["0"] == splits["1"] == splits["5"]
    by_document: dict[str, set[str]] = {}
    for row in rows:
        for document in row.origin:
            by_document.setdefault(document, set()).add(splits[row.id])
    assert all(len(names) == 1 for names in by_document.values())
    assert set(splits.values()) == {"train", "test", "selection"}


def test_duplicates_by_words_and_by_answer() -> None:
    registry = Registry()
    asked = "Which town has the oldest bridge over the river Foss in the whole valley?"
    registry.add(asked, ["North Alder"], "first")
    assert registry.same(asked.upper() + "!", ["anything"]) == "first"
    nearly = asked.replace("oldest", "very oldest")
    assert registry.same(nearly, ["north alder"]) == "first"
    assert registry.same(nearly, ["South Alder"]) == ""
    assert registry.same("Who built the mill?", ["North Alder"]) == ""
    assert registry.same(asked, ["North Alder"], files="other") == ""


def test_a_leak_is_looked_for_in_all_splits(tmp_path: Path) -> None:
    for split, question in (("train", "Who came first?"), ("test", "Who came last?")):
        task = {"id": split, "prompt": question, "answer": "Ann"}
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(task))
    tasks = {"train": "train.jsonl", "test": "test.jsonl"}
    (tmp_path / "suite.yaml").write_text(json.dumps({"name": "s", "tasks": tasks}))
    registry = known_suites([str(tmp_path)])
    assert registry.same("who came first", ["x"]).startswith("train of")
    assert registry.same("who came last", ["x"]).startswith("test of")
    with pytest.raises(BadInput, match="no suite"):
        known_suites(["nowhere"])
