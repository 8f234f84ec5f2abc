"""Values of the compressor: what is scored, what is kept, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

Granularity = Literal["word", "sentence", "paragraph", "row", "record", "code"]
"""What a unit is: a word, sentence, paragraph, table row, JSON record or block of code."""


@dataclass(frozen=True)
class Document:
    """One source.

    Attributes:
        id: name of the source in spans and citations (a path, a tool call, a title).
        text: its text after parsing; offsets count characters of it.
    """

    id: str
    text: str


@dataclass(frozen=True)
class Query:
    """Two parts of the triplet of QwenLong-CPRS (section 2); the context is the third.

    Attributes:
        instruction: what to keep and how it relates to the query ("tag the supporting facts").
        query: the question; empty for a compression without one.
    """

    instruction: str
    query: str

    @property
    def text(self) -> str:
        """Both parts in one text, for critics that read one."""
        return f"{self.instruction}\n{self.query}".strip()


Triplet = Query


@dataclass(frozen=True)
class Unit:
    """The smallest part that is kept or left out whole.

    Attributes:
        doc: id of the document.
        start: first character in the document.
        end: character behind the last one; `text == document.text[start:end]`.
        text: verbatim.
        granularity: what it is.
        heading: path of the headings above it, outermost first, joined by " > "; or the header
            row of its table.
    """

    doc: str
    start: int
    end: int
    text: str
    granularity: Granularity
    heading: str = ""


class Critic(Protocol):
    """Scores units for a query: the token critic of QwenLong-CPRS section 2.2 and its peers."""

    @property
    def name(self) -> str:
        """What scored; stands in every result."""
        ...

    def score(self, query: Query, units: Sequence[Unit]) -> Sequence[float]:
        """A score for every unit, higher is kept first.

        Units come in document order, all those of a call together; scores are comparable within
        one call only, unless the critic says more.
        """
        ...


class Span(BaseModel):
    """A verbatim part of a source that was kept.

    Attributes:
        id: content address: the same part of the same text has the same id everywhere.
        doc: id of the document.
        start: first character in the document.
        end: character behind the last one.
        text: `document.text[start:end]`.
        score: the critic's score of its best unit.
        granularity: of its units.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    doc: str
    start: int
    end: int
    text: str
    score: float
    granularity: Granularity


class TokenCounts(BaseModel):
    """Tokens before and after, in the named tokenizer."""

    model_config = ConfigDict(frozen=True)

    input: int
    output: int
    tokenizer: str


class Compressed(BaseModel):
    """What `compress --json` prints (DESIGN section 4).

    Attributes:
        spans: verbatim parts in document order, documents in the order given.
        text: the spans with a marker for every part left out.
        tokens: counts of all documents and of `text`, markers included.
        critic: what scored.
        warnings: what a reader must know (counts that no longer hold, coverage instead of
            pruning, a budget that expansion used up).
    """

    model_config = ConfigDict(frozen=True)

    spans: list[Span]
    text: str
    tokens: TokenCounts
    critic: str
    warnings: list[str]
