"""The words of a lesson that carry meaning, stemmed. English."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z_](?:[\w.]*\w)")
_FILLER_WORDS = (
    "a an the and or of in on at with from is are be it its their this any all each only ever just"
    " have has do does not use using used prefer rely choose employ always never must should"
    " assume apply check attempt try verify ensure one both into over non your you them"
)
_FILLER = frozenset(_FILLER_WORDS.split())
_SAME = {
    "attribute": "property", "method": "property", "fresh": "new", "instantiate": "create",
    "recreate": "create", "build": "create", "worksheet": "sheet", "hardcode": "hardcod",
}  # fmt: skip


def content_words(text: str) -> tuple[str, ...]:
    """Stemmed words that carry meaning, in order, without repetition."""
    stems = (stem(word.lower()) for word in _WORD.findall(text) if word.lower() not in _FILLER)
    return tuple(dict.fromkeys(one for one in stems if one not in _FILLER))


def stem(word: str) -> str:
    """A word without its ending, and one word for a few that mean the same."""
    word = _SAME.get(word, word)
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return _SAME.get(word, word)
