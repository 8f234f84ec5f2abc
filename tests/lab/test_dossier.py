"""The dossier: lengths, gold offsets, questions of one place and of two, splits apart."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.corpora import Reading, count_tokens, generate
from lab.corpora.dossier import KINDS, SIZES, dossier_readings, write_split


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Reading]]:
    """All splits."""
    return {split: dossier_readings(split) for split in SIZES}


def test_counts_and_lengths(splits: dict[str, list[Reading]]) -> None:
    assert {split: len(found) for split, found in splits.items()} == SIZES
    assert SIZES == {"train": 60, "selection": 60, "test": 120}
    texts = {one.sources[0].text for found in splits.values() for one in found}
    assert len(texts) == 12
    assert all(8_000 <= count_tokens(text) <= 16_400 for text in texts)
    strata = Counter(str(one.meta["stratum"]) for one in splits["test"])
    assert len(strata) == 2 * len(KINDS)
    assert {*strata.values()} == {20}
    ids = [one.id for found in splits.values() for one in found]
    assert len(set(ids)) == len(ids)


def test_one_place_holds_the_answer_and_two_hold_it_together(
    splits: dict[str, list[Reading]],
) -> None:
    for one in (reading for found in splits.values() for reading in found):
        quotes = one.quotes()
        answer = one.answers[0]
        assert len(quotes) == (1 if "one" in str(one.meta["stratum"]) else 2)
        if "By how many" in one.question or "the difference" in one.question:
            first, last = (int(re.findall(r"\d[\d,]*", q)[0].replace(",", "")) for q in quotes)
            assert int(answer.replace(",", "")) == abs(first - last)
            continue
        holding = [answer in quote for quote in quotes]
        assert any(holding), one
        assert sum(holding) < 2, one
        assert answer not in one.question


def test_both_places_are_needed(splits: dict[str, list[Reading]]) -> None:
    """The place with the answer does not hold what the question names, and the other one does."""
    for one in splits["test"]:
        if "manual, two" not in str(one.meta["stratum"]):
            continue
        first, second = one.quotes()
        (named,) = re.findall(r"E-\d\d|every (\d+) hours", one.question) or ["?"]
        key = named or re.findall(r"E-\d\d", one.question)[0]
        assert key in first
        assert key not in second


def test_every_question_has_one_reading(splits: dict[str, list[Reading]]) -> None:
    """Nothing else in the document answers: keys of facts come once."""
    for one in splits["test"]:
        text = one.sources[0].text
        for quote in one.quotes():
            assert text.count(quote) == 1, quote


def test_splits_share_no_document_and_test_has_wordings_of_its_own(
    splits: dict[str, list[Reading]],
) -> None:
    titles = {
        split: {one.sources[0].text.split("\n")[0] for one in found}
        for split, found in splits.items()
    }
    assert not titles["train"] & titles["test"]
    assert not titles["selection"] & (titles["test"] | titles["train"])
    held_out = re.compile("ended with|is listed under|Ask the maker|Whatever is painted")
    seen = {split: "".join(one.sources[0].text for one in found) for split, found in splits.items()}
    assert held_out.search(seen["test"])
    assert not re.search("Ask the maker|ended with", seen["train"] + seen["selection"])


def test_the_same_bytes_again_and_another_seed_differs(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_split("train", tmp_path / folder, limit=3)
    assert digest_tree(tmp_path / "a") == digest_tree(tmp_path / "b")
    assert dossier_readings("train", seed=7)[0] != dossier_readings("train")[0]


def test_the_sample_is_the_start_of_train(repository: Path, tmp_path: Path) -> None:
    generate("dossier", tmp_path, "train", limit=3)
    assert digest_tree(tmp_path) == digest_tree(repository / "corpora/dossier/sample")


def test_bad_limit(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 1"):
        write_split("train", tmp_path, limit=0)
