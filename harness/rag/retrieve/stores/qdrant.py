"""Qdrant: a server for collections that outgrow a machine; its local mode is for trying out.

Words are sparse vectors of BM25 term weights; the server multiplies them by the inverse document
frequency of the whole collection.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from harness.core import Unreachable, require
from harness.rag.retrieve.chunk import DEFAULT_CHUNKING, Chunk, Chunking
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.search import Candidate, Ranking
from harness.rag.retrieve.stores.base import StoreIndex, TermCounts, Vector

_SPACE = uuid.UUID("5b0f6f0e-6a57-4d5c-9f0e-2f1c9b1d7a11")
_ABOUT = "about"
_K1, _B, _LENGTH = 1.5, 0.75, 150.0  # the length is fixed: a mean would change with every add
_PAGE = 1000


def open_qdrant(
    location: str,
    name: str,
    encoder: Encoder,
    chunking: Chunking = DEFAULT_CHUNKING,
    api_key: str = "",
) -> StoreIndex:
    """An index in the collections `name` and `name-documents`.

    Args:
        location: URL of a server, a folder of the local mode, or `:memory:`.
        name: of the collection.
        encoder: that makes its vectors.
        chunking: of documents that are added.
        api_key: of the server.

    Raises:
        BadInput: if qdrant-client is missing, or the collection was made otherwise.
        Unreachable: if the server does not answer.
    """
    client = require("qdrant_client", "Qdrant needs its client", "qdrant-client").QdrantClient
    try:
        if location.startswith(("http://", "https://")):
            opened = client(url=location, api_key=api_key or None)
        else:
            opened = client(location) if location == ":memory:" else client(path=location)
        return QdrantIndex(opened, name, encoder, chunking)
    except import_module("qdrant_client.http.exceptions").ApiException as error:
        raise Unreachable(f"the Qdrant server at {location!r} does not answer: {error}") from error


class QdrantIndex(StoreIndex):
    """Chunks in one collection, documents in another."""

    def __init__(self, client: Any, name: str, encoder: Encoder, chunking: Chunking) -> None:
        self._client = client
        self._chunks, self._documents = name, f"{name}-documents"
        self._models: Any = import_module("qdrant_client.models")
        super().__init__(f"the Qdrant collection {name!r}", encoder, chunking)

    def _about(self) -> dict[str, Any] | None:
        if not self._client.collection_exists(self._documents):
            return None
        points = self._client.retrieve(self._documents, [_key(_ABOUT)])
        return json.loads(points[0].payload[_ABOUT]) if points else None

    def _begin(self, about: dict[str, Any], dimension: int) -> None:
        models = self._models
        vectors = models.VectorParams(size=dimension, distance=models.Distance.DOT)
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        self._client.create_collection(
            self._chunks,
            vectors_config={"dense": vectors},
            sparse_vectors_config={"words": words},
        )
        self._client.create_collection(self._documents, vectors_config={})
        self._save(_ABOUT, {_ABOUT: json.dumps(about)})

    def _put(
        self,
        row: dict[str, Any],
        text: str,
        chunks: Sequence[tuple[Chunk, Vector, TermCounts]],
    ) -> None:
        points = [
            self._models.PointStruct(
                id=_key(f"{row['id']}#{number}"),
                vector={"dense": vector.tolist(), "words": self._weights(words)},
                payload={"doc": row["id"], "chunk": list(chunk)},
            )
            for number, (chunk, vector, words) in enumerate(chunks)
        ]
        if points:
            self._client.upsert(self._chunks, points, wait=True)
        self._save(f"document {row['id']}", {"row": json.dumps(row), "text": text})

    def _remove(self, ids: Sequence[str]) -> None:
        models = self._models
        keys = [_key(f"document {doc}") for doc in ids]
        self._client.delete(self._documents, models.PointIdsList(points=keys), wait=True)
        chosen = models.FilterSelector(filter=self._only(ids))
        self._client.delete(self._chunks, chosen, wait=True)

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        offset: Any = None
        while True:
            points, offset = self._client.scroll(self._documents, limit=_PAGE, offset=offset)
            rows += [json.loads(point.payload["row"]) for point in points if "row" in point.payload]
            if offset is None:
                return rows

    def _document(self, doc: str) -> tuple[dict[str, Any], str] | None:
        points = self._client.retrieve(self._documents, [_key(f"document {doc}")])
        if not points:
            return None
        return json.loads(points[0].payload["row"]), points[0].payload["text"]

    def _dense(self, vector: Vector, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        return self._ranked(vector.tolist(), "dense", k, docs)

    def _lexical(self, query: TermCounts, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        """A word counts as often as the query has it."""
        sparse = self._sparse({word: float(count) for word, count in query.items()})
        return self._ranked(sparse, "words", k, docs)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _ranked(
        self, query: Any, using: str, k: int, docs: Sequence[str] | None
    ) -> Ranking[Candidate]:
        chosen = self._only(docs) if docs is not None else None
        answer = self._client.query_points(
            self._chunks, query=query, using=using, limit=k, query_filter=chosen
        )
        return [
            ((point.payload["doc"], Chunk(*point.payload["chunk"])), float(point.score))
            for point in answer.points
        ]

    def _only(self, docs: Sequence[str]) -> Any:
        models = self._models
        match = models.MatchAny(any=list(docs))
        return models.Filter(must=[models.FieldCondition(key="doc", match=match)])

    def _save(self, key: str, payload: dict[str, Any]) -> None:
        point = self._models.PointStruct(id=_key(key), vector={}, payload=payload)
        self._client.upsert(self._documents, [point], wait=True)

    def _weights(self, counts: TermCounts) -> Any:
        """BM25's part of a word that does not depend on other documents."""
        norm = _K1 * (1 - _B + _B * sum(counts.values()) / _LENGTH)
        return self._sparse({word: count / (count + norm) for word, count in counts.items()})

    def _sparse(self, weights: dict[str, float]) -> Any:
        """Words as numbers; two that share one (1 in 4 billion) add up."""
        places: dict[int, float] = {}
        for word, weight in weights.items():
            place = zlib.crc32(word.encode())
            places[place] = places.get(place, 0.0) + weight
        return self._models.SparseVector(indices=list(places), values=list(places.values()))


def _key(text: str) -> str:
    return str(uuid.uuid5(_SPACE, text))
