"""An index over a store that keeps chunks, searches vectors and counts words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.core import BadInput
from harness.rag.retrieve import fusion
from harness.rag.retrieve.chunk import Chunk, Chunking, chunk_document, search_text
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.filters import Condition, all_hold
from harness.rag.retrieve.hit import Hit
from harness.rag.retrieve.index import Changed
from harness.rag.retrieve.journal import Progress
from harness.rag.retrieve.language import identify_language
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.search import SearchOptions, reranked
from harness.rag.retrieve.tokens import TOKENISER, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

TermCounts = Mapping[str, int]
_BATCH = 64
_DEFAULTS = SearchOptions()
_CHUNKING = Chunking()


class Found(NamedTuple):
    """A chunk that a store found."""

    doc: str
    chunk: Chunk
    score: float


class Store(Protocol):
    """What a store must do. Everything that it takes and gives is JSON, text and vectors."""

    name: str

    def about(self) -> dict[str, Any] | None:
        """What :meth:`begin` was given; None for a store that was not begun."""
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

    def dense(self, vector: Vector, k: int, docs: Sequence[str] | None) -> list[Found]:
        """The nearest chunks by inner product, best first, of all documents or of some."""
        ...

    def lexical(self, query: TermCounts, k: int, docs: Sequence[str] | None) -> list[Found]:
        """The best chunks by their words, best first, of all documents or of some."""
        ...

    def settle(self) -> None:
        """Bring search structures up to date behind the last document of an addition."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


class StoreIndex:
    """The verbs of :class:`harness.rag.retrieve.Index` over a store.

    Raises:
        BadInput: if the store was begun with another encoder, chunking or tokeniser.
    """

    def __init__(self, store: Store, encoder: Encoder, chunking: Chunking = _CHUNKING) -> None:
        self._store = store
        self.encoder = encoder
        self._chunking = chunking
        wanted = {
            "encoder": encoder.name,
            "dimension": encoder.dimension,
            "chunking": chunking.model_dump(),
            "tokeniser": TOKENISER,
        }
        known = store.about()
        if known is None:
            store.begin(wanted, encoder.dimension)
        elif known != wanted:
            changed = [key for key in wanted if known.get(key) != wanted[key]]
            raise BadInput(
                f"{store.name} was made with other {', '.join(changed)}: expected "
                f"{ {key: known.get(key) for key in changed} }, got "
                f"{ {key: wanted[key] for key in changed} }; open it with those, or name a new one"
            )

    def ids(self) -> list[str]:
        """Ids of all documents."""
        return [row["id"] for row in self._store.rows()]

    def document(self, doc: str) -> Document:
        """A document with its text.

        Raises:
            BadInput: if there is none of that id.
        """
        found = self._store.document(doc)
        if found is None:
            raise BadInput(f"no document {doc!r} in {self._store.name}")
        return Document.from_row(*found)

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents one by one; an unchanged one costs nothing.

        A kill leaves the documents that were put whole; adding again goes on behind them.
        """
        known = {row["id"]: row["digest"] for row in self._store.rows()}
        counts: Counter[str] = Counter()
        chunks, wanted = 0, list(documents)
        for number, document in enumerate(wanted, start=1):
            fingerprint = document.digest
            if known.get(document.id) == fingerprint:
                counts["unchanged"] += 1
            else:
                chunks += self._put(document, fingerprint)
                counts["replaced" if document.id in known else "added"] += 1
            known[document.id] = fingerprint
            if progress is not None:
                progress(number, len(wanted))
        if chunks:
            self._store.settle()
        return Changed(
            added=counts["added"],
            replaced=counts["replaced"],
            unchanged=counts["unchanged"],
            chunks=chunks,
            documents=len(known),
        )

    def _put(self, document: Document, fingerprint: str) -> int:
        if "language" not in document.metadata:
            language = identify_language(document.text)
            extra = {"language": language} if language else {}
            document = replace(document, metadata={**document.metadata, **extra})
        chunks = chunk_document(document, self._chunking)
        texts = [search_text(document, chunk) for chunk in chunks]
        row = {**document.to_row(), "digest": fingerprint}
        counts = [Counter(terms(text)) for text in texts]
        self._store.put(row, document.text, chunks, self._embedded(texts), counts)
        return len(chunks)

    def _embedded(self, texts: Sequence[str]) -> Vector:
        import numpy as np

        parts = [
            self.encoder.encode(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)
        ]
        return np.concatenate([self.encoder.encode([]), *parts])

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if an id is not known; nothing is changed then.
        """
        known = set(self.ids())
        for doc in ids:
            if doc not in known:
                raise BadInput(f"no document {doc!r} in {self._store.name}")
        self._store.remove(list(dict.fromkeys(ids)))
        gone = len({*ids})
        return Changed(deleted=gone, documents=len(known) - gone)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        options: SearchOptions = _DEFAULTS,
        where: Sequence[Condition] = (),
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The `k` best spans, best first.

        Raises:
            BadInput: if the query is empty or k is below 1.
        """
        if not query.strip() or k < 1:
            raise BadInput(f"expected a query and k of 1 or more, got {query[:60]!r} and {k}")
        docs = self._allowed(where)
        if docs == []:
            return []
        depth = max(options.depth, 2 * k)
        rankings: dict[str, list[tuple[tuple[str, Chunk], float]]] = {}
        if options.arm != "lexical":
            vector = self.encoder.encode_queries([query])[0]
            rankings["dense"] = _pairs(self._store.dense(vector, depth, docs))
        if options.arm != "dense":
            rankings["lexical"] = _pairs(self._store.lexical(Counter(terms(query)), depth, docs))
        ranked = fusion.fuse(rankings, options.arm, options.dense_weight)
        wanted = max(k, options.reranked if reranker else 0)
        hits = self._hits(ranked, rankings, options, wanted)
        return (reranked(hits, query, reranker) if reranker else hits)[:k]

    def close(self) -> None:
        """Let go of the connection."""
        self._store.close()

    def _allowed(self, where: Sequence[Condition]) -> list[str] | None:
        """Ids of the documents that meet the conditions; None for all."""
        if not where:
            return None
        rows = self._store.rows()
        facts = [{**row["metadata"], "id": row["id"], "source": row["source"]} for row in rows]
        return [one["id"] for one in facts if all_hold(where, one)]

    def _hits(
        self,
        ranked: Sequence[tuple[tuple[str, Chunk], float]],
        rankings: Mapping[str, Sequence[tuple[tuple[str, Chunk], float]]],
        options: SearchOptions,
        wanted: int,
    ) -> list[Hit]:
        scores: dict[tuple[str, Chunk], dict[str, float]] = {}
        for name, ranking in rankings.items():
            for key, score in ranking:
                scores.setdefault(key, {})[name] = score
        hits: dict[tuple[str, int, int], Hit] = {}
        documents: dict[str, Document] = {}
        for (doc, chunk), score in ranked:
            if len(hits) == wanted:
                break
            span = chunk[2:] if options.parents else chunk[:2]
            if (doc, *span) not in hits:
                documents[doc] = documents.get(doc) or self.document(doc)
                hits[(doc, *span)] = Hit.of(documents[doc], span, score, scores[(doc, chunk)])
        return list(hits.values())


def _pairs(found: Sequence[Found]) -> list[tuple[tuple[str, Chunk], float]]:
    return [((one.doc, one.chunk), one.score) for one in found]
