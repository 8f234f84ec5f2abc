"""The trained verifier with the packaged classifier and encoder."""

from __future__ import annotations

import pytest

from harness.rag.check.types import Claim, ClaimType, Verdict
from harness.rag.check.verify import TrainedVerifier
from harness.rag.retrieve import Document

MILL = Document(
    "mill",
    "The mill in Arlen was built by the weaver Tobias Corin. It increased its output every year "
    "until the council closed it. The workers moved to the new harbour.",
)
NOISE = Document("noise", "Basalt cools quickly. Ferries leave the island at noon on weekdays.")


@pytest.fixture(scope="module")
def verifier() -> TrainedVerifier:
    return TrainedVerifier()


def _claim(text: str, kind: ClaimType = "relation") -> Claim:
    return Claim(text=text, type=kind, start=0, end=len(text), sentence=text)


def test_what_is_said_is_supported_with_its_sentence(verifier: TrainedVerifier) -> None:
    claim = _claim("The mill in Arlen was built by the weaver Tobias Corin.")
    [found] = verifier.verify([claim], [NOISE, MILL])
    assert found.verdict is Verdict.SUPPORTED
    [evidence] = found.evidence
    assert evidence.doc == "mill"
    assert MILL.text[evidence.start : evidence.end] == evidence.quote
    assert "Tobias Corin" in evidence.quote


def test_what_is_nowhere_is_not_found(verifier: TrainedVerifier) -> None:
    claim = _claim("A submarine crew painted seventeen violins in Reykjavik for charity.")
    [found] = verifier.verify([claim], [MILL])
    assert found.verdict is Verdict.NOT_FOUND
    assert found.reason


def test_documents_without_text_are_invalid(verifier: TrainedVerifier) -> None:
    claims = [_claim("The mill was closed."), _claim("Arlen", "entity")]
    found = verifier.verify(claims, [Document("empty", " \n")])
    assert [one.verdict for one in found] == [Verdict.INVALID, Verdict.INVALID]


def test_order_of_claims_is_kept_across_kinds(verifier: TrainedVerifier) -> None:
    claims = [
        _claim("Arlen", "entity"),
        _claim("A submarine crew painted seventeen violins in Reykjavik for charity."),
        _claim("Bexley", "entity"),
    ]
    found = verifier.verify(claims, [MILL])
    assert [one.verdict for one in found] == [
        Verdict.SUPPORTED,
        Verdict.NOT_FOUND,
        Verdict.NOT_FOUND,
    ]


def test_irrelevant_documents_change_nothing(verifier: TrainedVerifier) -> None:
    claims = [
        _claim("The council closed the mill."),
        _claim("The mill decreased its output every year."),
        _claim("The workers moved to the new harbour."),
    ]
    alone = verifier.verify(claims, [MILL])
    noisy = verifier.verify(claims, [NOISE, MILL, Document("more", "Rain fell on Sunday.")])
    assert [one.verdict for one in noisy] == [one.verdict for one in alone]
    assert [one.evidence for one in noisy] == [one.evidence for one in alone]


def test_reading_ahead_changes_no_verdict() -> None:
    claim = _claim("The workers moved to the new harbour.")
    eager, lazy = TrainedVerifier(), TrainedVerifier()
    eager.index([MILL])
    assert eager.verify([claim], [MILL]) == lazy.verify([claim], [MILL])
