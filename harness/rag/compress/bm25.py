"""BM25 of one query over units that may not fit in memory: only the query's words are counted.

The formula is that of Lucene (Robertson & Zaragoza 2009; Kamphuis et al. 2020), as in bm25s, with
which the tests compare it. An index would cost more than the one query that is asked of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from harness.rag.retrieve.tokens import words

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

    def idf(self, term: str) -> float:
        """Inverse document frequency, above 0."""
        found = self.frequency[term]
        return math.log(1 + (self.units - found + 0.5) / (found + 0.5))

    def score(self, tokens: Sequence[str]) -> float:
        """BM25 of one unit."""
        shared = self.terms.keys() & set(tokens)
        if not shared:
            return 0.0
        counts = Counter(token for token in tokens if token in shared)
        norm = K1 * (1 - B + B * len(tokens) * self.units / max(1, self.length))
        return sum(
            self.terms[term] * self.idf(term) * count / (count + norm)
            for term, count in counts.items()
        )


def query_terms(text: str) -> dict[str, float]:
    """Words of a query, each with weight 1."""
    return dict.fromkeys(words(text), 1.0)


def bm25(terms: Mapping[str, float], units: Iterable[Sequence[str]]) -> list[float]:
    """Scores of units, given as their words."""
    tokens = list(units)
    statistics = Statistics(terms)
    for one in tokens:
        statistics.add(one)
    return [statistics.score(one) for one in tokens]
