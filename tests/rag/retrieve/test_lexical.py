"""BM25 against its formula, over one segment and over several."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.rag.retrieve.lexical import LexicalIndex

TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12), min_size=1)
QUERY = st.lists(st.sampled_from("abcdefgx"), min_size=1, max_size=4)


def formula(texts: list[list[str]], query: list[str]) -> list[float]:
    """BM25 with k1 = 1.2, b = 0.5 and Lucene's idf, term by term."""
    mean = sum(map(len, texts)) / len(texts)
    scores: list[float] = []
    for text in texts:
        counts, score = Counter(text), 0.0
        for term in query:
            holding = sum(term in other for other in texts)
            idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            norm = 1.2 * (1 - 0.5 + 0.5 * len(text) / mean)
            score += idf * counts[term] / (counts[term] + norm)
        scores.append(score)
    return scores


def scores(index: LexicalIndex, query: list[str]) -> list[float]:
    wanted = index.expand(query)
    frequency = {term: index.frequency(term) for term in wanted}
    return index.scores(wanted, index.chunks, frequency).tolist()


@given(TEXTS, QUERY)
def test_scores_follow_the_formula(texts: list[list[str]], query: list[str]) -> None:
    index = LexicalIndex.build(texts, [False] * len(texts))
    assert np.allclose(scores(index, query), formula(texts, query), atol=1e-4)


def test_frequencies_of_the_whole_index_count_in_each_segment() -> None:
    texts = [["a", "b"], ["a", "c"], ["a", "b"], ["c", "b"]]
    whole = formula(texts, ["a", "b"])
    parts = [LexicalIndex.build(texts[:2], [False] * 2), LexicalIndex.build(texts[2:], [False] * 2)]
    frequency = {term: sum(part.frequency(term) for part in parts) for term in "ab"}
    found = [score for part in parts for score in part.scores({"a": 1, "b": 1}, 4, frequency)]
    assert np.allclose(found, whole, atol=1e-4)


def test_a_compound_is_found_by_its_parts_and_finds_them(tmp_path: Path) -> None:
    texts = [["wärmeübertragung"], ["übertragung"], ["wärme"], ["stahl"]]
    LexicalIndex.build(texts, [True] * 4).save(tmp_path)
    index = LexicalIndex.load(tmp_path)
    assert [score > 0 for score in scores(index, ["wärme"])] == [True, False, True, False]
    assert [score > 0 for score in scores(index, ["wärmeübertragung"])] == [True, True, True, False]
    plain = LexicalIndex.build(texts, [False] * 4)
    assert [score > 0 for score in scores(plain, ["wärme"])] == [False, False, True, False]


def test_an_index_without_words_scores_nothing(tmp_path: Path) -> None:
    LexicalIndex.build([[], []], [False, False]).save(tmp_path)
    assert scores(LexicalIndex.load(tmp_path), ["a"]) == [0, 0]
