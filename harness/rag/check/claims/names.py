"""Names of people, places, works and organisations, by their capitals; no model, no list."""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?<![\w'])(?:[A-Z][\w'\u2019&.-]*|[A-Z]{2,})"
    r"(?:[ ](?:(?:of|the|de|la|del|von|van|der|den|and|&|al|bin|di|du)[ ]){0,2}"
    r"(?=[A-Z0-9])[A-Z0-9][\w'\u2019&.-]*)*"
)
_COMMON = (
    "a an the this that these those it its he she they we i you his her their our my your "
    "there here in on at by for from to of with without and or but if when while where after "
    "before since until as so because although though however also both each every all some "
    "any no not many most more less few several one two three four five six seven eight nine "
    "ten first second third another other such what which who whom whose why how yes "
    "according during despite under over about between among through overall additionally "
    "moreover furthermore finally then thus hence therefore meanwhile instead later today now "
    "only even just still january february march april may june july august september october "
    "november december monday tuesday wednesday thursday friday saturday sunday fiscal net "
    "total sales revenue is are was were has had have do does did q1 q2 q3 q4 fy h1 h2 usd "
    "eur gbp pm am "
)
_ORDINARY = frozenset(_COMMON.split())


def names(sentence: str) -> list[tuple[int, int]]:
    """Spans of names; a capital at the start of the sentence alone makes none.

    "March" and "Net sales" are none; "The Hague" is one without its article.
    """
    first = re.search(r"\w", sentence)
    opening = first.start() if first else 0
    found: list[tuple[int, int]] = []
    for match in _NAME.finditer(sentence):
        start, end = _trimmed(sentence, *match.span())
        if re.search("[A-Za-z]", sentence[start:end]) and not (
            start == opening and _is_ordinary_start(sentence, start, end)
        ):
            found.append((start, end))
    return found


def _trimmed(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Ordinary words at the ends off, and the full stop of the sentence."""
    while match := re.match(r"([\w'\u2019&.-]+)[ ]?", sentence[start:end]):
        if match[1].lower().strip(".") not in _ORDINARY:
            break
        start += match.end()
    text = sentence[start:end]
    if text.endswith((".", "-", "'", "&")) and not re.search(r"\b[A-Z]\.$", text):
        end -= 1
    if sentence[start:end].endswith(("'s", "\u2019s")):
        end -= 2
    return start, end


def _is_ordinary_start(sentence: str, start: int, end: int) -> bool:
    """One capitalised word that opens a sentence may be any word, unless it recurs within it."""
    word = sentence[start:end]
    if " " in word or not word[1:].islower():
        return False
    rest = sentence[end:]
    if rest[:2] in ("'s", "\u2019s") or rest.startswith((" was born", " said", " is a", " was a")):
        return False
    return word not in rest
