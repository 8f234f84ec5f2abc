"""The units of a long input that a slow critic reads: by words, their paragraph, their meaning.

Four scores a unit, all of them cheap: BM25 over the beginnings of words, of the unit and of its
paragraph, and the angle to the query of two sums of word vectors, again of both. The vectors are
those of the packaged encoder's vocabulary, before any layer: an attention costs what the filter is
to save. Rare words count more (SIF, Arora et al. 2017), rare in the input itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.rag.compress.critics.features import STEM, blocks_of, is_talk
from harness.rag.compress.pool import Pool
from harness.rag.compress.ranking import bm25, weighted_terms
from harness.rag.compress.types import Critic, Query, Unit
from harness.rag.retrieve import MiniLM, bundled_model, load_minilm
from harness.rag.retrieve.encoder import PACKAGE

Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]

# Tokens up to which all units pass: of prose that is filtered by meaning; of what is filtered by
# words alone, and of a talk, which answers over turns that share nothing with the question.
CASCADE_FROM, WHOLE_TO = 4_000, 24_000
# Tokens that pass. With this share of 131,000, 0.4 % of the gold sentences were left behind on
# the halves of NQ, QED, HotpotQA and WiCE on which the scores and their weights were chosen.
ROOM = 20_000
# Of shorter prose this share passes, by meaning: on the halves of NQ and WiCE the budgets of 5, 10
# and 20 % kept as much of the gold as without a filter (98.7, 100, 100 % of NQ's; 60, 75, 87
# against 62, 73, 82 of WiCE's).
SHARE = 0.4
# Weight of the angles; each BM25 is scaled to a maximum of 1.
MEANING = 0.5
# SIF's a: a word with this share of the input counts half.
SMOOTHING = 1e-3
_CHUNK = 512


def by_meaning(critic: Critic) -> bool:
    """Return True if the critic has an `encoder`, and the packaged one's word vectors are there."""
    return hasattr(critic, "encoder") and find_spec(PACKAGE) is not None


def passing(
    pool: Pool,
    query: Query,
    tokens: Sequence[Sequence[str]],
    *,
    meaning: bool,
    room: int | None = None,
) -> list[int]:
    """Places of the units that are worth reading, in document order.

    Args:
        pool: of all units.
        query: what is asked.
        tokens: words of each unit.
        meaning: by word vectors, too; else by the words that units share with the query alone.
        room: tokens of the units that pass; one unit passes whatever its length. Default: all of a
            short input, of others :data:`ROOM`, and of prose by meaning :data:`SHARE` at most.
    """
    total = sum(pool.tokens)
    by_share = meaning and not is_talk(pool.units)
    if room is None and total <= (CASCADE_FROM if by_share else WHOLE_TO):
        return list(range(len(pool.units)))
    room = room or (min(ROOM, int(SHARE * total)) if by_share else ROOM)
    blocks = blocks_of(pool.units)
    scores = _shared_words(weighted_terms(query), tokens, blocks)
    if meaning:
        scores = scores + MEANING * Meaning(pool.units).angles(query.query or query.text)
    order = np.argsort(-scores, kind="stable")
    if not meaning:  # where few match: others evenly spread
        even = np.arange(0, len(scores), max(1, len(scores) * 40 // room))
        order = order[scores[order] > 0]
        order = np.concatenate([order, even[scores[even] <= 0]])
    spent = np.cumsum(np.asarray(pool.tokens)[order])
    return sorted(order[: max(1, int(np.searchsorted(spent, room, side="right")))].tolist())


def _shared_words(
    terms: Mapping[str, float], tokens: Sequence[Sequence[str]], blocks: NDArray[np.intp]
) -> Scores:
    """BM25 of each unit and of its paragraph, words that begin alike being the same."""
    stems_asked: dict[str, float] = {}
    for word, weight in terms.items():
        stems_asked[_stem(word)] = max(weight, stems_asked.get(_stem(word), 0.0))
    units = [[_stem(word) for word in unit_tokens] for unit_tokens in tokens]
    paragraphs: list[list[str]] = [[] for _ in range(int(blocks[-1]) + 1)]
    for stems, block in zip(units, blocks, strict=True):
        paragraphs[int(block)].extend(stems)
    scaled: list[Scores] = []
    for texts in (units, paragraphs):
        scores = np.asarray(bm25(stems_asked, texts))
        most = float(scores.max())
        scaled.append(scores / most if most > 0 else scores)
    return scaled[0] + scaled[1][blocks]


def _stem(word: str) -> str:
    """The beginning of a word; a number or a name with digits stays whole."""
    return word[:STEM] if word.isalpha() else word


class Meaning:
    """Sums of word vectors of units and of their paragraphs, for any number of queries.

    Vectors are centred on the mean of the input and brought to length one: what all words share
    says nothing. Rare words of the input count more.

    Args:
        units: in document order.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self._blocks = blocks_of(units)
        texts = [f"{unit.heading} {unit.text}" for unit in units]
        starts = range(0, len(texts), _CHUNK)
        ids = [row for start in starts for row in _ids(texts[start : start + _CHUNK])]
        vocabulary, inverse = np.unique(np.concatenate(ids), return_inverse=True)
        counts = np.bincount(inverse)
        share = (counts / counts.sum()).astype(np.float32)
        vectors = _vectors(vocabulary)
        self._mean = share @ vectors
        self._weights = dict(zip(vocabulary.tolist(), SMOOTHING / (SMOOTHING + share), strict=True))
        table = self._weighted(vocabulary, vectors)
        bounds = np.concatenate([[0], np.cumsum([len(row) for row in ids])])
        sums = [
            np.add.reduceat(table[inverse[part[0] : part[-1]]], part[:-1] - part[0], axis=0)
            for part in (bounds[start : start + _CHUNK + 1] for start in starts)
        ]
        self._units = np.concatenate(sums)
        begins = np.unique(self._blocks, return_index=True)[1]
        self._paragraphs = np.add.reduceat(self._units, begins, axis=0)

    def angles(self, query: str) -> Scores:
        """Cosine of the query and each unit, plus that of the query and its paragraph."""
        ids = _ids([query])[0]
        vector = self._weighted(ids, _vectors(ids)).sum(axis=0)
        return _cosine(self._units, vector) + _cosine(self._paragraphs, vector)[self._blocks]

    def _weighted(self, ids: NDArray[np.int32], vectors: Vectors) -> Vectors:
        weights = np.asarray([self._weights.get(id_, 1.0) for id_ in ids.tolist()], np.float32)
        centred = vectors - self._mean
        lengths = np.maximum(np.linalg.norm(centred, axis=1), 1e-6)
        return centred * (weights / lengths)[:, None]


def _vectors(ids: NDArray[np.int32]) -> Vectors:
    return _model().weights["embeddings.word_embeddings.weight"][ids]


def _ids(texts: Sequence[str]) -> list[NDArray[np.int32]]:
    """Word pieces; a text without any has one that says nothing."""
    encodings: Any = _model().tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [np.asarray(encoding.ids or [0], dtype=np.int32) for encoding in encodings]


@cache
def _model() -> MiniLM:
    return load_minilm(bundled_model())


def _cosine(vectors: Vectors, query: Vectors) -> Scores:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    return (vectors @ query / np.maximum(lengths, 1e-6)).astype(np.float64)
