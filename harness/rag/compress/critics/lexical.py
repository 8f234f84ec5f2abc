"""BM25: no model, no training, any language."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rag.compress.bm25 import bm25, query_terms
from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve.tokens import words


class LexicalCritic:
    """Scores by the words that a unit shares with the query and the instruction.

    Words of the instruction count a quarter: it says what to keep, mostly in words of its own.
    """

    name = "lexical"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """BM25 over the units of the call; 0 for a unit without a word of the query."""
        return bm25(weighted_terms(query), (words(f"{unit.heading} {unit.text}") for unit in units))


def weighted_terms(query: Query) -> dict[str, float]:
    """Words of the query with weight 1, further words of the instruction with 1/4."""
    return {**dict.fromkeys(words(query.instruction), 0.25), **query_terms(query.query)}
