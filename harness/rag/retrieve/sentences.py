"""Sentences with exact offsets, for many languages, line-structured text included.

Boundaries come from sentencex (Wikimedia, MIT): rules of each language, abbreviations, quotes,
CJK. What it leaves to the reader is decided here: whether a line end is a wrapped line or the end
of a record, and what is done with a sentence that never ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from harness.core import BadInput
from harness.rag.retrieve.language import identify_language

LONGEST = 2000
"""Characters after which a sentence without an end is cut at a space."""
_SUSPECT = 120
_WITHOUT_QUOTES = {ord(mark): " " for mark in "\"'`()[]{}\u00ab\u00bb\u2018\u201c\u201d\u201e"}
_LINE_END = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_ITEM = re.compile(r"\s*(?:[-*+•|>#]|\d+[.)]\s|[A-Z][\w .'-]{0,40}:\s)")
_CLOSING = "\"')]*_ \u201d\u2019"
_WRAPPED = range(45, 140)  # lengths of a line that a typesetter or editor broke


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Character spans of the sentences of `text`, in order, without the space around them.

    Every character that is not white space lies in exactly one span. A line end closes a sentence
    unless the line was wrapped (the next one goes on in small letters, or this one is as long as
    a typeset line, does not end a sentence and no list item or heading follows). A sentence above
    :data:`LONGEST` characters is cut at a space where there is one.

    Args:
        text: any text; empty gives no span.
        language: ISO 639-1 code; default: as identified, else English.

    Raises:
        BadInput: if sentencex is not installed.
    """
    language = language or identify_language(text) or "en"
    return [
        span
        for block in _blocks(text)
        for sentence in _sentences(text, *block, language)
        for part in _cut(text, *sentence)
        for span in _stripped(text, *part)
    ]


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    boundaries = _boundaries()
    for one in boundaries(language, text[start:end]):
        left, right = start + one["start_index"], start + one["end_index"]
        plain = text[left:right].translate(_WITHOUT_QUOTES) if right - left > _SUSPECT else ""
        if plain == text[left:right] or not plain:
            yield left, right
            continue
        # A quotation mark or bracket without its partner would hold many sentences together.
        for inner in boundaries(language, plain):
            yield left + inner["start_index"], left + inner["end_index"]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Stretches that no sentence crosses: paragraphs, and within them lines that end a record."""
    start = 0
    for match in _LINE_END.finditer(text):
        line_start = max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1
        if not _is_wrapped(text[line_start : match.start()], text[match.end() : match.end() + 60]):
            yield start, match.end()
            start = match.end()
    if start < len(text):
        yield start, len(text)


def _is_wrapped(line: str, following: str) -> bool:
    if not following.strip() or following[0] in "\r\n" or _ITEM.match(following):
        return False
    if _ITEM.match(line) and len(line) not in _WRAPPED:
        return False
    first = following.lstrip()[0]
    if first.islower():
        return True
    return len(line) in _WRAPPED and not line.rstrip(_CLOSING).endswith((".", "!", "?", ":"))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        space = max(text.rfind(mark, start, start + LONGEST) for mark in (" ", "\n", "\t"))
        middle = space + 1 if space > start else start + LONGEST
        yield start, middle
        start = middle
    yield start, end


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inner = text[start:end]
    left = start + len(inner) - len(inner.lstrip())
    right = end - (len(inner) - len(inner.rstrip()))
    if left < right:
        yield left, right


def _boundaries() -> Any:
    try:
        return import_module("sentencex").get_sentence_boundaries
    except ImportError as error:
        raise BadInput(
            "splitting sentences needs sentencex: pip install 'agent-skill-harness[rag]'"
        ) from error
