"""Words around a value, and how well two surroundings speak of the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.rag.check.numbers.normalise import normalise

_WORD = re.compile(r"[A-Za-z][A-Za-z'&-]*[A-Za-z]|[A-Za-z]")
_STOP_WORDS = (
    "a an the of for in on at to by and or with from as was were is are be been being has had have "
    "it its this that these those their his her our they we he she which who than then into over "
    "under about after before during between both each other such not no also would will can could "
    "may million millions billion billions thousand thousands trillion percent percentage dollars "
    "dollar usd euros approximately roughly nearly around totaled totalled amounted reported stood "
    "came equal equalled respectively year years ended ending fiscal month months quarter january "
    "february march april june july august september october november december compared said there"
)
STOP = frozenset(_STOP_WORDS.split())


def words(text: str) -> frozenset[str]:
    """Content words, lower case, endings off; numbers, months and words of amounts left out."""
    found = (one.lower().strip("'-") for one in _WORD.findall(normalise(text)))
    parts = (part for word in found for part in word.replace("'s", "").split("-"))
    return frozenset(stem(word) for word in parts if word and word not in STOP)


def stem(word: str) -> str:
    """An ending off: enough to join sale and sales, increase and increased."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


def coverage(of: frozenset[str], by: Iterable[str]) -> float:
    """Share of the words `of` that are among `by`; 0 where there are none."""
    return len(of & frozenset(by)) / len(of) if of else 0.0


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice coefficient of two sets of words, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
