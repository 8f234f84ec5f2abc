"""A parsed document: one text, and what stands at which of its characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from harness.core import digest

Metadata = Mapping[str, JsonValue]


class Page(NamedTuple):
    """A page or slide.

    Attributes:
        number: as people count, from 1.
        start: character of the text at which it begins.
    """

    number: int
    start: int


class Heading(NamedTuple):
    """A heading.

    Attributes:
        start: character of the text at which it stands.
        level: 1 for the highest.
        title: its words, without marks.
    """

    start: int
    level: int
    title: str


def _no_metadata() -> dict[str, JsonValue]:
    return {}


@dataclass(frozen=True)
class Document:
    """One document; every offset counts characters of `text`.

    Attributes:
        id: its name in an index; parsing uses the path as it was given.
        text: the parsed text.
        source: where it came from, for citations: a path or URL.
        pages: in order of `start`; none where the format has no pages.
        headings: in order of `start`.
        metadata: facts to filter by (title, author, language, ...).
        warnings: what a reader should know (pages without text, a guessed encoding).
    """

    id: str
    text: str
    source: str = ""
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    metadata: Metadata = field(default_factory=_no_metadata)
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest of everything but the warnings: a document with the same one is unchanged."""
        return digest([self.text, self.to_row()])

    def page_at(self, offset: int) -> int | None:
        """Number of the page on which the character at `offset` stands."""
        place = bisect_right(self.pages, offset, key=lambda page: page.start)
        return self.pages[place - 1].number if place else None

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """Titles of the headings above `offset`, the highest first."""
        path: list[Heading] = []
        for heading in self.headings[
            : bisect_right(self.headings, offset, key=lambda one: one.start)
        ]:
            while path and path[-1].level >= heading.level:
                path.pop()
            path.append(heading)
        return tuple(heading.title for heading in path)

    def to_row(self) -> dict[str, Any]:
        """JSON form without the text and the warnings."""
        return {
            "id": self.id,
            "source": self.source,
            "pages": [list(page) for page in self.pages],
            "headings": [list(heading) for heading in self.headings],
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any], text: str = "") -> Document:
        """What :meth:`to_row` gave, with its text where it is at hand."""
        return cls(
            id=row["id"],
            text=text,
            source=row["source"],
            pages=tuple(Page(*page) for page in row["pages"]),
            headings=tuple(Heading(*heading) for heading in row["headings"]),
            metadata=row["metadata"],
        )
