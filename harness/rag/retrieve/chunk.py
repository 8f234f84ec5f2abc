"""Documents to chunks that are searched, within parents that are returned (small to big)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, inf
from typing import NamedTuple, Self

from pydantic import model_validator

from harness.core import Value
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.text import sentence_spans, stripped

_PIECE, _TOKEN = (
    re.compile(rf"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{letters}|[^\w\s]")
    for letters in ("{1,8}", "+")
)
_CONTEXT = 200


class Chunking(Value):
    """Settings for cutting documents; part of an index's identity.

    Attributes:
        size: most tokens of a chunk, as :func:`estimate_tokens` counts; the default leaves room
            for the headings in the 256 tokens that the default encoder reads.
        overlap: most tokens that a chunk repeats of the one before it.
        parent: most tokens of a parent.
    """

    size: int = 230
    overlap: int = 30
    parent: int = 800

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 0 <= self.overlap < self.size <= self.parent:
            raise ValueError(
                "expected 0 <= overlap < size <= parent, got "
                f"{self.overlap}, {self.size}, {self.parent}"
            )
        return self


DEFAULT_CHUNKING = Chunking()


class Chunk(NamedTuple):
    """A stretch of a document, in characters, and the larger stretch around it."""

    start: int
    end: int
    parent_start: int
    parent_end: int


class _Unit(NamedTuple):
    start: int
    end: int
    tokens: int
    opens: bool  # whether a section begins here


def estimate_tokens(text: str) -> int:
    """About how many word pieces a tokenizer makes: one per 8 letters of a word, mark or CJK sign.

    An estimate for sizes only; budgets are counted by the model's own tokenizer.
    """
    return len(_PIECE.findall(text))


def chunk_document(document: Document, chunking: Chunking) -> list[Chunk]:
    """Chunks of whole sentences, in order, that cover every sentence.

    A chunk lies in one parent. Where a section begins, a new chunk does too, unless the one
    before is still below a quarter of its size.
    """
    text, size = document.text, chunking.size
    # The tokens of a long text need no counting: none has more than eight letters.
    short = len(text) <= size or (len(text) <= 10 * size and estimate_tokens(text) <= size)
    if short and not document.headings:
        span = stripped(text, 0, len(text))
        return [Chunk(*span, *span)] if span else []  # whatever its sentences are
    chunks: list[Chunk] = []
    for parent in _grouped(_units(document, chunking.size), chunking.parent, chunking.parent):
        start, end = parent[0].start, parent[-1].end
        for section in _grouped(parent, chunking.size):
            previous: list[_Unit] = []
            for group in _balanced(section, chunking):
                room = min(chunking.overlap, chunking.size - sum(unit.tokens for unit in group))
                first = group[0]
                for unit in reversed(previous[1:]):  # sentences that fit the overlap
                    if unit.tokens > room:
                        break
                    room -= unit.tokens
                    first = unit
                chunks.append(Chunk(first.start, group[-1].end, start, end))
                previous = group
    return chunks


def context_of(document: Document, chunk: Chunk) -> str:
    """The title and headings above a chunk, `a > b`: what it is about but does not say itself."""
    title = document.metadata.get("title")
    titles = [" ".join(title.split())] if isinstance(title, str) else []
    titles += document.headings_at(chunk.start)
    opening = " ".join(document.text[chunk.start : chunk.start + 2 * _CONTEXT].split())
    parts = [part for part in dict.fromkeys(titles) if part and part not in opening]
    return " > ".join(parts)[:_CONTEXT]


def search_text(document: Document, chunk: Chunk) -> str:
    """The text that is embedded and indexed for a chunk: its context in front of its own text."""
    context, text = context_of(document, chunk), document.text[chunk.start : chunk.end]
    return f"{context}\n{text}" if context else text


def _units(document: Document, size: int) -> Iterator[_Unit]:
    """Sentences with their tokens; one that alone is longer than a chunk is cut between words."""
    text, language = document.text, document.metadata.get("language")
    headings = [heading.start for heading in document.headings]
    last_section = -1
    for start, end in sentence_spans(text, language if isinstance(language, str) else None):
        section = bisect_left(headings, end)
        begin, tokens = start, len(_PIECE.findall(text, start, end))
        if tokens > size:
            tokens, last = 0, start
            for match in _TOKEN.finditer(text, start, end):
                cost = estimate_tokens(match[0])
                if tokens and tokens + cost > size:
                    yield _Unit(begin, last, tokens, section != last_section)
                    last_section, begin, tokens = section, match.start(), 0
                tokens += cost
                last = match.end()
        yield _Unit(begin, end, tokens, section != last_section)
        last_section = section


def _grouped(units: Iterable[_Unit], size: int, most: float = inf) -> Iterator[list[_Unit]]:
    """Runs of units: cut where a section begins after a quarter of `size`, and at `most`."""
    group: list[_Unit] = []
    total = 0
    for unit in units:
        if group and (total + unit.tokens > most or (unit.opens and 4 * total >= size)):
            yield group
            group, total = [], 0
        group.append(unit)
        total += unit.tokens
    if group:
        yield group


def _balanced(units: Sequence[_Unit], chunking: Chunking) -> Iterator[list[_Unit]]:
    """Chunks of about equal length, as few as possible: no short one at the end of a section."""
    total = sum(unit.tokens for unit in units)
    if total <= chunking.size:
        yield list(units)
        return
    most = chunking.size - chunking.overlap
    share = total / ceil(total / most)
    group: list[_Unit] = []
    length = carried = 0
    for unit in units:
        if group and (length + unit.tokens > most or carried + length + unit.tokens / 2 > share):
            yield group
            carried = max(0, carried + length - share)
            group, length = [], 0
        group.append(unit)
        length += unit.tokens
    yield group
