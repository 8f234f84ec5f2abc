"""What a change does to the segments of an index."""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import BadInput
from harness.rag.retrieve.chunk import Chunking, chunk_document, search_text
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.journal import Progress, VectorJournal
from harness.rag.retrieve.language import identify_language
from harness.rag.retrieve.manifest import SEGMENTS, Manifest, SegmentInfo
from harness.rag.retrieve.segment import Entry, Segment, write_segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

SMALL = 10_000
"""Segments of at most so many chunks are merged whenever something is added: seconds of work."""
_STALE = 0.2  # share of deleted documents above which a larger segment is written again


@dataclass(frozen=True)
class Plan:
    """Which documents come and go.

    Attributes:
        new: documents to chunk and embed, with their digests.
        dropped: places of documents that no longer count, by segment.
        replaced: how many of the new ones take the place of another.
        unchanged: how many were there already.
    """

    new: Sequence[tuple[Document, str]] = ()
    dropped: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    replaced: int = 0
    unchanged: int = 0


def plan_addition(segments: Sequence[Segment], documents: Iterable[Document]) -> Plan:
    """Sort documents into new, changed and unchanged ones by their digests.

    Raises:
        BadInput: if two of them have one id.
    """
    known = {doc: (one, number) for one in segments for doc, number in one.live.items()}
    new: list[tuple[Document, str]] = []
    dropped: dict[str, set[int]] = {}
    unchanged, seen = 0, set[str]()
    for document in documents:
        if document.id in seen:
            raise BadInput(f"two documents are named {document.id!r}: every one needs its own id")
        seen.add(document.id)
        fingerprint = document.digest
        there = known.get(document.id)
        if there and there[0].facts[there[1]]["digest"] == fingerprint:
            unchanged += 1
            continue
        if there:
            dropped.setdefault(there[0].info.name, set()).add(there[1])
        new.append((document, fingerprint))
    gone = {name: frozenset(places) for name, places in dropped.items()}
    return Plan(new, gone, sum(map(len, gone.values())), unchanged)


def plan_deletion(segments: Sequence[Segment], ids: Sequence[str]) -> Plan:
    """Find the documents to take out.

    Raises:
        BadInput: if one is not there.
    """
    dropped: dict[str, set[int]] = {}
    for doc in dict.fromkeys(ids):
        holder = next((segment for segment in segments if doc in segment.live), None)
        if holder is None:
            raise BadInput(
                f"no document {doc!r} in the index: `harness index info --ids` lists all"
            )
        dropped.setdefault(holder.info.name, set()).add(holder.live[doc])
    return Plan(dropped={name: frozenset(places) for name, places in dropped.items()})


def chunked(plan: Plan, chunking: Chunking) -> list[Entry]:
    """The new documents with their language and chunks."""
    entries: list[Entry] = []
    for document, fingerprint in plan.new:
        known = document
        if "language" not in document.metadata:
            language = identify_language(document.text)
            metadata = {**document.metadata, **({"language": language} if language else {})}
            known = replace(document, metadata=metadata)
        entries.append(Entry(known, fingerprint, chunk_document(known, chunking)))
    return entries


def embedded(
    folder: Path, entries: Sequence[Entry], encoder: Encoder, progress: Progress | None
) -> tuple[Vectors, VectorJournal]:
    """Vectors of the chunks, and the journal to remove once they are in the index."""
    from harness.core import digest

    journal = VectorJournal(folder / f"vectors-{digest(encoder.name)[:12]}.journal", encoder)
    texts = [search_text(document, chunk) for document, _, chunks in entries for chunk in chunks]
    return journal.embed(texts, progress), journal


def merged(segments: Sequence[Segment], plan: Plan, new_chunks: int) -> list[Segment]:
    """The segments to write again, together with what is new.

    Small ones always, if anything is added; a larger one when so much is merged already that it
    is no longer larger, or when too much of it is deleted. So there are few segments, and each
    chunk is copied a number of times that grows with the logarithm of the index.
    """
    chosen = [one for one in segments if _due(one, plan, new_chunks)]
    total = new_chunks + sum(one.info.chunks for one in chosen)
    rest = sorted((one for one in segments if one not in chosen), key=lambda one: one.info.chunks)
    for one in rest:
        if not total or one.info.chunks > total:
            break
        chosen.append(one)
        total += one.info.chunks
    return [one for one in segments if one in chosen]


def _due(segment: Segment, plan: Plan, new_chunks: int) -> bool:
    gone = plan.dropped.get(segment.info.name, frozenset[int]())
    if segment.info.chunks <= SMALL:
        return bool(gone) or new_chunks > 0
    return len(gone) + len(segment.info.deleted) > _STALE * segment.info.documents


def write_merged(
    folder: Path,
    generation: int,
    old: Sequence[Segment],
    plan: Plan,
    entries: Sequence[Entry],
    vectors: Vectors,
) -> SegmentInfo | None:
    """Write what is left of `old` and the new entries as one segment; None if nothing is left."""
    import numpy as np

    kept: list[Entry] = []
    rows: list[Vectors] = []
    for segment in old:
        gone = plan.dropped.get(segment.info.name, frozenset[int]())
        for number in segment.live.values():
            if number not in gone:
                kept.append(segment.entry(number))
                places = segment.chunks_of(number)
                rows.append(segment.vectors[places.start : places.stop])
    everything = [*kept, *entries]
    if not everything:
        return None
    target = folder / SEGMENTS / f"{generation:06d}-{secrets.token_hex(3)}"
    return write_segment(target, everything, np.concatenate([*rows, vectors]))


def with_deleted(segment: Segment, plan: Plan) -> SegmentInfo:
    """A segment that stays, with the documents that no longer count."""
    gone = plan.dropped.get(segment.info.name)
    if not gone:
        return segment.info
    deleted = tuple(sorted({*segment.info.deleted, *gone}))
    return segment.info.model_copy(update={"deleted": deleted})


def tidy(folder: Path, manifest: Manifest) -> None:
    """Remove what no manifest refers to: leftovers of a kill, segments of earlier generations."""
    known = {segment.name for segment in manifest.segments}
    place = folder / SEGMENTS
    for path in place.iterdir() if place.is_dir() else ():
        if path.name not in known:
            shutil.rmtree(path, ignore_errors=True)


def language_warnings(encoder: Encoder, languages: Mapping[str, int]) -> tuple[str, ...]:
    """What to say of documents in languages that the encoder was not trained on."""
    if encoder.languages is None:
        return ()
    foreign = Counter(
        {
            language: count
            for language, count in languages.items()
            if language != "?" and language not in encoder.languages
        }
    )
    if not foreign:
        return ()
    listed = ", ".join(f"{count} in {language!r}" for language, count in foreign.most_common())
    known = ", ".join(sorted(encoder.languages))
    return (
        f"the encoder {encoder.name} knows {known} only, but the index holds documents {listed}: "
        "the lexical arm serves them, the dense one hardly does (--encoder names another)",
    )
