"""The context stage: a query, sources and a budget become the passages that a model reads.

Retrieval, compression, both in turn, and truncation stand behind one interface, so that an eval can
compare them at the same budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.core import BadInput, digest
from harness.rag.compress import compress, open_tokenizer
from harness.rag.retrieve import Arm, Document, Hit
from harness.rag.tools.documents import search_documents
from harness.rag.tools.passages import GAP, Passage, merged, packed, truncated, within

ContextArm = Literal["compress", "retrieve", "both", "truncate"]
ARMS: tuple[ContextArm, ...] = ("compress", "retrieve", "both", "truncate")
# Tokens of a context where nothing else is asked for.
BUDGET = 1500
# Tokens of a budget from which every marker has an id for `expand`.
NAMED_FROM = 600
_DEPTH = 64
# `both` retrieves so many times the budget, and compresses that.
_WIDER = 4


@dataclass(frozen=True)
class Gathered:
    """The choice of a stage.

    Attributes:
        arm: which stage.
        passages: in the order of the documents.
        text: what the model reads; at most `budget` tokens.
        tokens: of `text`.
        tokenizer: in which they are counted.
        warnings: what a reader must know.
    """

    arm: ContextArm
    passages: tuple[Passage, ...]
    text: str
    tokens: int
    tokenizer: str
    warnings: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Identity of the context, for a graph's state."""
        return digest([self.arm, [list(passage[:3]) for passage in self.passages], self.text])


@dataclass(frozen=True)
class ContextStage:
    """One way to choose a context.

    Attributes:
        arm: `compress`, `retrieve`, `both`, or `truncate` (head and tail of everything).
        search: arm of the retrieval.
        critic: of the compression.
        instruction: what to keep, for the compression.
        tokenizer: in which the budget holds.
        finder: (query, passages) -> hits in the sources, best first, in place of `search`.
    """

    arm: ContextArm
    search: Arm = "weighted"
    critic: str = "auto"
    instruction: str = ""
    tokenizer: str = "estimate"
    finder: Callable[[str, int], Sequence[Hit]] | None = None

    def gather(self, query: str, sources: Sequence[Document], budget: int = BUDGET) -> Gathered:
        """Choose passages of the sources for a query.

        Args:
            query: the question.
            sources: documents with distinct ids.
            budget: most tokens of the text, headings and markers included.

        Raises:
            BadInput: if there is no source, or the budget is below the smallest unit.
        """
        if not sources or budget < 1:
            raise BadInput(
                f"expected documents and a budget of 1 token or more, got {len(sources)} "
                f"documents and {budget}"
            )
        if self.arm == "truncate":
            return self._shown(truncated(sources, budget, self._count))
        if self.arm == "compress":
            return self._compressed(query, sources, budget)
        if self.arm == "retrieve":
            return self._shown(self._retrieve(query, sources, budget))
        wider = self._retrieve(query, sources, budget * _WIDER)
        parts = [Document(id=passage.name, text=passage.text) for passage in wider]
        gathered = self._compressed(query, parts, budget)
        return replace(gathered, passages=tuple(map(within, gathered.passages)))

    def _retrieve(self, query: str, sources: Sequence[Document], budget: int) -> list[Passage]:
        if self.finder is not None:
            hits = self.finder(query, _DEPTH)
        else:
            hits = search_documents(sources, query, _DEPTH, self.search)
        ranked = [Passage(hit.doc, hit.start, hit.end, hit.text, hit.score) for hit in hits]
        return merged(packed(ranked, budget, self._count), sources)

    def _compressed(self, query: str, sources: Sequence[Document], budget: int) -> Gathered:
        result = compress(
            list(sources),
            query,
            instruction=self.instruction,
            budget=budget,
            critic=self.critic,
            tokenizer=self.tokenizer,
            # What was left out can be asked for, where the budget bears markers that name it.
            markers="full" if budget >= NAMED_FROM else "auto",
        )
        return Gathered(
            self.arm,
            tuple(Passage(s.doc, s.start, s.end, s.text, s.score) for s in result.spans),
            result.text,
            result.tokens.output,
            result.tokens.tokenizer,
            tuple(result.warnings),
        )

    def _shown(self, passages: Sequence[Passage]) -> Gathered:
        text = GAP.join(passage.shown for passage in passages)
        name = open_tokenizer(self.tokenizer).name
        return Gathered(self.arm, tuple(passages), text, self._count(text), name)

    def _count(self, text: str) -> int:
        return open_tokenizer(self.tokenizer).count(text)
