"""Stems of English words, irregular forms included: the key of everything lexical here."""

from __future__ import annotations

import re
from functools import lru_cache

from harness.rag.retrieve import terms

WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+(?:[.,:/]\d+)*|[%$\u20ac\u00a3]")
"""A word, a number with its separators, or a sign that gives a number its meaning."""

_FORMS = (
    "be am is are was were been|begin began begun|become became|break broke broken"
    "|bring brought|build built|buy bought|catch caught|choose chose chosen|come came|do did done"
    "|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen"
    "|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|get got gotten"
    "|give gave given|go went gone|grow grew grown|have has had|hear heard|hide hid hidden"
    "|hold held|keep kept|know knew known|lead led|leave left|lend lent|lose lost|make made"
    "|mean meant|meet met|pay paid|ride rode ridden|rise rose risen|run ran|say said|see saw seen"
    "|sell sold|send sent|shake shook shaken|shoot shot|show shown|shrink shrank shrunk"
    "|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent"
    "|stand stood|steal stole stolen|stick stuck|strike struck|swim swam swum|take took taken"
    "|teach taught|tell told|think thought|throw threw thrown|understand understood|wake woke"
    "|wear wore worn|win won|withdraw withdrew|write wrote written|good better best"
    "|bad worse worst|man men|woman women|child children|person people|foot feet|mouse mice"
    "|tooth teeth|life lives|wife wives|half halves"
)
_BASE = {
    form: words[0] for words in (group.split() for group in _FORMS.split("|")) for form in words
}


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Stem of one word, in lower case; a number or sign stays as it is."""
    lower = word.lower().replace("\u2019", "'").removesuffix("'s")
    lower = _BASE.get(lower, lower)
    stemmed = terms(lower) if lower.isalpha() else []
    return stemmed[0] if len(stemmed) == 1 else lower
