"""Paragraphs, sentences and words, with offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from harness.rag.compress.segment.atoms import atoms, closed_over_atoms
from harness.rag.compress.types import Granularity
from harness.rag.retrieve.sentences import sentence_spans

Span = tuple[int, int]
_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+")


def paragraphs(text: str) -> list[Span]:
    """Spans between blank lines, without the space around them."""
    bounds = [0, *(place for match in _BREAK.finditer(text) for place in match.span()), len(text)]
    return [
        span for pair in zip(bounds[::2], bounds[1::2], strict=True) for span in _inner(text, *pair)
    ]


def prose_spans(text: str, granularity: Granularity, language: str | None) -> list[Span]:
    """Spans of `text` at word, sentence or paragraph granularity."""
    if granularity == "word":
        return list(_words(text))
    if granularity == "paragraph":
        return paragraphs(text)
    return closed_over_atoms(text, sentence_spans(text, language))


def _words(text: str) -> Iterator[Span]:
    """Atoms; what stands between two goes to the first up to the last space, then to the second."""
    found = list(atoms(text, across_lines=True))
    if not found:
        yield from _inner(text, 0, len(text))
        return
    left = 0
    for (_, end), (following, _) in pairwise(found):
        between = text[end:following]
        space = max(between.rfind(mark) for mark in " \t\n\r\u00a0\u3000") + 1
        middle = end + space if space else following
        yield from _inner(text, left, middle)
        left = middle
    yield from _inner(text, left, len(text))


def _inner(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    right = end - (len(part) - len(part.rstrip()))
    if left < right:
        yield left, right
