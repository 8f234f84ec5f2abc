"""Labels of a table in a sentence, and the values that belong to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from harness.rag.check.numbers import Mention, words

TOKEN = re.compile(r"[^\W\d_]+|\d+")
_CUT = re.compile(r"[,;:]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
MOST = 8  # values and labels of a sentence that are aligned
# Characters that a cut counts for; cost of a label without a value, of a value in a wrong unit.
_CUT_COST, _IDLE, _UNFIT = 30, 1000, 10_000


class Mark(NamedTuple):
    """Labels of rows or columns in a sentence; of every set, one number is meant."""

    start: int
    end: int
    named: tuple[frozenset[int], ...]


def assign(
    items: Sequence[Mark | Mention],
    marks: Sequence[Mark],
    sentence: str,
    unfit: Callable[[Any, Mark], bool] | None = None,
) -> list[Mark | None]:
    """The mark that each item belongs to: in the order of both, every mark with an item where there
    are enough, and the closest ones; None of one in a unit that none has."""
    marks = marks[:MOST]
    if not marks:
        return [None] * len(items)
    costs = [
        [
            gap(item, mark, sentence) + _UNFIT * bool(unfit and unfit(item, mark))
            for mark in marks
        ]
        for item in items
    ]  # fmt: skip
    best = min(
        combinations_with_replacement(range(len(marks)), len(items)),
        key=lambda order: (
            sum(costs[n][m] for n, m in enumerate(order)) + _IDLE * (len(marks) - len(set(order)))
        ),
    )
    return [marks[m] if costs[n][m] < _UNFIT else None for n, m in enumerate(best)]


def gap(item: Mark | Mention | re.Match[str], mark: Mark, sentence: str) -> int:
    start, end = item.span() if isinstance(item, re.Match) else (item.start, item.end)
    between = sentence[min(end, mark.end) : max(start, mark.start)]
    return len(between) + _CUT_COST * len(_CUT.findall(between))


@lru_cache(maxsize=1 << 14)
def spellings(label: str) -> tuple[list[str], ...]:
    """Words of a label, with and without what stands in brackets; every sentence asks for them."""
    texts = (label, re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " ", label))
    return tuple([key_of(match[0]) for match in TOKEN.finditer(text)] for text in texts)


def key_of(token: str) -> str:
    return next(iter(words(token)), token.lower())
