"""The verbs of an index, whatever keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from harness.core import Value
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.filters import Condition
from harness.rag.retrieve.hit import Hit
from harness.rag.retrieve.journal import Progress
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.search import SearchOptions


class Changed(Value):
    """What a change did.

    Attributes:
        added: documents that are new.
        replaced: documents that were there with another content.
        unchanged: documents that were there with the same content; nothing was embedded.
        deleted: documents taken out.
        chunks: of the documents added and replaced.
        documents: in the index now.
        warnings: languages that the encoder does not know, and the like.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    chunks: int = 0
    documents: int = 0
    warnings: tuple[str, ...] = ()


class Index(Protocol):
    """Documents that can be searched.

    An implementation is opened with the encoder that made it, and refuses any other.
    """

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents; one whose id is known replaces that one."""
        ...

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if an id is not known; nothing is changed then.
        """
        ...

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        options: SearchOptions = ...,
        where: Sequence[Condition] = (),
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The `k` best spans, best first."""
        ...

    def document(self, doc: str) -> Document:
        """A document by its id.

        Raises:
            BadInput: if there is none.
        """
        ...

    def ids(self) -> list[str]:
        """Ids of all documents."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
