"""Documents to units: by what their content is, or at one granularity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

from harness.rag.compress.markers import marker_spans
from harness.rag.compress.segment.blocks import (
    CODE_SUFFIXES,
    Block,
    code_blocks,
    split_blocks,
    table_rows,
)
from harness.rag.compress.segment.prose import prose_spans
from harness.rag.compress.segment.records import Record, json_records
from harness.rag.compress.types import Granularity, Unit
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.language import identify_language

Choice = Literal["auto", "word", "sentence", "paragraph", "row", "record", "code"]

__all__ = ["Choice", "segment"]


def segment(
    document: Document, granularity: Choice = "auto", language: str | None = None
) -> list[Unit]:
    """Units of a document in order, disjoint; they cover its visible text but for old markers.

    Args:
        document: parsed; headings become the `heading` of units.
        granularity: `auto` gives JSON records, table rows, blocks of code, and sentences
            elsewhere; `row`, `record` and `code` ask for that structure where it is there.
        language: ISO 639-1 code; default: identified once for the document.
    """
    language = language or identify_language(document.text) or "en"
    units: list[Unit] = []
    place = 0
    for start, end in [*marker_spans(document.text), (len(document.text),) * 2]:
        part = Document(document.id, document.text[place:start])
        units += [_placed(unit, place, document) for unit in _units(part, granularity, language)]
        place = end
    return units


def _placed(unit: Unit, by: int, document: Document) -> Unit:
    header = (unit.header[0] + by, unit.header[1] + by) if unit.header else None
    heading = unit.heading or " > ".join(document.headings_at(unit.start + by))
    return Unit(
        unit.doc, unit.start + by, unit.end + by, unit.text, unit.granularity, heading, header
    )


def _units(document: Document, granularity: Choice, language: str) -> Iterator[Unit]:
    if granularity in ("auto", "record"):
        records = json_records(document.text)
        if records:
            yield from (_record(document, one) for one in records)
            return
    prose: Granularity = (
        granularity if granularity in ("word", "sentence", "paragraph") else "sentence"
    )
    if granularity in ("word", "sentence", "paragraph"):
        blocks = [Block(0, len(document.text), "prose")]
    elif PurePath(document.id).suffix.lower() in CODE_SUFFIXES or granularity == "code":
        blocks = [Block(0, len(document.text), "code")]
    elif granularity == "row" and "```" not in document.text and "|" not in document.text:
        blocks = [Block(0, len(document.text), "table")]
    else:
        blocks = split_blocks(document.text)
    for block in blocks:
        yield from _block(document, block, prose, language)


def _block(document: Document, block: Block, prose: Granularity, language: str) -> Iterator[Unit]:
    text, by = document.text[block.start : block.end], block.start
    if block.kind == "prose":
        for start, end in prose_spans(text, prose, language):
            yield Unit(document.id, start + by, end + by, text[start:end], prose)
    elif block.kind == "code":
        for start, end in code_blocks(text):
            yield Unit(document.id, start + by, end + by, text[start:end], "code")
    else:
        rows, header = table_rows(text)
        title = text[slice(*header)] if header else ""
        placed = (header[0] + by, header[1] + by) if header else None
        for start, end in rows:
            needs = None if (start, end) == header else placed
            yield Unit(document.id, start + by, end + by, text[start:end], "row", title, needs)


def _record(document: Document, record: Record) -> Unit:
    text = document.text[record.start : record.end]
    return Unit(document.id, record.start, record.end, text, "record", record.path)
