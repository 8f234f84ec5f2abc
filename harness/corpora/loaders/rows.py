"""Rows of published files, JSON, JSONL or CSV, with errors that name the row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.core import BadInput, read_rows
from harness.corpora.loaders.published import Item
from harness.corpora.reading import Evidence, Source

Row = dict[str, Any]
"""One record, as its file has it."""


def rows_of(path: Path) -> Iterator[tuple[str, Row]]:
    """Yield (place for messages, record) of a .jsonl, .json (a list, or {"data": list}) or .csv.

    Raises:
        BadInput: if the file is missing or of none of these forms.
    """
    if path.suffix == ".jsonl":
        for number, row in read_rows(path):
            yield f"{path}:{number}", row
        return
    if not path.is_file():
        raise BadInput(f"expected a .jsonl, .json or .csv file, found nothing at {str(path)!r}")
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as handle:
            for number, record in enumerate(csv.DictReader(handle), 2):
                yield f"{path}:{number}", dict(record)
        return
    try:
        value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{str(path)!r} is not JSON in UTF-8: {error}") from error
    if isinstance(value, dict) and "data" in value:
        value = value["data"]  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    if not isinstance(value, list):
        raise BadInput(f"{str(path)!r}: expected a list of records, found another JSON value")
    records: list[Row] = value  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
    for number, row in enumerate(records):
        yield f"{path}: record {number}", row


def read_each(
    rows: Iterable[tuple[str, Row]], read: Callable[[Row], Iterable[Item]], form: str
) -> Iterator[Item]:
    """What `read` makes of every record.

    Args:
        rows: places and records.
        read: one record to its questions; KeyError, TypeError, ValueError and IndexError of it
            mean that the record has another form.
        form: name of the form, for messages.

    Raises:
        BadInput: if a record has another form (the record and the missing field are named).
    """
    for where, row in rows:
        try:
            yield from list(read(row))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise BadInput(
                f"{where}: expected a record of {form}, found {row!r:.200} "
                f"({type(error).__name__}: {detail})"
            ) from error


class Documents:
    """Documents of one question, under names that are unique."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._named: dict[str, str] = {}

    def add(self, title: str, text: str) -> str:
        """Add a document; its id is the title, numbered where the title comes again."""
        name, number = title or "document", 1
        while name in self._sources:
            number += 1
            name = f"{title} ({number})"
        self._sources[name] = Source(id=name, title=title, text=text)
        self._named.setdefault(title, name)
        return name

    def named(self, title: str) -> str | None:
        """Id of the first document of that title."""
        return self._named.get(title)

    def whole(self, name: str) -> Evidence:
        """A whole document as evidence."""
        return Evidence(doc=name, start=0, end=len(self._sources[name].text))

    @property
    def sources(self) -> tuple[Source, ...]:
        """All of them, in the order in which they came."""
        return tuple(self._sources.values())


def joined(sentences: Iterable[str]) -> tuple[str, list[tuple[int, int]]]:
    """A text of sentences, a space between them where they bring none, and where each stands."""
    text, spans = "", list[tuple[int, int]]()
    for sentence in sentences:
        gap = " " if text and not text[-1:].isspace() and not sentence[:1].isspace() else ""
        start = len(text) + len(gap)
        lead = len(sentence) - len(sentence.lstrip())
        text += gap + sentence
        spans.append((start + lead, start + len(sentence.rstrip())))
    return text, spans
