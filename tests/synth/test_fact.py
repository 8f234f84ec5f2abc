"""A model words the question; what it is about, and whether it may stand, is not left to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput
from harness.synth.proposers.fact import FactProposer, LongFactProposer
from tests.synth.cases import asked, documents, materials, run

TEXT = "Harbour notes.\nThe ferry Grey Heron was built in 1931 by Ada Quill.\nIt sails twice a day."


@pytest.mark.parametrize(
    ("reply", "question", "fault"),
    [
        (
            "Question: Who built the ferry Grey Heron?\nA: her",
            "Who built the ferry Grey Heron?",
            "",
        ),
        ("I cannot say.", "", "no question"),
        ("Built by whom?", "Built by whom?", "no question"),
        (
            "Who, in the passage, built the ferry?",
            "Who, in the passage, built the ferry?",
            "points",
        ),
    ],
)
def test_the_first_question_counts(tmp_path: Path, reply: str, question: str, fault: str) -> None:
    def propose(messages: list[Any], sampling: Any) -> str:
        return reply

    stuff = materials(documents(tmp_path / "docs", TEXT), tmp_path / "out", propose)
    proposal = run(FactProposer(stuff).propose(0, []))
    assert proposal.question == question
    assert fault in proposal.fault
    assert bool(proposal.fault) is bool(fault)
    (passage,) = proposal.passages
    assert proposal.answers[0] in stuff.library.text(passage)
    assert proposal.answers[0] in asked(stuff.proposer).requests[0][0]["content"]


def test_the_passage_keeps_whole_lines(tmp_path: Path) -> None:
    lines = [
        f"Line {number} is here to make the document longer than that." for number in range(40)
    ]
    text = "\n".join([*lines, TEXT, *lines])
    stuff = materials(documents(tmp_path / "docs", text), tmp_path / "out")
    for number in range(4):
        proposal = run(FactProposer(stuff).propose(number, []))
        shown = stuff.library.text(proposal.passages[0])
        assert set(shown.splitlines()) <= set(text.splitlines())
        assert proposal.answers[0] in shown


def test_long_documents_come_as_a_cluster(tmp_path: Path) -> None:
    texts = [f"{TEXT} The buoy Old Bell {n} was laid in {1700 + n}." for n in range(45)]
    stuff = materials(documents(tmp_path / "docs", *texts), tmp_path / "out")
    proposal = run(LongFactProposer(stuff).propose(3, []))
    assert proposal.check == "longdoc"
    assert len(proposal.documents) in (22, 23)
    assert proposal.origin[0] in proposal.documents
    assert run(FactProposer(stuff).propose(3, [])).documents == ()


def test_documents_without_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no rare name"):
        FactProposer(materials(documents(tmp_path / "docs", "nothing here"), tmp_path / "out"))
