"""BM25 of one query over units that may not fit in memory: only the query's words are counted.

The formula is that of Lucene (Robertson & Zaragoza 2009; Kamphuis et al. 2020), as in bm25s, with
which the tests compare it. An index would cost more than the one query that is asked of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve import words

K1, B = 1.5, 0.75


class Statistics:
    """How many units there are, how long they are, and in how many each word of a query stands.

    Args:
        terms: the query's words, with weights.
    """

    def __init__(self, terms: Mapping[str, float]) -> None:
        self.terms = dict(terms)
        self.units = 0
        self.length = 0
        self.frequency: Counter[str] = Counter()

    def add(self, tokens: Sequence[str]) -> None:
        """Count one unit."""
        self.units += 1
        self.length += len(tokens)
        self.frequency.update(self.terms.keys() & set(tokens))

    def score(self, tokens: Sequence[str]) -> float:
        """BM25 of one unit."""
        shared = self.terms.keys() & set(tokens)
        if not shared:
            return 0.0
        counts = Counter(token for token in tokens if token in shared)
        norm = K1 * (1 - B + B * len(tokens) * self.units / max(1, self.length))
        score = 0.0
        for term, count in counts.items():
            holding = self.frequency[term]
            idf = math.log(1 + (self.units - holding + 0.5) / (holding + 0.5))
            score += self.terms[term] * idf * count / (count + norm)
        return score


def bm25(terms: Mapping[str, float], units: Iterable[Sequence[str]]) -> list[float]:
    """Scores of units, given as their words.

    Args:
        terms: the query's words, with weights.
        units: words of each.
    """
    statistics, texts = Statistics(terms), list(units)
    for tokens in texts:
        statistics.add(tokens)
    return [statistics.score(tokens) for tokens in texts]


def query_terms(text: str) -> dict[str, float]:
    """Words of a query, each with weight 1."""
    return dict.fromkeys(words(text), 1.0)


def weighted_terms(query: Query) -> dict[str, float]:
    """Words of the query with weight 1, further words of the instruction with 1/4."""
    return {**dict.fromkeys(words(query.instruction), 0.25), **query_terms(query.query)}


class LexicalCritic:
    """Scores by the words that a unit shares with the query and the instruction.

    No model, no training, any language. Words of the instruction count a quarter: it says what to
    keep, mostly in words of its own.
    """

    name = "lexical"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """BM25 over the units of the call; 0 for a unit without a word of the query."""
        return bm25(weighted_terms(query), (words(f"{unit.heading} {unit.text}") for unit in units))
