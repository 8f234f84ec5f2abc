"""An index over a store that keeps chunks, searches vectors and counts words."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.rag.retrieve.change import BATCH, with_language
from harness.rag.retrieve.chunk import Chunk, Chunking, chunk_document, search_text
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.search import (
    ArmSearch,
    Candidate,
    Changed,
    Condition,
    Index,
    Progress,
    Ranking,
    all_hold,
)
from harness.rag.retrieve.text import TOKENISER, terms

Vector = NDArray[np.float32]
TermCounts = Mapping[str, int]


class StoreIndex(Index):
    """An index whose documents, vectors and words another store keeps.

    Everything that a store takes and gives is JSON, text and vectors. A kill leaves the documents
    that were put whole; adding again resumes after them.

    Args:
        name: of the store, for messages.
        encoder: that makes its vectors.
        chunking: of documents that are added.

    Raises:
        BadInput: if the store was begun with another encoder, chunking or tokeniser.
    """

    def __init__(self, name: str, encoder: Encoder, chunking: Chunking) -> None:
        self.name, self.encoder, self._chunking = name, encoder, chunking
        about = {
            "encoder": encoder.name,
            "dimension": encoder.dimension,
            "chunking": chunking.model_dump(),
            "tokeniser": TOKENISER,
        }
        stored = self._about()
        if stored is None:
            self._begin(about, encoder.dimension)
        elif stored != about:
            changed = [key for key in about if stored.get(key) != about[key]]
            raise BadInput(
                f"{name} was made with other {', '.join(changed)}: expected "
                f"{ {key: stored.get(key) for key in changed} }, got "
                f"{ {key: about[key] for key in changed} }; open it with those, or name a new one"
            )

    @abstractmethod
    def _about(self) -> dict[str, Any] | None:
        """The facts that :meth:`_begin` was given; None for a store that was not begun."""

    @abstractmethod
    def _begin(self, about: dict[str, Any], dimension: int) -> None:
        """Make room for vectors of this length."""

    @abstractmethod
    def _put(
        self,
        row: dict[str, Any],
        text: str,
        chunks: Sequence[tuple[Chunk, Vector, TermCounts]],
    ) -> None:
        """Keep a document of which nothing is in the store; its row is written last."""

    @abstractmethod
    def _remove(self, ids: Sequence[str]) -> None:
        """Drop documents with their chunks, first their rows."""

    @abstractmethod
    def _rows(self) -> list[dict[str, Any]]:
        """The row of every document, in any order."""

    @abstractmethod
    def _document(self, doc: str) -> tuple[dict[str, Any], str] | None:
        """Row and text of a document."""

    @abstractmethod
    def _dense(self, vector: Vector, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        """The nearest chunks by inner product, best first, of all documents or of some."""

    @abstractmethod
    def _lexical(self, query: TermCounts, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        """The best chunks by their words, best first, of all documents or of some."""

    def _settle(self) -> None:
        """Bring search structures up to date behind the last document of an addition."""

    def close(self) -> None:
        """Nothing is held open, unless a store says otherwise."""

    def ids(self) -> list[str]:
        return sorted(row["id"] for row in self._rows())

    def document(self, doc: str) -> Document:
        stored = self._document(doc)
        if stored is None:
            raise BadInput(f"no document {doc!r} in {self.name}")
        return Document.from_row(*stored)

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        digests = {row["id"]: row["digest"] for row in self._rows()}
        counts: Counter[str] = Counter()
        additions = list(documents)
        for number, document in enumerate(additions, start=1):
            fingerprint = document.digest
            if digests.get(document.id) == fingerprint:
                counts["unchanged"] += 1
            else:
                counts["replaced" if document.id in digests else "added"] += 1
                named = with_language(document)
                chunks = chunk_document(named, self._chunking)
                texts = [search_text(named, chunk) for chunk in chunks]
                batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
                vectors = [vector for batch in batches for vector in self.encoder.encode(batch)]
                words = [Counter(terms(text)) for text in texts]
                row = {**named.to_row(), "digest": fingerprint}
                # Only now: an encoder that fails takes nothing away. Also what a kill left of it.
                self._remove([document.id])
                self._put(row, named.text, list(zip(chunks, vectors, words, strict=True)))
                counts["chunks"] += len(chunks)
            digests[document.id] = fingerprint
            if progress is not None:
                progress(number, len(additions))
        if counts["chunks"]:
            self._settle()
        return Changed.model_validate({**counts, "documents": len(digests)})

    def delete(self, ids: Sequence[str]) -> Changed:
        stored = set(self.ids())
        for doc in ids:
            if doc not in stored:
                raise BadInput(f"no document {doc!r} in {self.name}")
        self._remove(list(dict.fromkeys(ids)))
        deleted = len({*ids})
        return Changed(deleted=deleted, documents=len(stored) - deleted)

    def _arms(
        self, query: str, where: Sequence[Condition]
    ) -> tuple[dict[str, ArmSearch], Callable[[Any], Document]]:
        docs: list[str] | None = None
        if where:
            docs = [
                row["id"]
                for row in self._rows()
                if all_hold(where, {**row["metadata"], "id": row["id"], "source": row["source"]})
            ]

        def dense(depth: int) -> Ranking[Candidate]:
            vector = self.encoder.encode_queries([query])[0]
            return self._dense(vector, depth, docs) if docs != [] else []

        def lexical(depth: int) -> Ranking[Candidate]:
            counts = Counter(terms(query))
            return self._lexical(counts, depth, docs) if counts and docs != [] else []

        return {"dense": dense, "lexical": lexical}, self.document
