"""The institute: counted, reproducible, every hop told once, not solved by word overlap."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from harness.core import BadInput, digest_tree
from harness.corpora import Reading, generate
from harness.rag.tasks.reading import official_normal
from lab.corpora.institute import SIZES, STRATA, institute_readings, write_split

_WORD = re.compile(r"[a-z]+")
_COMMON = {*"the of a in is it to who which what was by for at this our does".split()}  # noqa: SIM905  # a set of words


@pytest.fixture(scope="module")
def test_split() -> list[Reading]:
    """The test split."""
    return institute_readings("test")


def test_counts(test_split: list[Reading]) -> None:
    assert {split: len(institute_readings(split)) for split in SIZES} == SIZES
    assert sum(SIZES.values()) >= 250
    assert Counter(str(one.meta["stratum"]) for one in test_split) == dict.fromkeys(STRATA, 50)
    assert {len(one.sources) for one in test_split} == {153}
    assert len({one.question for one in test_split}) == len(test_split)


def test_every_hop_has_its_evidence_and_the_last_one_holds_the_answer(
    test_split: list[Reading],
) -> None:
    for one in test_split:
        hops = 3 if one.meta["stratum"] == "three hops" else 2
        assert len(one.evidence) == one.meta["hops"] == hops
        quotes = one.quotes()
        if one.meta["stratum"] == "comparison":
            years = [int(re.findall(r"\d{4}", quote)[0]) for quote in quotes]
            places = [one.question.lower().find(_thing(one, hop)) for hop in range(2)]
            first = min(range(2), key=lambda hop: years[hop])
            assert years[0] != years[1]
            assert min(places) >= 0
            assert _thing(one, first) == one.answers[0].lower()
        else:
            told = quotes[-1]
            host = next(s for s in one.sources if s.id == one.evidence[-1].doc)
            assert one.answers[0].lower() in f"{told} {host.title}".lower(), one.id
        assert len({place.doc for place in one.evidence}) >= 2 or one.meta["hops"] == 2


def _thing(one: Reading, hop: int) -> str:
    chain = one.meta["chain"]
    assert isinstance(chain, list)
    return str(chain[hop]).rsplit(": ", 1)[0].lower()


def test_things_in_between_are_not_named_in_the_question(test_split: list[Reading]) -> None:
    for one in test_split:
        if one.meta["stratum"] == "comparison":
            continue
        hops = one.meta["hops"]
        assert isinstance(hops, int)
        question = one.question.lower()
        assert _thing(one, 0).removeprefix("the ") in question
        for hop in range(1, hops):
            assert _thing(one, hop).removeprefix("the ") not in question
        assert official_normal(one.answers[0]) not in official_normal(one.question)


def test_the_sentence_that_shares_most_words_is_seldom_the_one_with_the_answer(
    test_split: list[Reading],
) -> None:
    """Chains only: what a system without a second step finds."""
    chains = [one for one in test_split if one.meta["stratum"] != "comparison"]
    sentences = [
        sentence for one in chains[0].sources for sentence in re.split(r"(?<=\.) ", one.text)
    ]
    words = {sentence: {*_WORD.findall(sentence.lower())} - _COMMON for sentence in sentences}
    hits = 0
    for one in chains:
        asked = {*_WORD.findall(one.question.lower())} - _COMMON
        best = max(sentences, key=lambda sentence: len(asked & words[sentence]))
        hits += one.answers[0] in best
    assert hits / len(chains) < 0.1


def test_splits_share_no_question_and_test_has_wordings_of_its_own() -> None:
    splits = {split: institute_readings(split) for split in SIZES}
    questions = [one.question for found in splits.values() for one in found]
    assert len(set(questions)) == len(questions)
    last_way = "Whose design is"
    assert not any(last_way in one.question for one in splits["train"] + splits["selection"])
    told = {split: " ".join(s.text for s in found[0].sources) for split, found in splits.items()}
    assert "obeys" in told["test"]
    assert "obeys" not in told["train"] + told["selection"]


def test_the_same_bytes_again_and_another_seed_differs(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_split("train", tmp_path / folder, limit=3)
    assert digest_tree(tmp_path / "a") == digest_tree(tmp_path / "b")
    assert institute_readings("train", seed=7)[0] != institute_readings("train")[0]


def test_the_sample_is_the_start_of_train(repository: Path, tmp_path: Path) -> None:
    generate("institute", tmp_path, "train", limit=12)
    assert digest_tree(tmp_path) == digest_tree(repository / "corpora/institute/sample")


def test_bad_limit(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least 1"):
        write_split("train", tmp_path, limit=0)
