"""Documents to chunks that are searched, within parents that are returned (small to big)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple, Self

from pydantic import model_validator

from harness.core import Value
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.sentences import sentence_spans

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|[^\w\s]")
_PIECE = 8
_CONTEXT = 200


class Chunking(Value):
    """How documents are cut; part of an index's identity.

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
    return sum(1 + (len(found) - 1) // _PIECE for found in _TOKEN.findall(text))


def chunk_document(document: Document, chunking: Chunking) -> list[Chunk]:
    """Chunks of whole sentences, in order, that cover every sentence.

    A chunk lies in one parent. Where a section begins, a new chunk does too, unless the one
    before is still below a quarter of its size.
    """
    language = document.metadata.get("language")
    units = list(_units(document, chunking.size, language if isinstance(language, str) else None))
    chunks: list[Chunk] = []
    for parent in _grouped(units, chunking.parent):
        start, end = parent[0].start, parent[-1].end
        for section in _sections(parent, chunking.size):
            before: list[_Unit] = []
            for group in _balanced(section, chunking):
                repeated = _tail(before, group, chunking)
                first = repeated[0] if repeated else group[0]
                chunks.append(Chunk(first.start, group[-1].end, start, end))
                before = group
    return chunks


def context_of(document: Document, chunk: Chunk) -> str:
    """The title and headings above a chunk, `a > b`: what it is about but does not say itself."""
    title = document.metadata.get("title")
    known = [" ".join(title.split())] if isinstance(title, str) else []
    known += document.headings_at(chunk.start)
    opening = " ".join(document.text[chunk.start : chunk.start + 2 * _CONTEXT].split())
    parts = [part for part in dict.fromkeys(known) if part and part not in opening]
    return " > ".join(parts)[:_CONTEXT]


def search_text(document: Document, chunk: Chunk) -> str:
    """What is embedded and indexed for a chunk: its context in front of its own text."""
    context, text = context_of(document, chunk), document.text[chunk.start : chunk.end]
    return f"{context}\n{text}" if context else text


def _units(document: Document, size: int, language: str | None) -> Iterator[_Unit]:
    starts = [heading.start for heading in document.headings]
    last = -1
    for start, end in sentence_spans(document.text, language):
        section = bisect_left(starts, end)
        for one in _pieces(document.text, start, end, size):
            tokens = estimate_tokens(document.text[one[0] : one[1]])
            yield _Unit(*one, tokens, section != last)
            last = section


def _pieces(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """A sentence, cut between words where it alone is longer than a chunk."""
    begun, last, tokens = start, start, 0
    for found in _TOKEN.finditer(text, start, end):
        cost = 1 + (len(found[0]) - 1) // _PIECE
        if tokens and tokens + cost > size:
            yield begun, last
            begun, tokens = found.start(), 0
        tokens += cost
        last = found.end()
    yield begun, end


def _grouped(units: Sequence[_Unit], size: int) -> Iterator[list[_Unit]]:
    group: list[_Unit] = []
    total = 0
    for unit in units:
        full = total + unit.tokens > size
        if group and (full or (unit.opens and 4 * total >= size)):
            yield group
            group, total = [], 0
        group.append(unit)
        total += unit.tokens
    if group:
        yield group


def _sections(units: Sequence[_Unit], size: int) -> Iterator[list[_Unit]]:
    """Runs of units that may share a chunk: cut where a section begins behind enough text."""
    run: list[_Unit] = []
    total = 0
    for unit in units:
        if run and unit.opens and 4 * total >= size:
            yield run
            run, total = [], 0
        run.append(unit)
        total += unit.tokens
    if run:
        yield run


def _balanced(units: Sequence[_Unit], chunking: Chunking) -> Iterator[list[_Unit]]:
    """Chunks of about equal length, as few as possible: no short rest at the end of a section."""
    total = sum(unit.tokens for unit in units)
    if total <= chunking.size:
        yield list(units)
        return
    most = chunking.size - chunking.overlap
    share = total / ceil(total / most)
    group: list[_Unit] = []
    length = before = 0
    for unit in units:
        if group and (length + unit.tokens > most or before + length + unit.tokens / 2 > share):
            yield group
            before = max(0, before + length - share)
            group, length = [], 0
        group.append(unit)
        length += unit.tokens
    yield group


def _tail(before: list[_Unit], group: list[_Unit], chunking: Chunking) -> list[_Unit]:
    """Last sentences of the chunk before that fit the overlap and leave the chunk in its size."""
    left = min(chunking.overlap, chunking.size - sum(unit.tokens for unit in group))
    kept: list[_Unit] = []
    for unit in reversed(before[1:]):
        if unit.tokens > left:
            break
        left -= unit.tokens
        kept.insert(0, unit)
    return kept
