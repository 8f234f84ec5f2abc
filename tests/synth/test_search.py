"""SSP's rules in their order, the backward search, and where documents come from."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from harness.core import BadInput
from harness.corpora import Evidence
from harness.models import Message, Sampling
from harness.synth.documents import Library
from harness.synth.proposers.search import SearchProposer
from harness.synth.types import Proposal
from harness.synth.validators import SspRules, distinct
from tests.synth.cases import asked, documents, materials, run, world

LONG = "Which town has the oldest bridge over the river Foss in the whole valley?"
GOOD = Proposal(
    id="p", question=LONG, answers=("North Alder",), reply=f"<question>{LONG}</question>",
    searches=("oldest bridge", "river Foss"), passages=(Evidence(doc="d", start=0, end=4),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"reply": LONG}, "no <question>"),
        ({"question": "Who is?"}, "7 characters"),
        ({"question": LONG * 20}, "characters"),
        ({"question": "Which town has the oldest bridge?"}, "6 words"),
        ({"question": LONG + " North alder?"}, "holds its answer"),
        ({"passages": ()}, "information"),
        ({"searches": ("oldest bridge",)}, "1 searches"),
        ({"searches": ("oldest bridge", "Oldest  bridge!")}, "repeated"),
        ({"searches": ("oldest bridge", "bridge in north alder")}, "a search holds the answer"),
        # The first fault in SSP's order decides.
        ({"question": "North Alder", "searches": ()}, "2 words"),
        ({"passages": (), "searches": ()}, "information"),
    ],
)
def test_ssp_rules(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    fault = run(SspRules(materials(tmp_path, tmp_path)).fault(GOOD.model_copy(update=change), []))
    assert reason in fault
    assert bool(reason) == bool(fault)


def test_hops_are_honoured(tmp_path: Path) -> None:
    rules = SspRules(materials(tmp_path, tmp_path, hops=3))
    assert "3 or more" in run(rules.fault(GOOD, []))
    more = GOOD.model_copy(update={"searches": (*GOOD.searches, "valley")})
    assert run(rules.fault(more, [])) == ""


def test_the_proposer_searches_backwards(tmp_path: Path) -> None:
    planted = world(tmp_path, {"good": 3})
    stuff = materials(tmp_path / "documents", tmp_path / "out", planted.propose)
    proposal = run(SearchProposer(stuff).propose(1, []))
    house = planted.houses[proposal.answers[0]]
    assert proposal.searches == (f"keeper of {house.building}", f"birthplace of {house.keeper}")
    texts = [stuff.library.text(passage) for passage in proposal.passages]
    assert f"The birthplace of {house.keeper} is {house.town}." in texts
    assert all(house.town in stuff.library.sources[doc].text for doc in proposal.origin)
    shown = asked(stuff.proposer).requests[-1]
    assert [row["role"] for row in shown] == ["system", "user", "assistant", "user", "assistant", "user"]  # fmt: skip  # noqa: E501
    assert "<information>" in shown[-1]["content"]


def test_a_proposer_that_only_searches_is_stopped(tmp_path: Path) -> None:
    world(tmp_path, {"good": 3})
    stuff = materials(
        tmp_path / "documents", tmp_path / "out", lambda messages, sampling: "<search>x</search>"
    )
    proposal = run(SearchProposer(stuff).propose(0, []))
    assert proposal.question == ""
    assert len(asked(stuff.proposer).requests) == 5


def test_what_stands_behind_a_search_was_written_without_reading(tmp_path: Path) -> None:
    """A small model replies with a search and a question at once: the search is made first."""
    world(tmp_path, {"good": 3})
    both = ["<search>old bridge</search>\n<question>Guess?</question>",
            "<search>river</search>\n<question>Guess?</question>",
            f"<question>{LONG}</question><search>more</search>"]  # fmt: skip

    def propose(messages: list[Message], sampling: Sampling | None) -> str:
        return both[sum(row["role"] == "assistant" for row in messages)]

    stuff = materials(tmp_path / "documents", tmp_path / "out", propose)
    proposal = run(SearchProposer(stuff).propose(0, []))
    assert (proposal.searches, proposal.question) == (("old bridge", "river"), LONG)


def test_documents_of_folders_and_files(tmp_path: Path) -> None:
    folder = documents(tmp_path / "docs", "One text.", "")
    (folder / "more.jsonl").write_text('{"title": "T", "text": "Two."}\n{"text": "Three."}\n')
    (folder / "image.png").write_bytes(b"\x89")
    library = Library.read(folder, tmp_path / "library")
    assert [*library.sources] == ["d0.txt", "T", "2"]
    with pytest.raises(BadInput, match="found none"):
        Library.read(folder / "image.png", tmp_path / "library")
    (folder / "again.jsonl").write_text('{"title": "T", "text": "Two."}\n')
    with pytest.raises(BadInput, match="same id"):
        Library.read(folder, tmp_path / "library")


def test_answers_are_rare(tmp_path: Path) -> None:
    texts = [f"Many speak of River Foss. Only here stands Tower {name} Hall." for name in "ABCDE"]
    library = Library.read(documents(tmp_path / "docs", *texts, "Ann Lee met Bob Ray in 1975."),
                           tmp_path / "library")  # fmt: skip
    assert {"Ann Lee", "Bob Ray", "1975"} <= library.answers.keys()
    assert "River Foss" not in library.answers
    passage = library.passage(Random(1))
    assert library.text(passage)


def test_passages_within_others_are_left_out() -> None:
    def part(start: int, end: int, doc: str = "d") -> Evidence:
        return Evidence(doc=doc, start=start, end=end)

    rows = [part(0, 9), part(2, 5), part(0, 9), part(4, 12), part(2, 5, "e")]
    assert distinct(rows) == [part(0, 9), part(4, 12), part(2, 5, "e")]
