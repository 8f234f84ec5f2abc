"""The context stage: every arm keeps the budget, verbatim passages, and finds the evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core import BadInput
from harness.corpora import Reading
from harness.rag.compress import open_tokenizer
from harness.rag.retrieve import Document
from harness.rag.tools.context import ARMS, ContextArm, ContextStage
from harness.rag.tools.passages import Passage, merged, packed, pages_of, truncated, within
from lab.corpora.dossier import dossier_readings


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def readings() -> list[Reading]:
    """One question of one place per kind of document."""
    return dossier_readings("train")[:3]


def _documents(reading: Reading) -> list[Document]:
    return [Document(id=one.id, text=one.text) for one in reading.sources]


def _stage(arm: ContextArm) -> ContextStage:
    return ContextStage(arm, search="lexical", critic="lexical")


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("budget", [200, 900])
def test_budget_and_verbatim_passages(
    arm: ContextArm, budget: int, readings: list[Reading]
) -> None:
    documents = _documents(readings[0])
    found = _stage(arm).gather(readings[0].question, documents, budget)
    assert 0 < found.tokens <= budget
    assert found.tokens == open_tokenizer().count(found.text)
    assert found.passages
    for one in found.passages:
        assert documents[0].text[one.start : one.end] == one.text
        assert one.text in found.text
    starts = [one.start for one in found.passages]
    assert starts == sorted(starts)


@pytest.mark.parametrize("arm", ["compress", "retrieve", "both"])
def test_evidence_that_shares_words_is_found(arm: ContextArm, readings: list[Reading]) -> None:
    found = 0
    for reading in readings:
        context = _stage(arm).gather(reading.question, _documents(reading), 900)
        (gold,) = reading.evidence
        found += any(one.start <= gold.start and gold.end <= one.end for one in context.passages)
    assert found >= 2  # entries of the log share no word with their question


def test_the_same_again_has_the_same_digest(readings: list[Reading]) -> None:
    documents = _documents(readings[1])
    first, second = (_stage("both").gather("footbridge", documents, 300) for _ in range(2))
    assert first.digest == second.digest
    assert _stage("both").gather("bandstand", documents, 300).digest != first.digest


def test_everything_stays_where_it_fits() -> None:
    documents = [Document(id="a", text="One fact."), Document(id="b", text="Another fact.")]
    for arm in ARMS:
        found = _stage(arm).gather("fact", documents, 500)
        assert "One fact." in found.text
        assert "Another fact." in found.text


def test_bad_budget_and_no_documents() -> None:
    with pytest.raises(BadInput, match="budget of 1 token"):
        _stage("retrieve").gather("q", [Document(id="a", text="x")], 0)
    with pytest.raises(BadInput, match="0 documents"):
        _stage("retrieve").gather("q", [], 10)


def test_truncation_keeps_head_and_tail() -> None:
    text = " ".join(f"w{number}" for number in range(3000))
    documents = [Document(id="a", text=text), Document(id="b", text=text.upper())]
    head, tail = truncated(documents, 400, open_tokenizer().count)
    assert (head.doc, head.start) == ("a", 0)
    assert (tail.doc, tail.end) == ("b", len(text))
    assert text[: head.end] == head.text
    assert text.upper()[tail.start :] == tail.text
    for part in (head, tail):
        assert 150 < open_tokenizer().count(part.shown) <= 200


def test_packing_leaves_out_what_is_inside_a_better_passage() -> None:
    ranked = [Passage("a", 0, 9, "one fact.", 1.0), Passage("a", 4, 8, "fact", 0.5),
              Passage("b", 4, 8, "fact", 0.4)]  # fmt: skip
    assert packed(ranked, 100, len) == [ranked[0], ranked[2]]
    assert packed(ranked, len(ranked[0].shown), len) == [ranked[0]]


def test_passages_that_overlap_become_one() -> None:
    sources = [Document(id="b", text="0123456789"), Document(id="a", text="abcdef")]
    parts = [Passage("a", 1, 3, "bc", 1.0), Passage("b", 5, 9, "5678", 1.0),
             Passage("b", 2, 6, "2345", 2.0), Passage("a", 4, 5, "e", 1.0)]  # fmt: skip
    assert merged(parts, sources) == [
        Passage("b", 2, 9, "2345678", 2.0), parts[0], parts[3],
    ]  # fmt: skip


def test_passages_of_passages_lie_in_the_document() -> None:
    outer = Passage("d:1.txt", 100, 120, "x" * 20, 1.0)
    assert within(Passage(outer.name, 3, 7, "xxxx", 0.5))[:3] == ("d:1.txt", 103, 107)


def test_pages_cover_every_character_once() -> None:
    text = "".join(f"line {number} with some words\n" for number in range(500)) + "x" * 3000
    pages = pages_of([Document(id="a", text=text), Document(id="b", text="")], 1000)
    assert "".join(one.text for one in pages) == text
    assert all(len(one.text) <= 1000 for one in pages)
    assert all(text[one.start : one.end] == one.text for one in pages)
    assert pages[0].text.endswith("\n")
