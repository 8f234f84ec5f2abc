"""A question over documents with its gold evidence, and the task files that are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from harness.core import BadInput, Task, Value, digest, write_atomic

Metric = Literal[
    "em", "f1", "rouge", "choice", "exam", "boolean", "all", "part", "numbers", "classes"
]
"""How an answer is judged; `harness.rag.tasks.reading` says what each one is."""
SOURCES = "documents.jsonl"
"""The file of a search task's work folder that holds its documents, one a line."""


class Source(Value):
    """A document.

    Attributes:
        id: unique within its question; evidence names it.
        text: offsets count its characters.
        title: a title that is not part of the text.
    """

    id: str
    text: str
    title: str = ""


class Evidence(Value):
    """A part of a document that an answer rests on: `text[start:end]` of document `doc`."""

    doc: str
    start: int = Field(ge=0)
    end: int

    def overlaps(self, other: Evidence) -> bool:
        """Return True if the two have a character in common."""
        return self.doc == other.doc and self.start < other.end and other.start < self.end


class Reading(Value):
    """A question over documents.

    Attributes:
        id: unique within its set.
        family: `search` (many short documents, in one file) or `longdoc` (each one a file).
        question: as it is put to the agent, with what it must know about the form of an answer.
        answers: accepted answers; for `all`, the parts that must all be there.
        metric: how the answer is judged.
        sources: the documents; none for sets that come without.
        evidence: gold evidence, in the order in which the answer needs it.
        choices: letter -> text, for `choice`.
        meta: facts of the set (type, hops, level, hints, ...).
    """

    id: str
    family: Literal["search", "longdoc"]
    question: str
    answers: tuple[str, ...]
    metric: Metric
    sources: tuple[Source, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    choices: dict[str, str] = {}
    meta: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _evidence_lies_in_its_document(self) -> Self:
        lengths = {source.id: len(source.text) for source in self.sources}
        if len(lengths) < len(self.sources):
            raise ValueError(f"{self.id!r}: two documents have the same id")
        for part in self.evidence:
            if not part.start < part.end <= lengths.get(part.doc, 0):
                raise ValueError(f"{self.id!r}: evidence {part!r} does not lie in its document")
        return self

    def quotes(self) -> tuple[str, ...]:
        """The text of every piece of evidence."""
        texts = {source.id: source.text for source in self.sources}
        return tuple(texts[part.doc][part.start : part.end] for part in self.evidence)


def write_readings(readings: Iterable[Reading], out: Path, split: str) -> list[Task]:
    """Write `<split>.jsonl` and the documents beside it; equal documents are written once.

    Args:
        readings: taken one by one, so that long documents need not fit into memory together.
        out: folder; files of the same names are replaced.
        split: name of the task file.

    Raises:
        BadInput: if the folder cannot be written.
    """
    tasks = [to_task(reading, out) for reading in readings]
    write_tasks(tasks, out, split)
    return tasks


def to_task(reading: Reading, out: Path) -> Task:
    """The task of a question; its documents are written below `out / "documents"`.

    A search task has one file, :data:`SOURCES`; a long-document task one text file per document,
    named by the document's id.

    Raises:
        BadInput: if the folder cannot be written.
    """
    if reading.family == "search":
        rows = [source.model_dump_json(exclude_defaults=True) for source in reading.sources]
        files = {SOURCES: "\n".join(rows) + "\n"} if rows else {}
    else:
        files = {source.id: source.text for source in reading.sources}
    paths: dict[str, str] = {}
    for name, text in files.items():
        suffix = Path(name).suffix or ".txt"
        paths[name] = f"documents/{digest(text.encode())[:16]}{suffix}"
        if not (out / paths[name]).is_file():
            write_atomic(out / paths[name], text)
    meta: dict[str, JsonValue] = {
        "metric": reading.metric,
        "evidence": [part.model_dump() for part in reading.evidence],
        **({"choices": {**reading.choices}} if reading.choices else {}),
        **reading.meta,
    }
    return Task(
        id=reading.id,
        prompt=reading.question,
        files=paths,
        answer=list(reading.answers),
        check=reading.family,
        meta=meta,
    )


def parse_sources(name: str, text: str) -> list[Source]:
    """The documents of the text of a :data:`SOURCES` file, or of one other file under its name.

    Raises:
        ValueError: if a row is no document.
    """
    if name != SOURCES:
        return [Source(id=name, text=text)]
    return [Source.model_validate(json.loads(line)) for line in text.split("\n") if line]


def write_tasks(tasks: Sequence[Task], out: Path, split: str, *, defaults: bool = False) -> None:
    """Write `<split>.jsonl`, one task per line.

    Args:
        tasks: in the order of the file.
        out: folder; a file of the same name is replaced.
        split: name of the task file.
        defaults: write fields that have their default value, too.

    Raises:
        BadInput: if the folder cannot be written.
    """
    lines = [task.model_dump_json(exclude_defaults=not defaults) + "\n" for task in tasks]
    write_atomic(out / f"{split}.jsonl", "".join(lines))


def check_limit(limit: int | None) -> None:
    """Refuse a number of tasks that is none.

    Raises:
        BadInput: if `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"expected a limit of at least 1, got {limit!r}")


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
