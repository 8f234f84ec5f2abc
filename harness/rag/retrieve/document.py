"""A parsed document, how a parser builds one, and the spans of it that a search returns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from harness.core import digest

Arm = Literal["hybrid", "weighted", "dense", "lexical"]


class Page(NamedTuple):
    """A page or slide.

    Attributes:
        number: as people count, from 1.
        start: character of the text at which it begins.
    """

    number: int
    start: int


class Time(NamedTuple):
    """Time at which a character of a transcript was spoken.

    Attributes:
        seconds: from the beginning of the recording.
        start: character of the text.
    """

    seconds: float
    start: int


class Heading(NamedTuple):
    """A heading.

    Attributes:
        start: character of the text at which it stands.
        level: 1 for the highest; the columns of a table are the lowest.
        title: its words, without marks; empty where a table ends.
    """

    start: int
    level: int
    title: str


@dataclass(frozen=True)
class Document:
    """One document; every offset counts characters of `text`.

    Attributes:
        id: its name in an index; parsing uses the path as it was given.
        text: the parsed text.
        source: where it came from, for citations: a path or URL.
        pages: in order of `start`; empty where the format has no pages.
        headings: in order of `start`.
        times: of a recording's transcript, in order of `start`; else empty.
        metadata: facts to filter by (title, author, language, ...).
        warnings: what a reader should know (pages without text, a guessed encoding).
    """

    id: str
    text: str
    source: str = ""
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    warnings: tuple[str, ...] = ()
    times: tuple[Time, ...] = ()

    @property
    def digest(self) -> str:
        """Digest of everything but the warnings: a document with the same one is unchanged."""
        return digest([self.text, self.to_row()])

    def page_at(self, offset: int) -> int | None:
        """Number of the page on which the character at `offset` stands."""
        index = bisect_right(self.pages, offset, key=lambda page: page.start)
        return self.pages[index - 1].number if index else None

    def time_at(self, offset: int) -> float | None:
        """Second at which the character at `offset` was spoken; None but in a recording."""
        return time_at(self.times, offset)

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, the highest first."""
        return tuple(heading.title for heading in headings_at(self.headings, offset))

    def to_row(self) -> dict[str, Any]:
        """JSON form without the text and the warnings."""
        row = {
            "id": self.id,
            "source": self.source,
            "pages": [list(page) for page in self.pages],
            "headings": [list(heading) for heading in self.headings],
            "metadata": dict(self.metadata),
        }
        return row | ({"times": [list(time) for time in self.times]} if self.times else {})

    @classmethod
    def from_row(cls, row: Mapping[str, Any], text: str = "") -> Document:
        """The document that :meth:`to_row` described, with its text where it is at hand."""
        return cls(
            id=row["id"],
            text=text,
            source=row["source"],
            pages=tuple(Page(*page) for page in row["pages"]),
            headings=tuple(Heading(*heading) for heading in row["headings"]),
            metadata=row["metadata"],
            times=tuple(Time(*time) for time in row.get("times", ())),
        )


@dataclass(frozen=True)
class Hit:
    """A span of a document that a search found, with what is needed to cite it.

    Attributes:
        doc: id of the document.
        start: first character.
        end: character after the last.
        text: `document.text[start:end]`.
        score: by which the hits are ordered; comparable within one search only.
        source: path or URL of the document.
        page: page on which it begins, where the format has pages.
        time: second at which it begins, in a recording.
        headings: titles above it, the highest first.
        scores: of each arm that found it, by name.
        metadata: of the document.
    """

    doc: str
    start: int
    end: int
    text: str
    score: float
    source: str = ""
    page: int | None = None
    time: float | None = None
    headings: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(
        cls,
        document: Document,
        span: tuple[int, int],
        score: float,
        scores: Mapping[str, float],
    ) -> Hit:
        """The hit of a span of a document."""
        start, end = span
        return cls(
            doc=document.id,
            start=start,
            end=end,
            text=document.text[start:end],
            score=score,
            source=document.source,
            page=document.page_at(start),
            time=document.time_at(start),
            headings=document.headings_at(start),
            scores=scores,
            metadata=document.metadata,
        )

    @property
    def id(self) -> str:
        """Name of the span: `doc:start-end`."""
        return f"{self.doc}:{self.start}-{self.end}"

    @property
    def citation(self) -> str:
        """For people: `source, p. 3 [120:340]`; the offsets are characters of the parsed text."""
        position = place_of(self.page, self.time)
        return f"{self.source or self.doc}{position} [{self.start}:{self.end}]"

    def to_row(self) -> dict[str, Any]:
        """JSON form."""
        return {"id": self.id, **asdict(self), "headings": list(self.headings)}


