"""Bridges of multi-hop questions: what the best units name, and the question does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.rag.compress.bm25 import bm25
from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve.tokens import words

BEST = 4
"""Units whose names are followed."""
_NAME = re.compile(
    r"(?<![.!?] )(?<!^)(?:[A-Z][\w'-]+)(?:(?: (?:of|the|de|von|van|da))? [A-Z][\w'-]+)*"
)


def bridge_scores(
    query: Query, units: Sequence[Unit], scores: Sequence[float], tokens: Sequence[Sequence[str]]
) -> list[float]:
    """For each unit, from 0 to 1, how much it is about what the best units name.

    Args:
        query: its own words are no bridge.
        units: in document order.
        scores: of the critic.
        tokens: words of each unit.
    """
    asked = set(words(query.text))
    best = sorted(range(len(units)), key=lambda at: -scores[at])[:BEST]
    terms: dict[str, float] = {}
    for rank, at in enumerate(best):
        for name in _NAME.findall(units[at].text):
            for word in set(words(name)) - asked:
                terms[word] = max(terms.get(word, 0.0), 1 / (1 + rank))
    if not terms:
        return [0.0] * len(units)
    found = bm25(terms, tokens)
    most = max(found) or 1.0
    return [score / most for score in found]
