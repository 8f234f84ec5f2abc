"""Indexes on disk: begin one, open one, describe one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.rag.retrieve.chunk import Chunking
from harness.rag.retrieve.encoder import Encoder, open_encoder
from harness.rag.retrieve.local import LocalIndex
from harness.rag.retrieve.manifest import MANIFEST, SEGMENTS, EncoderInfo, Manifest, read_manifest

_CHUNKING = Chunking()


def create_index(
    folder: Path, encoder: Encoder, chunking: Chunking = _CHUNKING, base_url: str | None = None
) -> LocalIndex:
    """An index to add to: the one in `folder`, or a new one that is written with the first add.

    Raises:
        BadInput: if the folder holds an index of another encoder or chunking, or other files.
    """
    if (folder / MANIFEST).exists():
        found = open_index(folder, encoder)
        if found.manifest.chunking != chunking:
            raise BadInput(
                f"{str(folder)!r} was chunked with {found.manifest.chunking!r}, asked for "
                f"{chunking!r}: re-index it (--reindex) or choose another folder"
            )
        return found
    if folder.is_file() or (folder.is_dir() and any(not _ours(path) for path in folder.iterdir())):
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
        encoder = open_encoder(manifest.encoder.spec, manifest.encoder.base_url)
    found = LocalIndex(folder, encoder, manifest)
    found.refresh()
    return found


def describe_index(index: LocalIndex) -> dict[str, Any]:
    """Facts about an index for people and scripts; sizes in bytes."""
    manifest = index.manifest
    files = [one for segment in manifest.segments for one in segment.files.values()]
    return {
        "index": str(index.folder),
        "generation": manifest.generation,
        "documents": len(index),
        "chunks": sum(one.chunks for one in manifest.segments),
        "encoder": manifest.encoder.name,
        "dimension": manifest.encoder.dimension,
        "chunking": manifest.chunking.model_dump(),
        "dense": [one.dense for one in manifest.segments],
        "tokeniser": manifest.tokeniser,
        "languages": dict(index.languages),
        "bytes": sum(one.bytes for one in files),
        "warnings": list(index.warnings),
    }


def _ours(path: Path) -> bool:
    """Whether a build that was killed may have left it."""
    return (
        path.name in (SEGMENTS, "writer.lock")
        or path.suffix == ".journal"
        or (path.name.startswith(f".{MANIFEST}."))
    )
