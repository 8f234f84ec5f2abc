"""BM25 over chunks (bm25s; Lucene's form, Robertson & Zaragoza 2009), memory-mapped from disk."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import require
from harness.rag.retrieve.text import compound_parts


class LexicalIndex:
    """Term scores of one immutable segment.

    Terms are scored when the segment is written, with the segment's own document frequencies;
    :meth:`scores` takes frequencies of the whole index and corrects them, so that segments can be
    compared. The average length stays the segment's own.
    """

    def __init__(
        self, scores: dict[str, Any], vocabulary: Mapping[str, int], compounds: bool
    ) -> None:
        self._data: NDArray[np.float32] = scores["data"]
        self._rows: NDArray[np.int64] = scores["indices"]
        self._starts: NDArray[np.int64] = scores["indptr"]
        self.chunks: int = scores["num_docs"]
        self.vocabulary = vocabulary
        self.compounds = compounds

    @classmethod
    def build(cls, texts: Sequence[list[str]], compounding: Sequence[bool]) -> LexicalIndex:
        """Index the tokens of chunks.

        Args:
            texts: tokens of every chunk.
            compounding: for every chunk, whether its language writes compounds as one word; they
                are then found by their parts as well, as far as the parts occur by themselves.

        Raises:
            BadInput: if bm25s is not installed.
        """
        distinct = dict.fromkeys(chain.from_iterable(texts))
        vocabulary = {token: number for number, token in enumerate(distinct)}
        parts: dict[str, list[str]] = {}
        rows: list[list[int]] = []
        for tokens, compound in zip(texts, compounding, strict=True):
            row = list(map(vocabulary.__getitem__, tokens))
            for token in tokens if compound else ():
                if token not in parts:
                    parts[token] = compound_parts(token, vocabulary)
                row.extend(vocabulary[part] for part in parts[token])
            rows.append(row)
        bm25s = require("bm25s", "the lexical index needs bm25s")
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        if vocabulary:
            # Chosen on sentences and passages of NQ and QED (docs/concepts/retrieval.md).
            index = bm25s.BM25(method="lucene", k1=1.2, b=0.5)
            index.index((rows, dict(vocabulary)), create_empty_token=False, show_progress=False)
            scores = index.scores
        else:
            scores = {
                "data": np.zeros(0, dtype=np.float32),
                "indices": np.zeros(0, dtype=np.int32),
                "indptr": np.zeros(1, dtype=np.int64),
                "num_docs": len(rows),
            }
        return cls(scores, vocabulary, any(compounding))

    def save(self, folder: Path) -> None:
        """Write arrays and vocabulary into an existing folder."""
        np.save(folder / "data.npy", self._data, allow_pickle=False)
        np.save(folder / "rows.npy", self._rows, allow_pickle=False)
        np.save(folder / "starts.npy", self._starts, allow_pickle=False)
        about = {"chunks": self.chunks, "compounds": self.compounds, "words": [*self.vocabulary]}
        (folder / "lexical.json").write_text(json.dumps(about, ensure_ascii=False), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Map the files that :meth:`save` wrote; pages are read when a query needs them.

        Raises:
            OSError, ValueError: if files are missing or damaged.
        """
        about = json.loads((folder / "lexical.json").read_text("utf-8"))
        scores = {
            "data": np.asarray(np.load(folder / "data.npy", mmap_mode="r", allow_pickle=False)),
            "indices": np.asarray(np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)),
            "indptr": np.load(folder / "starts.npy", allow_pickle=False),
            "num_docs": about["chunks"],
        }
        vocabulary = {word: number for number, word in enumerate(about["words"])}
        return cls(scores, vocabulary, about["compounds"])

    def expand(self, tokens: Iterable[str]) -> Counter[str]:
        """Tokens of a query with their counts; unknown compounds by their parts."""
        counts = Counter(tokens)
        if self.compounds:
            for token in [*counts]:
                counts.update(compound_parts(token, self.vocabulary))
        return counts

    def frequency(self, token: str) -> int:
        """Number of chunks that hold `token`."""
        number = self.vocabulary.get(token)
        return 0 if number is None else int(self._starts[number + 1] - self._starts[number])

    def scores(
        self, query: Mapping[str, int], total: int, frequency: Mapping[str, int]
    ) -> NDArray[np.float32]:
        """BM25 score of every chunk, shape (chunks,); 0 where no token occurs.

        Args:
            query: tokens with their counts.
            total: chunks of the whole index.
            frequency: chunks of the whole index that hold each token.
        """
        scores = np.zeros(self.chunks, dtype=np.float32)
        for token, count in query.items():
            number = self.vocabulary.get(token)
            if number is None:
                continue
            start, end = int(self._starts[number]), int(self._starts[number + 1])
            weight = count * _idf(total, frequency[token]) / _idf(self.chunks, end - start)
            scores[self._rows[start:end]] += np.float32(weight) * self._data[start:end]
        return scores


def term_scores(
    indexes: Sequence[LexicalIndex], tokens: Sequence[str]
) -> list[NDArray[np.float32]]:
    """Scores of every index, with document frequencies of all of them, so that they compare."""
    queries = [index.expand(tokens) for index in indexes]
    frequency = {
        token: sum(index.frequency(token) for index in indexes)
        for token in set[str]().union(*queries)
    }
    total = sum(index.chunks for index in indexes)
    return [
        index.scores(query, total, frequency) for index, query in zip(indexes, queries, strict=True)
    ]


def _idf(total: int, frequency: int) -> float:
    """Lucene's inverse document frequency: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return log1p((total - frequency + 0.5) / (frequency + 0.5))
