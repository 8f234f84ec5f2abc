"""One immutable part of an index: documents, chunks, vectors and terms, mapped from disk."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, decoding, digest_file
from harness.rag.retrieve.chunk import Chunk, search_text
from harness.rag.retrieve.dense import DenseIndex, dense_kind
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.lexical import LexicalIndex
from harness.rag.retrieve.manifest import FileInfo, SegmentInfo, check_files
from harness.rag.retrieve.search import Condition, all_hold
from harness.rag.retrieve.text import COMPOUNDING, terms

CHUNK_TERMS, PARENT_TERMS = "chunk-terms", "parent-terms"
_DECODED = 64  # documents whose decoded text is kept


class Entry(NamedTuple):
    """A document on its way into a segment.

    Attributes:
        document: with its text.
        digest: of the document as it was handed in.
        chunks: of its text.
    """

    document: Document
    digest: str
    chunks: list[Chunk]


def write_segment(
    folder: Path, entries: Sequence[Entry], vectors: NDArray[np.float32]
) -> SegmentInfo:
    """Write a segment beside its place, through to the disk, then move it there.

    Args:
        folder: where it is to stand; must not exist.
        entries: documents with their chunks.
        vectors: of shape (chunks of all documents, dimension), in the same order.

    Raises:
        BadInput: if the disk is full or cannot be written.
    """
    half = folder.with_name(f".{folder.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    try:
        half.mkdir(parents=True)
        # Texts and rows one after another, and tables of where each begins.
        bounds: list[tuple[int, int, int, int, int]] = []
        chunks: list[tuple[int, ...]] = []
        with (half / "texts.bin").open("wb") as texts, (half / "rows.jsonl").open("wb") as rows:
            for number, (document, fingerprint, cut) in enumerate(entries):
                start = texts.tell(), rows.tell()
                row = {**document.to_row(), "digest": fingerprint}
                line = json.dumps(row, ensure_ascii=False) + "\n"
                texts.write(document.text.encode("utf-8", "surrogatepass"))
                rows.write(line.encode("utf-8", "surrogatepass"))
                bounds.append((start[0], texts.tell(), start[1], rows.tell(), len(chunks)))
                chunks.extend((number, *chunk) for chunk in cut)
        np.save(half / "places.npy", np.array(bounds, dtype=np.int64).reshape(-1, 5))
        np.save(half / "chunks.npy", np.array(chunks, dtype=np.int64).reshape(-1, 5))
        np.save(half / "vectors.npy", np.ascontiguousarray(vectors, dtype=np.float32))
        kind = dense_kind(len(vectors))
        DenseIndex.build(vectors, kind).save(half / "dense.faiss")
        _write_terms(half, entries)
        names = sorted(path.relative_to(half).as_posix() for path in half.rglob("*.*"))
        files = {
            name: FileInfo(bytes=(half / name).stat().st_size, sha256=digest_file(half / name))
            for name in names
        }
        for name in (*names, CHUNK_TERMS, PARENT_TERMS, ""):
            _sync(half / name)
        half.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise BadInput(f"cannot write {str(folder)!r}: {error.strerror}") from error
    finally:
        shutil.rmtree(half, ignore_errors=True)
    languages = Counter(str(entry.document.metadata.get("language", "?")) for entry in entries)
    return SegmentInfo(
        name=folder.name,
        documents=len(entries),
        chunks=len(vectors),
        dense=kind,
        languages=dict(languages),
        files=files,
    )


def _write_terms(folder: Path, entries: Sequence[Entry]) -> None:
    """Index the terms of the chunks, and those of their parents."""
    texts: dict[str, list[list[str]]] = {CHUNK_TERMS: [], PARENT_TERMS: []}
    compounding: dict[str, list[bool]] = {CHUNK_TERMS: [], PARENT_TERMS: []}
    for document, _, chunks in entries:
        compounds = document.metadata.get("language") in COMPOUNDING
        parents = dict.fromkeys((chunk.parent_start, chunk.parent_end) for chunk in chunks)
        spans = {CHUNK_TERMS: chunks, PARENT_TERMS: [Chunk(*span, *span) for span in parents]}
        tokens_of: dict[tuple[int, int], list[str]] = {}
        for name, stretches in spans.items():
            for chunk in stretches:
                span = chunk[:2]
                tokens_of[span] = tokens_of.get(span) or terms(search_text(document, chunk))
                texts[name].append(tokens_of[span])
                compounding[name].append(compounds)
    index = LexicalIndex.build(texts[CHUNK_TERMS], compounding[CHUNK_TERMS])
    for name in texts:
        if texts[name] != texts[CHUNK_TERMS]:  # short documents are chunk and parent in one
            index = LexicalIndex.build(texts[name], compounding[name])
        (folder / name).mkdir()
        index.save(folder / name)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Segment:
    """An open segment; everything but the vocabulary stays on disk until it is used.

    Raises:
        BadInput: if files are damaged.
        FileNotFoundError: if the segment is gone, as after a change by another process.
    """

    def __init__(self, folder: Path, info: SegmentInfo) -> None:
        check_files(folder, info, digests=False)
        self.info = info
        self.folder = folder
        try:
            self.vectors: NDArray[np.float32] = _array(folder / "vectors.npy")
            self.chunks: NDArray[np.int64] = _array(folder / "chunks.npy")
            self._places: NDArray[np.int64] = _array(folder / "places.npy")
            self._texts = _mapped(folder / "texts.bin")
            self._rows = _mapped(folder / "rows.jsonl")
            self.dense = DenseIndex.load(folder / "dense.faiss", self.vectors, info.dense)
            self.chunk_terms = LexicalIndex.load(folder / CHUNK_TERMS)
            self.parent_terms = LexicalIndex.load(folder / PARENT_TERMS)
            count = len(self.chunks)
            shapes = self.chunks.shape[1:], self._places.shape, self.vectors.shape[:1]
            terms_of = self.chunk_terms.chunks, self.parent_terms.chunks
            if shapes != ((5,), (info.documents, 5), (count,)) or info.chunks != count:
                raise ValueError(f"its arrays are of shapes {shapes}")
            if terms_of[0] != count or not 0 <= terms_of[1] <= count:
                raise ValueError(f"terms of {terms_of} texts for {count} chunks")
        except FileNotFoundError:
            raise
        except Exception as error:
            raise BadInput(f"{str(folder)!r} is damaged: {error}") from error
        self.document = lru_cache(maxsize=_DECODED)(self._document)

    def _row(self, number: int) -> dict[str, Any]:
        with decoding(self.folder):
            start, end = self._places[number, 2:4].tolist()
            row = json.loads(self._rows[start:end].tobytes().decode("utf-8", "surrogatepass"))
            return {**row, "metadata": {**row["metadata"]}, "id": str(row["id"])}

    def _document(self, number: int) -> Document:
        with decoding(self.folder):
            start, end = self._places[number, :2].tolist()
            text = self._texts[start:end].tobytes().decode("utf-8", "surrogatepass")
            return Document.from_row(self._row(number), text)

    def chunks_of(self, number: int) -> range:
        """Places of the chunks of a document."""
        starts = self._places[number : number + 2, 4].tolist()
        return range(starts[0], starts[1] if len(starts) == 2 else len(self.chunks))

    @cached_property
    def parents(self) -> NDArray[np.int64]:
        """For every chunk the place of its parent among all parents, shape (chunks,)."""
        if not len(self.chunks):
            return np.zeros(0, dtype=np.int64)
        begins = np.diff(self.chunks[:, [0, 3]], axis=0).any(axis=1)
        return np.concatenate([[0], np.cumsum(begins)])

    @cached_property
    def facts(self) -> list[dict[str, Any]]:
        """For every document, its metadata, id, source and digest: the fields of filters."""
        rows = [self._row(number) for number in range(self.info.documents)]
        fields = ("id", "source", "digest")
        with decoding(self.folder):
            return [{**row["metadata"], **{field: row[field] for field in fields}} for row in rows]

    @cached_property
    def live(self) -> Mapping[str, int]:
        """Place of every document that was not deleted, by id."""
        deleted = set(self.info.deleted)
        return {row["id"]: number for number, row in enumerate(self.facts) if number not in deleted}

    def allowed(self, where: Sequence[Condition]) -> NDArray[np.bool_] | None:
        """Chunks that may be found, shape (chunks,); None for all of them."""
        deleted = set(self.info.deleted)
        if not deleted and not where:
            return None
        documents = [
            number not in deleted and (not where or all_hold(where, self.facts[number]))
            for number in range(self.info.documents)
        ]
        with decoding(self.folder):
            return np.asarray(documents, dtype=bool)[self.chunks[:, 0]]

    def entry(self, number: int) -> Entry:
        """A document with its chunks, to be written again."""
        with decoding(self.folder):
            rows = self.chunks_of(number)
            chunks = [Chunk(*row[1:]) for row in self.chunks[rows.start : rows.stop].tolist()]
            return Entry(self.document(number), self.facts[number]["digest"], chunks)


def _mapped(path: Path) -> Any:
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r"))


def _array(path: Path) -> Any:
    """A mapped array, as a plain one: places of a `memmap` are slow to look up."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
