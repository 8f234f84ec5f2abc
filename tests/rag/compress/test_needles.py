"""Needles, chains and keys are found wherever they stand; files are read in blocks."""

from __future__ import annotations

import json
import uuid
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.rag.compress import FileSource, Query, compress, open_tokenizer
from harness.rag.compress.critics.windows import merged, unit_windows
from harness.rag.compress.pool import dense_pool, sparse_pool
from harness.rag.compress.ranking import bm25, query_terms
from harness.rag.retrieve import words

FILLER = ["Rain fell on the hills.", "A cart went by.", 'He said "wait."', "Nobody sang (much)."]


def haystack(rng: Random, sentences: int, needles: list[str]) -> str:
    texts = [rng.choice(FILLER) for _ in range(sentences)]
    for needle in needles:
        texts.insert(rng.randrange(len(texts) + 1), needle)
    return " ".join(texts)


@pytest.mark.parametrize("seed", range(4))
def test_values_of_the_keys_that_are_asked_for(seed: int) -> None:
    rng = Random(seed)
    keys = [
        f"{left}-{right}" for left in ("amber", "lofty", "rusty") for right in ("otter", "anvil")
    ]
    values = {key: str(rng.randrange(10**6, 10**7)) for key in keys}
    needles = [f"One of the special magic numbers for {key} is: {values[key]}." for key in keys]
    text = haystack(rng, 4000, needles)
    question = f"What are the special magic numbers for {keys[0]} and {keys[3]}?"
    result = compress(text, question, ratio=0.01, critic="lexical", reversible=False)
    assert values[keys[0]] in result.text
    assert values[keys[3]] in result.text


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_of_variables_is_whole(seed: int) -> None:
    rng = Random(seed)
    names = ["".join(rng.choice("ABCDEFGHJKLMNP") for _ in range(5)) for _ in range(10)]
    chains = [
        [f"VAR {names[first]} = {number}"]
        + [f"VAR {names[at]} = VAR {names[at - 1]}" for at in range(first + 1, first + 5)]
        for first, number in ((0, 12345), (5, 67890))
    ]
    text = haystack(rng, 4000, [f"{one}." for one in chains[0] + chains[1]])
    result = compress(
        text, "Find all variables that are assigned the value 12345.", ratio=0.01, critic="lexical",
        reversible=False,
    )  # fmt: skip
    assert [one for one in chains[0] if one not in result.text] == []
    alone = compress(
        text, "Find all variables that are assigned the value 12345.", ratio=0.01, critic="lexical",
        reversible=False, expand_entities=False,
    )  # fmt: skip
    assert [one for one in chains[0] if one not in alone.text], "the chain came without expansion"


def test_values_of_identifiers_in_json(tmp_path: Path) -> None:
    rng = Random(1)
    pairs = {
        str(uuid.UUID(int=rng.getrandbits(128))): str(uuid.UUID(int=rng.getrandbits(128)))
        for _ in range(140)
    }
    text = json.dumps(pairs)
    for key in list(pairs)[::28]:
        result = compress(
            text, f'Value of "{key}"?', ratio=0.05, critic="lexical", reversible=False
        )
        assert pairs[key] in result.text
    path = tmp_path / "pairs.json"
    path.write_text(text)
    units = dense_pool([FileSource(path)], open_tokenizer(), "auto", "en").units
    assert {unit.granularity for unit in units} == {"record"}


def test_a_file_in_blocks_gives_what_the_text_gives(tmp_path: Path) -> None:
    text = haystack(
        Random(2), 3000, ["The vault code of Ruritania is 4711-x.", "Über 5 % fehlten. 这是。"]
    )
    path = tmp_path / "long.txt"
    path.write_text(text, "utf-8")
    for block in (997, 4096, 100_000):
        source = FileSource(path, block)
        assert "".join(part.text for _, part in source.blocks()) == text
        assert source.read(5000, 5100) == text[5000:5100]
        assert source.read(len(text) - 7, len(text)) == text[-7:]
        pool = dense_pool([source], open_tokenizer(), "auto", "en")
        assert all(text[unit.start : unit.end] == unit.text for unit in pool.units)


