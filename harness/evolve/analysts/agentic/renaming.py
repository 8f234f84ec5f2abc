"""Renaming words: other words of the same shape that sort where the old ones did.

A renaming is a relation that a correct script must respect: what is copied, joined, grouped or
sorted by a word comes out the same with the new word in its place.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

WORD = re.compile(r"[^\W\d_]{3,}")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstvw"
_TRIES = 60
FIXED = frozenset(
    re.findall(
        r"\w+",
        "total totals subtotal sum average mean count yes true false none null not nan unknown and "
        "the for from with january february march april may june july august september october "
        "november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday "
        "wednesday thursday friday saturday sunday mon tue wed thu fri sat sun eur usd gbp com org "
        "net www http",
    )
)
"""Words that programs give a meaning to, so that they are no names."""


def words(texts: Iterable[str]) -> set[str]:
    """The words of texts, without case."""
    return {word.casefold() for text in texts for word in WORD.findall(text)}


def renaming(
    wanted: Iterable[str], known: Iterable[str], fixed: Iterable[str], seed: int
) -> dict[str, str]:
    """Old word -> new word, both without case; the order of all known words stays.

    Args:
        wanted: words to rename as far as possible, out of the known ones.
        known: every word of the data: new ones differ from them and keep the order among them.
        fixed: words that keep their meaning and stay.
        seed: of the choice.
    """
    chosen = random.Random(seed)
    kept = {word.casefold() for word in fixed} | FIXED
    order = sorted({word.casefold() for word in known})
    found: dict[str, str] = {}
    for word in sorted({one.casefold() for one in wanted} & set(order) - kept):
        if not word.isascii():
            continue
        place = bisect_left(order, word)
        below = order[place - 1] if place else ""
        above = order[place + 1] if place + 1 < len(order) else "\U0010ffff"
        new = _like(word, below, above, chosen)
        if new and new not in kept:
            found[word] = order[place] = new
    return found


def _like(word: str, below: str, above: str, chosen: random.Random) -> str:
    """A word of the same length and rhythm strictly between two others; "" if none was found."""
    for attempt in range(_TRIES):
        head = min(2 + attempt * (len(word) - 2) // _TRIES, len(word) - 1)
        new = word[:head] + "".join(
            chosen.choice(_VOWELS if letter in _VOWELS else _CONSONANTS) for letter in word[head:]
        )
        if new != word and below < new < above:
            return new
    return ""


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A text with its words renamed; each keeps its capitals."""

    def new(match: re.Match[str]) -> str:
        old = match[0]
        found = names.get(old.casefold())
        if found is None or len(found) != len(old):
            return old
        return "".join(b.upper() if a.isupper() else b for a, b in zip(old, found, strict=True))

    return WORD.sub(new, text)


def renamer(names: Mapping[str, str]) -> Callable[[object], object]:
    """A change of cell values that renames the words of texts."""
    return lambda value: renamed(value, names) if isinstance(value, str) else value
