"""The index on local disk: FAISS and BM25 over immutable segments, one manifest on top.

A change writes a new segment beside the old ones and then replaces the manifest in one step, so
a reader sees the generation before or the one after, and a kill at any moment leaves the one
before. Small segments are merged on every change; their vectors are copied, never made again.
The folder is the alias: :meth:`LocalIndex.reindex` puts another encoder behind it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core import BadInput
from harness.core.segments import only_writer
from harness.rag.retrieve import change
from harness.rag.retrieve.chunk import Chunking
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.filters import Condition
from harness.rag.retrieve.hit import Hit
from harness.rag.retrieve.index import Changed
from harness.rag.retrieve.journal import Progress
from harness.rag.retrieve.language import identify_language
from harness.rag.retrieve.manifest import (
    MANIFEST,
    SEGMENTS,
    EncoderInfo,
    Manifest,
    check_files,
    probe_of,
    read_manifest,
    require_encoder,
    write_manifest,
)
from harness.rag.retrieve.rerank import Reranker
from harness.rag.retrieve.search import SearchOptions, search_segments
from harness.rag.retrieve.segment import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_ATTEMPTS = 5  # to open while another process changes the index
_LIKENESS = 0.1  # largest difference of a number of the probe
_DEFAULTS = SearchOptions()


class LocalIndex:
    """An index in a folder. Made by `open_index` and `create_index`.

    Attributes:
        folder: where it lies.
        manifest: of the generation that is open.
        encoder: that made its vectors.
    """

    def __init__(self, folder: Path, encoder: Encoder, manifest: Manifest) -> None:
        self.folder = folder
        self.encoder = encoder
        self.manifest = manifest
        self.segments: list[Segment] = []
        self._probed = False

    def refresh(self) -> None:
        """Open the generation that is current now.

        Raises:
            BadInput: if the index is damaged, or was re-indexed with another encoder.
        """
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(self.folder)
            require_encoder(self.folder, manifest, self.encoder)
            try:
                self.segments = _opened(self.folder, manifest)
            except FileNotFoundError as error:  # a writer switched between the two reads
                if attempt + 1 == _ATTEMPTS:
                    raise BadInput(f"{str(self.folder)!r} is damaged: {error} is gone") from error
                time.sleep(0.05 * (attempt + 1))
            else:
                self.manifest = manifest
                return

    def __len__(self) -> int:
        return sum(one.documents - len(one.deleted) for one in self.manifest.segments)

    @property
    def languages(self) -> Counter[str]:
        """Documents by language, `?` where it is open."""
        return sum((Counter(one.languages) for one in self.manifest.segments), Counter[str]())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Languages that the encoder does not know."""
        return change.language_warnings(self.encoder, self.languages)

    def query_warnings(self, query: str) -> tuple[str, ...]:
        """What to say of a query in a language that the encoder was not trained on."""
        language, known = identify_language(query), self.encoder.languages
        if known is None or language is None or language in known:
            return ()
        return (
            f"the query seems to be in {language!r}, which the encoder {self.encoder.name} does "
            "not know: --arm lexical goes by its words",
        )

    def ids(self) -> list[str]:
        """Ids of all documents, in the order of adding."""
        return [doc for segment in self.segments for doc in segment.live]

    def document(self, doc: str) -> Document:
        """A document with its text.

        Raises:
            BadInput: if there is none of that id.
        """
        for segment in self.segments:
            if doc in segment.live:
                return segment.document(segment.live[doc])
        raise BadInput(f"no document {doc!r} in {str(self.folder)!r}")

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents; one whose id is known replaces that one, an unchanged one costs nothing.

        Vectors made before a kill are found again by the next attempt.

        Raises:
            BadInput: if two have one id, another process is writing, or the disk is full.
        """
        wanted = list(documents)
        with only_writer(self.folder):
            self._catch_up()
            plan = change.plan_addition(self.segments, wanted)
            return self._apply(plan, self.manifest, progress)

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if one is not there (nothing is changed), or another process is writing.
        """
        with only_writer(self.folder):
            self._catch_up()
            plan = change.plan_deletion(self.segments, ids)
            return self._apply(plan, self.manifest, None)

    def reindex(
        self,
        encoder: Encoder,
        chunking: Chunking | None = None,
        *,
        base_url: str | None = None,
        progress: Progress | None = None,
    ) -> Changed:
        """Chunk and embed everything anew from the stored texts, then switch.

        Readers go on with the old generation until then.

        Raises:
            BadInput: if another process is writing, or the disk is full.
        """
        with only_writer(self.folder):
            self._catch_up()
            documents = [self._as_added(segment, one) for segment in self.segments
                         for one in segment.live.values()]  # fmt: skip
            dropped = {one.info.name: frozenset(one.live.values()) for one in self.segments}
            plan = change.Plan(documents, dropped, replaced=len(documents))
            manifest = self.manifest.model_copy(
                update={
                    "encoder": EncoderInfo.of(encoder, base_url),
                    "chunking": chunking or self.manifest.chunking,
                }
            )
            before, self.encoder = self.encoder, encoder
            try:
                return self._apply(plan, manifest, progress)
            except BaseException:
                self.encoder = before
                raise

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        options: SearchOptions = _DEFAULTS,
        where: Sequence[Condition] = (),
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """The `k` best spans for a query, best first; see :class:`SearchOptions`.

        Raises:
            BadInput: if the query is empty, k is below 1, or the encoder no longer makes the
                vectors that it made when the index was built.
            Unreachable: if the encoder's or the reranker's endpoint does not answer.
        """
        vector = None if options.arm == "lexical" else self._vector(query)
        return search_segments(self.segments, query, vector, k, options, where, reranker)

    def verify(self) -> None:
        """Read every byte and compare it with the manifest.

        Raises:
            BadInput: naming the first file that differs.
        """
        for segment in self.segments:
            check_files(segment.folder, segment.info, digests=True)

    def close(self) -> None:
        """Let go of the files."""
        self.segments = []

    def _vector(self, query: str) -> Vectors:
        if not self._probed:
            self._probe()
        return self.encoder.encode_queries([query])

    def _probe(self) -> None:
        """Notice other weights under the same name, once a session."""
        known = self.manifest.encoder.probe
        if any(abs(now - then) > _LIKENESS
               for now, then in zip(probe_of(self.encoder), known, strict=True)):  # fmt: skip
            raise BadInput(
                f"{str(self.folder)!r}: the encoder {self.encoder.name!r} no longer makes the "
                "vectors that it made when the index was built (other weights under the same "
                "name): `harness index build --reindex`"
            )
        self._probed = True

    def _catch_up(self) -> None:
        """Before a change: the generation on disk, without leftovers."""
        if (self.folder / MANIFEST).exists():
            self.refresh()
        change.tidy(self.folder, self.manifest)

    def _apply(self, plan: change.Plan, manifest: Manifest, progress: Progress | None) -> Changed:
        entries = change.chunked(plan, manifest.chunking)
        vectors, journal = change.embedded(self.folder, entries, self.encoder, progress)
        deleted = sum(map(len, plan.dropped.values())) - plan.replaced
        if plan.new or plan.dropped or not (self.folder / MANIFEST).exists():
            self._switch(plan, manifest, entries, vectors)
        journal.remove()
        return Changed(
            added=len(plan.new) - plan.replaced,
            replaced=plan.replaced,
            unchanged=plan.unchanged,
            deleted=deleted,
            chunks=len(vectors),
            documents=len(self),
            warnings=self.warnings,
        )

    def _switch(
        self,
        plan: change.Plan,
        manifest: Manifest,
        entries: Sequence[change.Entry],
        vectors: Vectors,
    ) -> None:
        """Write the new segment, then the manifest: only the second step can be seen."""
        generation = manifest.generation + 1
        old = change.merged(self.segments, plan, len(vectors))
        written = change.write_merged(self.folder, generation, old, plan, entries, vectors)
        kept = [change.with_deleted(one, plan) for one in self.segments if one not in old]
        segments = (*kept, written) if written else tuple(kept)
        update = {"generation": generation, "segments": segments}
        write_manifest(self.folder, manifest.model_copy(update=update))
        self.refresh()
        change.tidy(self.folder, self.manifest)

    @staticmethod
    def _as_added(segment: Segment, number: int) -> tuple[Document, str]:
        return segment.document(number), segment.facts[number]["digest"]


def _opened(folder: Path, manifest: Manifest) -> list[Segment]:
    return [Segment(folder / SEGMENTS / info.name, info) for info in manifest.segments]
