"""A change of an index: which documents come and go, their vectors, the segments written again."""

from __future__ import annotations

import secrets
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, digest
from harness.rag.retrieve.chunk import Chunking, chunk_document, search_text
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.manifest import SEGMENTS, Manifest, SegmentInfo
from harness.rag.retrieve.search import Progress
from harness.rag.retrieve.segment import Entry, Segment, write_segment
from harness.rag.retrieve.text import identify_language

Vectors = NDArray[np.float32]

BATCH = 64
# Segments of at most so many chunks are merged whenever something is added: seconds of work.
SMALL = 10_000
_STALE = 0.2  # share of deleted documents above which a larger segment is written again
_KEY, _CRC = 32, 4


class VectorJournal:
    """Vectors that a build has made so far, so that a killed one does not embed twice.

    Records of a fixed size: digest of encoder and text, vector, CRC-32. A torn tail is cut off.
    """

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self._encoder = encoder
        self._path = path
        self._size = _KEY + 4 * encoder.dimension + _CRC
        self._places: dict[bytes, int] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as stream:
            stream.seek(0)
            while len(record := stream.read(self._size)) == self._size:
                if zlib.crc32(record[:-_CRC]).to_bytes(_CRC, "little") != record[-_CRC:]:
                    break
                self._places[record[:_KEY]] = len(self._places)
            stream.truncate(len(self._places) * self._size)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """Vectors of shape (n, dimension); only texts without a record are embedded."""
        keys = [sha256(f"{self._encoder.name}\n{text}".encode()).digest() for text in texts]
        pairs = dict(zip(keys, texts, strict=True))
        missing = {key: text for key, text in pairs.items() if key not in self._places}
        # Texts of like length together: less padding, the same vectors.
        order = sorted(missing, key=lambda key: len(missing[key]))
        embedded_count = len(texts) - len(order)
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        with self._path.open("ab") as stream:
            for number, rows in self._encoder.encode_batches(
                [[missing[key] for key in batch] for batch in batches]
            ):
                for key, row in zip(batches[number], rows, strict=True):
                    self._places[key] = len(self._places)
                    record = key + row.tobytes()
                    stream.write(record + zlib.crc32(record).to_bytes(_CRC, "little"))
                stream.flush()
                embedded_count += len(batches[number])
                if progress is not None:
                    progress(embedded_count, len(texts))
        if not texts:
            return np.zeros((0, self._encoder.dimension), dtype=np.float32)
        records = np.memmap(self._path, np.uint8, "r").reshape(-1, self._size)
        row_numbers = np.array([self._places[key] for key in keys])
        return np.ascontiguousarray(records[row_numbers, _KEY:-_CRC]).view(np.float32)

    def remove(self) -> None:
        """Forget everything: the vectors are in the index now."""
        self._path.unlink(missing_ok=True)
        self._places.clear()


@dataclass(frozen=True)
class Plan:
    """Documents that come and go.

    Attributes:
        new: documents to chunk and embed, with their digests.
        dropped: places of documents that no longer count, by segment.
        replaced: how many of the new ones take the place of another.
        unchanged: how many were there already.
    """

    new: Sequence[tuple[Document, str]] = ()
    dropped: Mapping[str, set[int]] = field(default_factory=dict[str, set[int]])
    replaced: int = 0
    unchanged: int = 0

    def dropped_of(self, segment: Segment) -> set[int]:
        """Places of the documents of a segment that no longer count."""
        return self.dropped.get(segment.info.name, set())


def plan_addition(segments: Sequence[Segment], documents: Iterable[Document]) -> Plan:
    """Sort documents into new, changed and unchanged ones by their digests.

    Raises:
        BadInput: if two of them have one id.
    """
    stored = {doc: (segment, n) for segment in segments for doc, n in segment.live.items()}
    new: list[tuple[Document, str]] = []
    dropped: dict[str, set[int]] = {}
    unchanged, seen = 0, set[str]()
    for document in documents:
        if document.id in seen:
            raise BadInput(f"two documents are named {document.id!r}: every one needs its own id")
        seen.add(document.id)
        fingerprint = document.digest
        if document.id in stored:
            segment, number = stored[document.id]
            if segment.facts[number]["digest"] == fingerprint:
                unchanged += 1
                continue
            dropped.setdefault(segment.info.name, set()).add(number)
        new.append((document, fingerprint))
    return Plan(new, dropped, sum(map(len, dropped.values())), unchanged)


