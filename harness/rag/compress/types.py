"""Values of the compressor: what is scored, what is kept, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from harness.core import Printed, Value

# What a unit is: a word, sentence, paragraph, table row, JSON record or block of code.
Granularity = Literal["word", "sentence", "paragraph", "row", "record", "code"]
# What is asked for: one of these, or by content.
Choice = Literal["auto", "word", "sentence", "paragraph", "row", "record", "code"]
# Of markers; see `harness.rag.compress.compress`.
Style = Literal["auto", "full", "short", "none"]


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


@dataclass(frozen=True)
class Unit:
    """The smallest part that is kept or left out whole.

    Attributes:
        doc: id of the document.
        start: first character in the document.
        end: character behind the last one; `text == document.text[start:end]`.
        text: verbatim.
        granularity: what it is.
        heading: path of the headings above it, outermost first, joined by " > "; the header row
            of its table; or the path of its JSON array or object.
        header: span of the header row without which a table row says nothing; kept with it.
    """

    doc: str
    start: int
    end: int
    text: str
    granularity: Granularity
    heading: str = ""
    header: tuple[int, int] | None = None


class Critic(Protocol):
    """Scores units for a query, as the token critic of QwenLong-CPRS (section 2.2) does."""

    @property
    def name(self) -> str:
        """Name of what scored; stands in every result."""
        ...

    def score(self, query: Query, units: Sequence[Unit]) -> Sequence[float]:
        """A score for every unit, higher is kept first.

        Units come in document order, all those of a call together; scores are comparable within
        one call only, unless the critic says more.
        """
        ...


class Span(Value):
    """A verbatim part of a source that was kept.

    Attributes:
        id: content address: the same part of the same text has the same id everywhere.
        doc: id of the document.
        start: first character in the document.
        end: character behind the last one.
        text: `document.text[start:end]`.
        score: the critic's score of its best unit.
        granularity: of its units; `word` for the beginning of a sentence.
    """

    id: str
    doc: str
    start: int
    end: int
    text: str
    score: float
    granularity: Granularity


class TokenCounts(Value):
    """Tokens before and after, in the named tokenizer."""

    input: int
    output: int
    tokenizer: str


class Omission(Value):
    """A part that was left out.

    Attributes:
        id: what `expand` takes.
        doc: id of its document.
        start: first character in the document.
        end: character behind the last one.
        tokens: what it holds, in the named tokenizer.
    """

    id: str
    doc: str
    start: int
    end: int
    tokens: int


class Compressed(Printed, Value):
    """Output of `compress --json`.

    Attributes:
        spans: verbatim parts in document order, documents in the order given.
        text: the spans with a marker for every part left out.
        tokens: counts of all documents and of `text`, markers included.
        critic: what scored.
        warnings: what a reader must know (counts that no longer hold, coverage instead of
            pruning).
        omitted: what was left out, in document order.
    """

    spans: list[Span]
    text: str
    tokens: TokenCounts
    critic: str
    warnings: list[str]
    omitted: list[Omission] = []

    def _facts(self) -> dict[str, str]:
        tokens, warnings = self.tokens, {"warnings": "; ".join(self.warnings)}
        counts = f"{tokens.output:,} of {tokens.input:,} ({tokens.tokenizer}), by {self.critic}"
        return {"tokens": counts, **(warnings if self.warnings else {}), "text": self.text}
