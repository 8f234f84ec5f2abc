"""Labels of a table in a sentence, and the values that belong to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from harness.rag.check.numbers import Agreement, Mention, Period, agreement, read, words

TOKEN = re.compile(r"[^\W\d_]+|\d+")
_CUT = re.compile(r"[,;:]\s|\b(?:and|but|while|whereas)\b", re.IGNORECASE)
_YEAR = 4  # digits
MOST = 8  # values and labels of a sentence that are aligned
# Characters that a cut counts for; cost of a label without a value, of a value in a wrong unit.
_CUT_COST, _IDLE, _UNFIT = 30, 1000, 10_000


class Mark(NamedTuple):
    """Labels of rows or columns in a sentence; of every set, one number is meant."""

    start: int
    end: int
    named: tuple[frozenset[int], ...]


def label_marks(
    sentence: str,
    labels: Mapping[int, str],
    used: Sequence[Mark],
    sections: Sequence[frozenset[str]] = (),
) -> list[Mark]:
    """Labels that stand in a sentence, the longest first; then words that tell apart the labels
    that do not, but those of the section of one that does: Beer revenue.

    The words of a date, or of a value with its unit, are those of no label that has no number.

    Args:
        sentence: the text.
        labels: by number of their row or column.
        used: marks whose words are taken.
        sections: of rows, the words of what they belong to; a row is named by half of its words.
    """
    mentions = read(sentence)
    dates = [value for value in mentions if isinstance(value, Period) and value.day]
    units = [value for value in mentions if getattr(value, "unit", "")[:1] not in ("", "#")]
    keys = {n: spellings(text) for n, text in labels.items()}
    tokens = [
        (match.start(), match.end(), key_of(match[0]))
        for match in TOKEN.finditer(sentence)
        if not any(mark.start <= match.start() < mark.end for mark in used)
    ]
    spelled = [key for _, _, key in tokens]
    free = set(range(len(tokens)))
    of_values = {
        index
        for index, (start, end, _) in enumerate(tokens)
        if any(value.start < end and start < value.end for value in (*dates, *units))
    }
    marks = {
        (date.start, date.end): same
        for date in dates
        if (
            same := {
                n
                for n, text in labels.items()
                if any(agreement(stated, date) is Agreement.SAME for stated in read(text))
            }
        )
    }
    written = [(n, label) for n, variants in keys.items() for label in variants]
    for number, label in sorted(written, key=lambda pair: -len(pair[1])):
        for index in range(len(tokens) - len(label) + 1) if label else ():
            span = (tokens[index][0], tokens[index + len(label) - 1][1])
            indexes = set(range(index, index + len(label)))
            if (
                spelled[index : index + len(label)] == label
                and (span in marks or indexes <= free)
                and (not indexes & of_values or any(map(str.isdigit, label)))
            ):
                marks.setdefault(span, set()).add(number)
                free -= indexes
    free -= of_values
    direct = set[int]().union(*marks.values())
    spoken = {
        key
        for index, key in enumerate(spelled)
        if index in free and (words(key) or (key.isdigit() and len(key) == _YEAR))
    }
    shared = {n: spoken & set(label[-1]) for n, label in keys.items() if n not in direct}
    if sections:
        spoken = spoken.difference(*(sections[n] for n in direct))
        shared = {
            n: common & spoken
            for n, common in shared.items()
            if 2 * len(common) >= len([k for k in keys[n][-1] if words(k) or k.isdigit()])
        }
    for index in sorted(free):
        owners = {n for n, match in shared.items() if spelled[index] in match}
        best = {n for n in owners if not any(shared[n] < shared[m] for m in owners)}
        if best and len(best) < max(len(labels), 2):
            marks.setdefault(tokens[index][:2], set()).update(best)
    single = set[int]().union(*(numbers for numbers in marks.values() if len(numbers) == 1))
    return [
        Mark(*span, (frozenset(numbers),))
        for span, numbers in sorted(marks.items())
        if len(numbers) == 1 or not numbers <= single
    ]


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
