"""Documents as pages, for reading in order."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rag.retrieve import Document
from harness.rag.tools.passages import Passage

PAGE = 6000
"""Most characters of a page: about 1,500 tokens."""


def pages_of(documents: Sequence[Document], size: int = PAGE) -> list[Passage]:
    """All documents in order, cut at the last line end (else space) that fits a page.

    Every character lies on exactly one page; a document without text has none.

    Args:
        documents: to read.
        size: most characters of a page, 1 or more.
    """
    found: list[Passage] = []
    for document in documents:
        text, start = document.text, 0
        while start < len(text):
            end = _cut(text, start, size)
            found.append(Passage(document.id, start, end, text[start:end], 0.0))
            start = end
    return found


def _cut(text: str, start: int, size: int) -> int:
    end = start + size
    if end >= len(text):
        return len(text)
    for mark in ("\n", " "):
        place = text.rfind(mark, start + size // 2, end)
        if place >= 0:
            return place + 1
    return end
