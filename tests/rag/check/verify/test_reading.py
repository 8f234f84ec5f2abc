"""Words, stems, lexicon and the numeric layer."""

from __future__ import annotations

import pytest

from harness.rag.check.verify.evidence import Source, open_source
from harness.rag.check.verify.lexicon import antonyms, hypernyms, synonyms
from harness.rag.check.verify.model import Classifier, pooled
from harness.rag.check.verify.reading import read
from harness.rag.check.verify.stems import stem
from harness.rag.check.verify.values import missing_values, sizes

TEXT = (
    "The mill in Arlen opened in 1912. It never paid a dividend. In 1950 the council bought it "
    "for 3,200 crowns. Net debt fell to below $25 billion."
)


def test_stems_join_irregular_forms() -> None:
    assert stem("sold") == stem("selling") == stem("Sell")
    assert stem("children's") == stem("child")
    assert stem("3,200") == "3,200"


def test_lexicon_knows_same_opposite_and_wider() -> None:
    assert stem("purchase") in synonyms(stem("buy"))
    assert stem("decrease") in antonyms(stem("increase"))
    assert stem("automobile") in synonyms(stem("car"))
    assert stem("animal") not in antonyms(stem("dog"))
    assert hypernyms(stem("rise"))


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
    assert [one.text for one in missing_values(claim, sizes(TEXT))] == missing


def test_without_values_every_number_is_missing() -> None:
    assert [one.text for one in missing_values("It cost $40.", {})] == ["$40"]


def test_source_finds_sentences_by_words() -> None:
    source = Source(TEXT)
    best = source.candidates(read("Who bought the mill for crowns?"))[0]
    assert "council bought" in source.sentences[best].text
    assert all(TEXT[one.start : one.end] == one.text for one in source.sentences)


def test_empty_document_is_no_source() -> None:
    assert open_source(" \n") is None


def test_probability_rises_with_its_weight() -> None:
    model = Classifier(("a",), (0.5,), (0.5,), (2.0,), 0.0, 0.5)
    assert model.probability({"a": 0.5}) == pytest.approx(0.5)
    assert model.probability({"a": 1.0}) == pytest.approx(0.8808, abs=1e-4)
    assert model.probability({"a": 0.0}) < 0.2


def test_pooling_keeps_mean_least_and_most() -> None:
    assert pooled([{"a": 1.0}, {"a": 3.0}]) == {"a.mean": 2.0, "a.least": 1.0, "a.most": 3.0}
