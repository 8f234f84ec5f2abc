"""Puts a text together from pieces and notes what stands where."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import JsonValue

from harness.rag.retrieve.document import Document, Heading, Page

_SPACE = re.compile(r"\s+")


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

    def table(self, rows: Iterable[Iterable[str]]) -> None:
        """A table, one row a line, cells separated by ` | `; empty rows are left out."""
        lines = (" | ".join(_SPACE.sub(" ", cell).strip() for cell in row) for row in rows)
        self.block("\n".join(line for line in lines if line.strip(" |")))

    def document(self, source: str, metadata: dict[str, JsonValue]) -> Document:
        """The document, its source for a name."""
        return Document(
            id=source,
            text="".join(self._parts),
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
