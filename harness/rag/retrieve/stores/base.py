"""An index over a store that keeps chunks, searches vectors and counts words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.rag.retrieve.change import BATCH, Changed, Progress, with_language
from harness.rag.retrieve.chunk import (
    DEFAULT_CHUNKING,
    Chunk,
    Chunking,
    chunk_document,
    search_text,
)
from harness.rag.retrieve.document import Document, Hit
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.search import (
    DEFAULT_SEARCH,
    Condition,
    SearchOptions,
    all_hold,
    ranked_hits,
)
from harness.rag.retrieve.text import TOKENISER, terms

Vector = NDArray[np.float32]
TermCounts = Mapping[str, int]


class Index(Protocol):
    """Documents that can be searched.

    An implementation is opened with the encoder that made it, and refuses any other.
    """

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents; one whose id is in the index replaces that one."""
        ...

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if an id is not in the index; nothing is changed then.
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


class StoredChunk(NamedTuple):
    """A chunk that a store found."""

    doc: str
    chunk: Chunk
    score: float


class Store(Protocol):
    """The operations of a store. Everything that it takes and gives is JSON, text and vectors."""

    name: str

    def about(self) -> dict[str, Any] | None:
        """The facts that :meth:`begin` was given; None for a store that was not begun."""
        ...

    def begin(self, about: dict[str, Any], dimension: int) -> None:
        """Make room for vectors of this length."""
        ...

    def put(
        self,
        row: dict[str, Any],
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vector,
        counts: Sequence[TermCounts],
    ) -> None:
        """Keep a document in place of the one with its id; its row is written last."""
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Drop documents with their chunks."""
        ...

    def rows(self) -> list[dict[str, Any]]:
        """Of every document its row."""
        ...

    def document(self, doc: str) -> tuple[dict[str, Any], str] | None:
        """Row and text of a document."""
        ...

    def dense(self, vector: Vector, k: int, docs: Sequence[str] | None) -> list[StoredChunk]:
        """The nearest chunks by inner product, best first, of all documents or of some."""
        ...

    def lexical(self, query: TermCounts, k: int, docs: Sequence[str] | None) -> list[StoredChunk]:
        """The best chunks by their words, best first, of all documents or of some."""
        ...

    def settle(self) -> None:
        """Bring search structures up to date behind the last document of an addition."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class StoreIndex:
    """The verbs of :class:`Index` over a store.

    Raises:
        BadInput: if the store was begun with another encoder, chunking or tokeniser.
    """

    def __init__(
        self, store: Store, encoder: Encoder, chunking: Chunking = DEFAULT_CHUNKING
    ) -> None:
        self._store = store
        self.encoder = encoder
        self._chunking = chunking
        about = {
            "encoder": encoder.name,
            "dimension": encoder.dimension,
            "chunking": chunking.model_dump(),
            "tokeniser": TOKENISER,
        }
        stored = store.about()
        if stored is None:
            store.begin(about, encoder.dimension)
        elif stored != about:
            changed = [key for key in about if stored.get(key) != about[key]]
            raise BadInput(
                f"{store.name} was made with other {', '.join(changed)}: expected "
                f"{ {key: stored.get(key) for key in changed} }, got "
                f"{ {key: about[key] for key in changed} }; open it with those, or name a new one"
            )

    def ids(self) -> list[str]:
        """Ids of all documents."""
        return [row["id"] for row in self._store.rows()]

    def document(self, doc: str) -> Document:
        """A document with its text.

        Raises:
            BadInput: if there is none of that id.
        """
        stored = self._store.document(doc)
        if stored is None:
            raise BadInput(f"no document {doc!r} in {self._store.name}")
        return Document.from_row(*stored)

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents one by one; an unchanged one costs nothing.

        A kill leaves the documents that were put whole; adding again resumes after them.
        """
        digests = {row["id"]: row["digest"] for row in self._store.rows()}
        counts: Counter[str] = Counter()
        chunks, additions = 0, list(documents)
        for number, document in enumerate(additions, start=1):
            fingerprint = document.digest
            if digests.get(document.id) == fingerprint:
                counts["unchanged"] += 1
            else:
                chunks += self._put(with_language(document), fingerprint)
                counts["replaced" if document.id in digests else "added"] += 1
            digests[document.id] = fingerprint
            if progress is not None:
                progress(number, len(additions))
        if chunks:
            self._store.settle()
        return Changed(
            added=counts["added"],
            replaced=counts["replaced"],
            unchanged=counts["unchanged"],
            chunks=chunks,
            documents=len(digests),
        )

    def _put(self, document: Document, fingerprint: str) -> int:
        chunks = chunk_document(document, self._chunking)
        texts = [search_text(document, chunk) for chunk in chunks]
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        vectors = np.concatenate([self.encoder.encode(batch) for batch in ([], *batches)])
        row = {**document.to_row(), "digest": fingerprint}
        self._store.put(row, document.text, chunks, vectors, [Counter(terms(t)) for t in texts])
        return len(chunks)

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if an id is not in the index; nothing is changed then.
        """
        stored = set(self.ids())
        for doc in ids:
            if doc not in stored:
                raise BadInput(f"no document {doc!r} in {self._store.name}")
        self._store.remove(list(dict.fromkeys(ids)))
        deleted = len({*ids})
        return Changed(deleted=deleted, documents=len(stored) - deleted)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        options: SearchOptions = DEFAULT_SEARCH,
        where: Sequence[Condition] = (),
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The `k` best spans, best first.

        Raises:
            BadInput: if the query is empty or k is below 1.
        """
        docs: list[str] | None = None
        if where:
            docs = [
                row["id"]
                for row in self._store.rows()
                if all_hold(where, {**row["metadata"], "id": row["id"], "source": row["source"]})
            ]

        def dense(depth: int) -> list[tuple[tuple[str, Chunk], float]]:
            vector = self.encoder.encode_queries([query])[0]
            nearest = self._store.dense(vector, depth, docs) if docs != [] else []
            return [((doc, chunk), score) for doc, chunk, score in nearest]

        def lexical(depth: int) -> list[tuple[tuple[str, Chunk], float]]:
            counts = Counter(terms(query))
            best = self._store.lexical(counts, depth, docs) if docs != [] else []
            return [((doc, chunk), score) for doc, chunk, score in best]

        arms = {"dense": dense, "lexical": lexical}
        return ranked_hits(query, k, options, reranker, arms, lambda key: key, self.document)

    def close(self) -> None:
        """Let go of the connection."""
        self._store.close()
