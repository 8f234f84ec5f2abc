"""LanceDB: embedded, columnar, versioned tables in a folder or an object store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from harness.core import require
from harness.rag.retrieve.chunk import DEFAULT_CHUNKING, Chunk, Chunking
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.search import Candidate, Ranking
from harness.rag.retrieve.stores.base import StoreIndex, TermCounts, Vector

_SPAN = ("start", "end", "parent_start", "parent_end")


def open_lance(uri: str, encoder: Encoder, chunking: Chunking = DEFAULT_CHUNKING) -> StoreIndex:
    """An index in a LanceDB folder or bucket (`s3://...`).

    Raises:
        BadInput: if lancedb is missing, or the tables were made otherwise.
    """
    database = require("lancedb", "LanceDB is an extra", "lancedb").connect(uri)
    return LanceIndex(database, f"the LanceDB at {uri!r}", encoder, chunking)


class LanceIndex(StoreIndex):
    """Tables of chunks, of documents, and of the facts that they were made with."""

    def __init__(self, database: Any, name: str, encoder: Encoder, chunking: Chunking) -> None:
        self._database = database
        super().__init__(name, encoder, chunking)

    def _about(self) -> dict[str, Any] | None:
        if "about" not in self._database.list_tables().tables:
            return None
        [row] = self._table("about").to_arrow().to_pylist()
        return json.loads(row["about"])

    def _begin(self, about: dict[str, Any], dimension: int) -> None:
        arrow: Any = import_module("pyarrow")
        text, number = arrow.string(), arrow.int64()
        spans = [arrow.field(name, number) for name in _SPAN]
        vector = arrow.field("vector", arrow.list_(arrow.float32(), dimension))
        chunks = [arrow.field("doc", text), *spans, arrow.field("words", text), vector]
        documents = [arrow.field(name, text) for name in ("id", "row", "text")]
        make = self._database.create_table
        make("chunks", schema=arrow.schema(chunks), mode="overwrite")
        make("documents", schema=arrow.schema(documents), mode="overwrite")
        words = import_module("lancedb.index").FTS(
            base_tokenizer="whitespace", stem=False, remove_stop_words=False,
            ascii_folding=False, lower_case=False, max_token_length=None, with_position=False,
        )  # fmt: skip
        self._table("chunks").create_index("words", config=words)
        make("about", [{"about": json.dumps(about)}])  # last: a store without it was not begun

    def _put(
        self,
        row: dict[str, Any],
        text: str,
        chunks: Sequence[tuple[Chunk, Vector, TermCounts]],
    ) -> None:
        rows = [
            {
                "doc": row["id"],
                **chunk._asdict(),
                "words": " ".join(word for word, count in words.items() for _ in range(count)),
                "vector": vector.tolist(),
            }
            for chunk, vector, words in chunks
        ]
        if rows:
            self._table("chunks").add(rows)
        stored = {"id": row["id"], "row": json.dumps(row), "text": text}
        self._table("documents").add([stored])

    def _remove(self, ids: Sequence[str]) -> None:
        self._table("documents").delete(_among("id", ids))
        self._table("chunks").delete(_among("doc", ids))

    def _rows(self) -> list[dict[str, Any]]:
        stored = self._table("documents").search().select(["row"]).limit(None).to_list()
        return [json.loads(row["row"]) for row in stored]

    def _document(self, doc: str) -> tuple[dict[str, Any], str] | None:
        rows = self._table("documents").search().where(_among("id", [doc])).limit(1).to_list()
        return (json.loads(rows[0]["row"]), rows[0]["text"]) if rows else None

    def _dense(self, vector: Vector, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        query = self._table("chunks").search(vector.tolist(), vector_column_name="vector")
        distances = self._ranked(query.distance_type("dot"), "_distance", k, docs)
        # LanceDB's distance by dot product is one minus it.
        return [(candidate, 1 - distance) for candidate, distance in distances]

    def _lexical(self, query: TermCounts, k: int, docs: Sequence[str] | None) -> Ranking[Candidate]:
        full_text: Any = import_module("lancedb.query").MatchQuery
        match = self._table("chunks").search(full_text(" ".join(query), "words"), query_type="fts")
        return self._ranked(match, "_score", k, docs)

    def _settle(self) -> None:
        """Merge fragments, and take new rows into the index of words."""
        self._table("chunks").optimize()

    def _ranked(
        self, query: Any, by: str, k: int, docs: Sequence[str] | None
    ) -> Ranking[Candidate]:
        chosen = query.where(_among("doc", docs), prefilter=True) if docs is not None else query
        return [
            ((row["doc"], Chunk(*(row[name] for name in _SPAN))), row[by])
            for row in chosen.select(["doc", *_SPAN, by]).limit(k).to_list()
        ]

    def _table(self, name: str) -> Any:
        return self._database.open_table(name)


def _among(field: str, values: Sequence[str]) -> str:
    """SQL condition that a field has one of these values."""
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{field} IN ({quoted})"
