"""What a search finds, with what is needed to cite it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.rag.retrieve.document import Document

Arm = Literal["hybrid", "weighted", "dense", "lexical"]


def _no_scores() -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class Hit:
    """A span of a document; offsets count characters of its parsed text.

    Attributes:
        doc: id of the document.
        start: first character.
        end: character after the last.
        text: `document.text[start:end]`.
        score: by which the hits are ordered; comparable within one search only.
        source: path or URL of the document.
        page: page on which it begins, where the format has pages.
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
    headings: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=_no_scores)
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
        page = f", p. {self.page}" if self.page is not None else ""
        return f"{self.source or self.doc}{page} [{self.start}:{self.end}]"

    def to_row(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "id": self.id,
            "doc": self.doc,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "score": self.score,
            "source": self.source,
            "page": self.page,
            "headings": list(self.headings),
            "scores": dict(self.scores),
            "metadata": dict(self.metadata),
        }