def headings_at(headings: Sequence[Heading], offset: int) -> list[Heading]:
    """Headings above a character, the highest first."""
    path: list[Heading] = []
    for heading in headings[: bisect_right(headings, offset, key=lambda heading: heading.start)]:
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    return [heading for heading in path if heading.title]


def time_at(times: Sequence[Time], offset: int) -> float | None:
    """Second at which the character at `offset` was spoken: between two times, in proportion."""
    index = bisect_right(times, offset, key=lambda time: time.start)
    if not times:
        return None
    if index in (0, len(times)):
        return times[0 if index == 0 else -1].seconds
    before, after = times[index - 1], times[index]
    share = (offset - before.start) / (after.start - before.start)
    return before.seconds + share * (after.seconds - before.seconds)


def place_of(page: int | None, time: float | None) -> str:
    """Say where a passage begins: `, p. 3` of a text, `, 1:02:03` of a recording, or ""."""
    if page is not None:
        return f", p. {page}"
    return f", {clock(time)}" if time is not None else ""


def clock(seconds: float) -> str:
    """For people: `1:23`, or `1:02:03` from an hour on."""
    total = int(seconds)
    hours, minutes = divmod(total // 60, 60)
    return f"{hours}:{minutes:02}:{total % 60:02}" if hours else f"{minutes}:{total % 60:02}"


_SPACE = re.compile(r"\s+")
COLUMNS = 7
"""Level of the heading that a table's columns are to its rows."""
_DATUM = re.compile(r"(?!(?:19|20)\d\d$).*\d")


def columns_of(rows: Sequence[Sequence[str]]) -> str:
    """The labels of a table's columns; those above merged cells in front: `Region | 2024 Units`."""
    depth = 1
    while depth < min(4, len(rows) - 1):
        above = rows[depth - 1][1:]
        if len({*above, ""}) > len(above) or any(map(_DATUM.match, rows[depth][1:])):
            break
        depth += 1
    columns = list[tuple[str, ...]](zip(*rows[:depth], strict=False))
    return " | ".join(" ".join(dict.fromkeys(filter(None, cells))) for cells in columns)


class TextBuilder:
    """Collects blocks of a text, separated by blank lines or line ends."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.pages: list[Page] = []
        self.headings: list[Heading] = []
        self.warnings: list[str] = []

    def page(self, number: int) -> None:
        """A page begins where the next block begins."""
        self._separate("\n\n")
        self.pages.append(Page(number, self._length))

    def heading(self, title: str, level: int) -> None:
        """A heading, in the text and in the outline."""
        title = _SPACE.sub(" ", title).strip()
        if title:
            self._separate("\n\n")
            self.headings.append(Heading(self._length, level, title))
            self._put(title)

    def block(self, text: str) -> None:
        """A paragraph."""
        if text.strip():
            self._separate("\n\n")
            self._put(text.strip("\r\n"))

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """A table, one row per line, cells separated by ` | `, its columns the heading of its rows.

        Empty rows and columns are left out.
        """
        cells = ([_SPACE.sub(" ", cell).strip() for cell in row] for row in rows)
        grid = [[cell.replace("|", "\u00a6") for cell in row] for row in cells if any(row)]
        filled = sorted({column for row in grid for column, cell in enumerate(row) if cell})
        lines = [[row[column] if column < len(row) else "" for column in filled] for row in grid]
        while len(filled) > 1 and lines and not any(lines[0][1:]):
            self.block(lines.pop(0)[0])  # a title above the columns
        columns = len(lines) > 1 and len(filled) > 1
        if columns:
            self._separate("\n\n")
            self.headings.append(Heading(self._length, COLUMNS, columns_of(lines)))
        self.block("\n".join(" | ".join(line).rstrip() for line in lines))
        if columns:
            self.headings.append(Heading(self._length, COLUMNS, ""))

    def document(self, source: str, metadata: dict[str, JsonValue]) -> Document:
        """The document, its source for a name."""
        return Document(
            id=source,
            text=self.text,
            source=source,
            pages=tuple(self.pages),
            headings=tuple(self.headings),
            metadata=metadata,
            warnings=tuple(self.warnings),
        )

    def _separate(self, mark: str) -> None:
        if self._length and not (self._parts and self._parts[-1] == mark):
            self._put(mark)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
