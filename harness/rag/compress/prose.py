"""Paragraphs, sentences and words, with offsets; what is never split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from harness.rag.compress.types import Granularity
from harness.rag.retrieve import sentence_spans, stripped

_SPACE = r"(?:[ \t\u00a0\u202f]{1,2})"
_GAP = r"(?:[ \t\u00a0\u202f]{1,2}|[ \t]?\n[ \t]*(?=\S))"  # a word may follow on the next line
_UNITS = (
    "[ap]\\.m\\.?|%|‰|°[CF]?|percent|per cent|pp|bps|bn|billions?|millions?|thousands?|"
    "trillions?|dozen|[kMGTP]i?B|bytes?|bits?|[kMG]?bit/s|[kMG]?Hz|[kMGm]?W|[kMG]?Wh|[km]?V|m?A|[mkMG]?Pa|[kM]?J|"
    "kcal|cal|mol|[mµμun]?mol(?:/L)?|[kmµμun]?g(?:/(?:dL|mL|L|kg))?|[kcmµμun]?m(?:/s|[²³23])?|"
    "[mµμcdh]?[lL]|km/h|mph|ha|ft|in|inch(?:es)?|miles?|feet|lbs?|oz|tons?|tonnes?|"
    "[mµμun]?s|sec(?:onds?)?|min(?:utes?)?|h|hours?|hrs?|days?|weeks?|months?|years?|yrs?|"
    "tokens?|times|fold|USD|EUR|GBP|CNY|JPY|dollars?|euros?|[x×]|[ap]m"  # noqa: RUF001
)
_NUMBER = r"[-+±~≈<>≤≥]?[$€£¥#]?\d[\d\u00a0\u202f]*(?:[.,:/'’]\d+)*(?:[eE][-+]?\d+)?"  # noqa: RUF001
_IDENTIFIER = r"[\w$@#]+(?:(?:[-./:\\+&=~@?%]|::|->)[\w$@#]+)+|\w+\(\)"
_NEGATION = (
    r"(?:not|no|never|none|nor|neither|without|cannot|can't|won't|\w+n['’]t|hardly|scarcely|"  # noqa: RUF001
    r"barely|kein\w*|nicht|ohne|nie|pas|sans|jamais|sin|nunca|non|senza|não|sem)"
)
_FILLER = r"(?:the|a|an|any|all|at|so|very|yet|been|be|to|have|of|in|as|much|more|longer)"


def _patterns(gap: str) -> re.Pattern[str]:
    number = rf"{_NUMBER}(?:{gap}?(?:-|–|to|and|±|of|x|×){gap}?{_NUMBER}){{0,3}}"  # noqa: RUF001
    quantity = rf"(?:[A-Z]{{2,3}}{gap})?{number}(?:(?:{gap}|-)?(?:{_UNITS})(?!\w))*"
    negated = rf"{_NEGATION}(?:{gap}{_FILLER}){{0,4}}{gap}(?:{_IDENTIFIER}|{quantity}|[\w'’-]+)"  # noqa: RUF001
    cjk = r"[不没未非无沒無][\u4e00-\u9fff]{1,2}"
    url = r"[a-z]+://[^\s<>\"]+"
    return re.compile(
        rf"{url}|(?<!\w){negated}|(?<![\w]){_IDENTIFIER}(?!\w)|(?<![\w.]){quantity}|{cjk}|\w+",
        re.IGNORECASE,
    )


_WITHIN_LINES = _patterns(_SPACE)
_ACROSS_LINES = _patterns(_GAP)


def atoms(text: str, *, across_lines: bool = False) -> Iterator[tuple[int, int]]:
    """Spans that are kept or left out whole, in order, disjoint; plain words among them.

    Args:
        text: any text.
        across_lines: whether a unit of measure or a negated word may stand on the next line (in
            wrapped prose; never in tables, where lines are records).
    """
    pattern = _ACROSS_LINES if across_lines else _WITHIN_LINES
    for match in pattern.finditer(text):
        yield match.span()


def closed_over_atoms(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans`, joined wherever a boundary between two of them would split an atom.

    Only the text around each boundary is read, so that the cost is that of the boundaries.
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and _splits_atom(text, joined[-1][1], start):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


_NEAR = 80
_MAY_GO_ON = re.compile(r"[\w%°$€£¥#'’]")  # noqa: RUF001  # an atom's parts before a space


def _splits_atom(text: str, end: int, start: int) -> bool:
    between = text[end:start]
    if "\n" in between or len(between) > 2 or (between and not _MAY_GO_ON.match(text[end - 1])):
        return False
    left = max(0, end - _NEAR)
    if left:  # begin at a word, or half a word would be read as one
        left += len(text[left:end]) - len(text[left:end].lstrip())
        space = text.find(" ", left, end)
        left = space + 1 if space >= 0 else left
    near = text[left : start + _NEAR]
    return any(a + left < end and b + left > start for a, b in atoms(near))


_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+")


def prose_spans(text: str, granularity: Granularity, language: str | None) -> list[tuple[int, int]]:
    """Spans of `text` at word, sentence or paragraph granularity."""
    if granularity == "word":
        pairs = list(_words(text))
    elif granularity == "paragraph":
        breaks = [place for match in _BREAK.finditer(text) for place in match.span()]
        bounds = [0, *breaks, len(text)]
        pairs = list(zip(bounds[::2], bounds[1::2], strict=True))
    else:
        return closed_over_atoms(text, sentence_spans(text, language))
    return [span for pair in pairs if (span := stripped(text, *pair))]


def _words(text: str) -> Iterator[tuple[int, int]]:
    """Atoms; the text between two goes to the first up to the last space, then to the second."""
    left = 0
    for (_, end), (following, _) in pairwise(atoms(text, across_lines=True)):
        between = text[end:following]
        space = max(between.rfind(mark) for mark in " \t\n\r\u00a0\u3000") + 1
        middle = end + space if space else following
        yield left, middle
        left = middle
    yield left, len(text)
