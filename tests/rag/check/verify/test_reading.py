"""Words, stems, lexicon and the numeric layer."""

from __future__ import annotations

import pytest

from harness.rag.check.types import Claim, Verdict
from harness.rag.check.verify import (
    Classifier,
    Source,
    TrainedVerifier,
    missing_values,
    pooled,
    read,
    related,
    stem,
)
from harness.rag.retrieve import Document

TEXT = (
    "The mill in Arlen opened in 1912. It never paid a dividend. In 1950 the council bought it "
    "for 3,200 crowns. Net debt fell to below $25 billion."
)


def test_stems_join_irregular_forms() -> None:
    assert stem("sold") == stem("selling") == stem("Sell")
    assert stem("children's") == stem("child")
    assert stem("3,200") == "3,200"


def test_lexicon_knows_same_opposite_and_wider() -> None:
    assert stem("purchase") in related(stem("buy"), "same")
    assert stem("decrease") in related(stem("increase"), "opposite")
    assert stem("automobile") in related(stem("car"), "same")
    assert stem("animal") not in related(stem("dog"), "opposite")
    assert related(stem("rise"), "wider")


def test_reading_sorts_words_by_kind() -> None:
    found = read("The Arlen mill did not open in March 1912, but two years later.")
    assert [found.words[at] for at in found.names] == ["Arlen", "March"]
    assert "1912" in found.numbers
    assert "2" in found.numbers
    assert [found.words[at] for at in found.dates] == ["March", "1912"]


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("It opened in 1912.", []),
        ("It opened in 1913.", ["1913"]),
        ("Bought for 3200 crowns.", []),
        ("Reduced its net debt to under $25 billion.", []),
        ("Net debt below $26 billion.", ["$26 billion"]),
        ("Two owners had it.", []),
    ],
)
def test_missing_values(claim: str, missing: list[str]) -> None:
    assert [one.text for one in missing_values(claim, Source(TEXT).values)] == missing


def test_without_values_every_number_is_missing() -> None:
    assert [one.text for one in missing_values("It cost $40.", {})] == ["$40"]


def test_source_finds_sentences_by_words() -> None:
    source = Source(TEXT)
    best = source.candidates(read("Who bought the mill for crowns?"))[0]
    assert "council bought" in source.sentences[best].text
    assert all(TEXT[one.start : one.end] == one.text for one in source.sentences)


def test_empty_document_is_no_source() -> None:
    claim = Claim(text="The mill opened.", type="relation", start=0, end=16)
    [finding] = TrainedVerifier().verify([claim], [Document("empty", " \n")])
    assert finding.verdict is Verdict.INVALID


def test_probability_rises_with_its_weight() -> None:
    model = Classifier(("a",), (0.5,), (0.5,), (2.0,), 0.0, 0.5)
    assert model.probability({"a": 0.5}) == pytest.approx(0.5)
    assert model.probability({"a": 1.0}) == pytest.approx(0.8808, abs=1e-4)
    assert model.probability({"a": 0.0}) < 0.2


def test_pooling_keeps_mean_least_and_most() -> None:
    assert pooled([{"a": 1.0}, {"a": 3.0}]) == {"a.mean": 2.0, "a.least": 1.0, "a.most": 3.0}