def with_language(document: Document) -> Document:
    """The document with its language in the metadata, where it can be told."""
    if "language" in document.metadata:
        return document
    language = identify_language(document.text)
    extra = {"language": language} if language else {}
    return replace(document, metadata={**document.metadata, **extra})


def embedded(
    folder: Path, plan: Plan, chunking: Chunking, encoder: Encoder, progress: Progress | None
) -> tuple[list[Entry], Vectors, VectorJournal]:
    """The new documents chunked, vectors of the chunks, and the journal to remove in the end."""
    entries: list[Entry] = []
    for document, fingerprint in plan.new:
        labelled = with_language(document)
        entries.append(Entry(labelled, fingerprint, chunk_document(labelled, chunking)))
    journal = VectorJournal(folder / f"vectors-{digest(encoder.name)[:12]}.journal", encoder)
    texts = [search_text(document, chunk) for document, _, chunks in entries for chunk in chunks]
    return entries, journal.embed(texts, progress), journal


def merged_segments(segments: Sequence[Segment], plan: Plan, new_chunks: int) -> list[Segment]:
    """The segments to write again, together with the new documents.

    Small ones always, if anything is added; a larger one when so much is merged already that it
    is no longer larger, or when too much of it is deleted. So there are few segments, and each
    chunk is copied a number of times that grows with the logarithm of the index.
    """

    def is_due(segment: Segment) -> bool:
        dropped = plan.dropped_of(segment)
        if segment.info.chunks <= SMALL:
            return bool(dropped) or new_chunks > 0
        return len(dropped) + len(segment.info.deleted) > _STALE * segment.info.documents

    due = [segment for segment in segments if is_due(segment)]
    total = new_chunks + sum(segment.info.chunks for segment in due)
    for segment in sorted(segments, key=lambda segment: segment.info.chunks):
        if segment in due:
            continue
        if not total or segment.info.chunks > total:
            break
        due.append(segment)
        total += segment.info.chunks
    return [segment for segment in segments if segment in due]


def changed_segments(
    folder: Path,
    generation: int,
    segments: Sequence[Segment],
    plan: Plan,
    entries: Sequence[Entry],
    vectors: Vectors,
) -> tuple[SegmentInfo, ...]:
    """Write the merged segment; the segments of the next generation."""
    old = merged_segments(segments, plan, len(vectors))
    copied: list[Entry] = []
    rows: list[Vectors] = []
    for segment in old:
        for number in segment.live.values():
            if number not in plan.dropped_of(segment):
                copied.append(segment.entry(number))
                chunk_range = segment.chunks_of(number)
                rows.append(segment.vectors[chunk_range.start : chunk_range.stop])
    infos: list[SegmentInfo] = []
    for segment in segments:
        if segment not in old:
            deleted = tuple(sorted({*segment.info.deleted, *plan.dropped_of(segment)}))
            infos.append(segment.info.model_copy(update={"deleted": deleted}))
    if copied or entries:
        target = folder / SEGMENTS / f"{generation:06d}-{secrets.token_hex(3)}"
        infos.append(write_segment(target, [*copied, *entries], np.concatenate([*rows, vectors])))
    return tuple(infos)


def tidy(folder: Path, manifest: Manifest) -> None:
    """Remove what no manifest refers to: leftovers of a kill, segments of earlier generations."""
    names = {segment.name for segment in manifest.segments}
    segments = folder / SEGMENTS
    for path in segments.iterdir() if segments.is_dir() else ():
        if path.name not in names:
            shutil.rmtree(path, ignore_errors=True)