@pytest.mark.parametrize("question", ["vault code of Ruritania", "Which variables hold 5551234?"])
def test_a_scan_finds_the_candidates_in_order(tmp_path: Path, question: str) -> None:
    needles = [
        "The vault code of Ruritania is 4711-x.",
        "let QQA1 be 5551234.",
        "let QQB2 be QQA1.",
    ]
    text = haystack(Random(3), 3000, needles)
    path = tmp_path / "long.txt"
    path.write_text(text)
    pool = sparse_pool(
        [FileSource(path, 5000)], open_tokenizer(), "auto", "en", Query("", question), 20_000
    )
    assert pool.before == sorted(pool.before)
    assert pool.size > 1500 > len(pool.units)
    assert all(text[unit.start : unit.end] == unit.text for unit in pool.units)
    wanted = needles[:1] if "vault" in question else needles[1:]
    assert {unit.text for unit in pool.units}.issuperset(wanted)


def test_a_needle_at_every_offset_around_a_window_edge() -> None:
    for place in range(40):
        tokens = [5] * 40
        windows = unit_windows(tokens, 50, 12)
        holding = [one for one in windows if place in one]
        assert holding
        assert any(place - 1 in one and place + 1 in one for one in holding) or place in (0, 39)
        scores = [[float(at == place) for at in one] for one in windows]
        assert merged(windows, scores, 40) == [float(at == place) for at in range(40)]


@pytest.mark.parametrize("joint", [" ", "\n", "\n\n"])
def test_a_needle_at_every_offset_around_the_end_of_a_block(tmp_path: Path, joint: str) -> None:
    needle = "The vault code of Ruritania, as Dr. Low wrote it in ink, is 4711-x."
    path, block = tmp_path / "long.txt", 2000
    for begin in range(block - 2 * len(needle), block + 20):
        filler = joint.join(FILLER * 30)
        before = filler[: filler.rindex(joint, 0, begin - 60) + len(joint)]
        before += "N" + "o" * (begin - len(before) - 3) + "." + joint[:1]
        before += joint[1:]
        path.write_text(before + needle + joint + filler, "utf-8")
        pool = dense_pool([FileSource(path, block)], open_tokenizer(), "auto", "en")
        assert [one for one in pool.units if needle in one.text], (begin, len(before))


def test_a_unit_longer_than_the_window_has_one_of_its_own() -> None:
    assert unit_windows([3, 90, 3], 10, 4)[1] == range(1, 2)


def test_scores_are_those_of_bm25s() -> None:
    texts = [haystack(Random(seed), 6, ["The cart of the hills sang."]) for seed in range(12)]
    tokens = [words(text) for text in texts]
    index: Any = import_module("bm25s").BM25(method="lucene", k1=1.5, b=0.75)
    index.index(tokens, show_progress=False)
    for question in ("cart hills", "sang rain", "nobody"):
        ours = bm25(query_terms(question), tokens)
        theirs = index.get_scores(words(question))
        assert ours == pytest.approx(theirs.tolist(), rel=1e-4)


@pytest.mark.parametrize(
    "stamp", ["2026-11-30T12:00:{:02d}.361", "10.0.0.7 - - [12/Nov/2026:12:{:02d}]"]
)
@pytest.mark.parametrize("lines", [26, 900])
def test_the_line_of_a_log_is_kept(stamp: str, lines: int) -> None:
    log = [f"{stamp.format(n % 60)} INFO tick: frame {n} ok players={n % 9}" for n in range(lines)]
    log[lines // 2] = f"{stamp.format(7)} ERROR save: autosave slot 3 write failed"
    result = compress("\n".join(log), "autosave", budget=300, critic="lexical", reversible=False)
    assert "autosave slot 3 write failed" in result.text
    assert not any("shares a word" in warning for warning in result.warnings)
