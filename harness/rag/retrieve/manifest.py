"""The manifest of an index on disk. Replacing this one file switches the generation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from pydantic import Field, ValidationError

from harness.core import (
    BadInput,
    Value,
    command_line,
    digest,
    digest_file,
    inside,
    read_foreign,
    write_atomic,
)
from harness.core.trust import Origin
from harness.models import foreign_url, public_url
from harness.rag.retrieve.chunk import Chunking
from harness.rag.retrieve.dense import DenseKind
from harness.rag.retrieve.encoder import Encoder
from harness.rag.retrieve.text import TOKENISER

FORMAT = 1
MANIFEST = "manifest.json"
SEGMENTS = "segments"
PROBE = "What does this index hold, and who wrote it?"
_PROBED = 16


class EncoderInfo(Value):
    """The encoder that made the vectors.

    Attributes:
        name: of the encoder.
        spec: what opens it again.
        base_url: endpoint that it was reached at, without credentials.
        dimension: of its vectors.
        normalised: whether vectors have length one; ours always have.
        probe: sketch of the vector of a fixed sentence, to notice other weights under the same
            name.
    """

    name: str
    spec: str
    base_url: str | None = None
    dimension: int
    normalised: bool = True
    probe: tuple[float, ...] = Field(min_length=_PROBED, max_length=_PROBED)

    @classmethod
    def of(cls, encoder: Encoder, base_url: str | None = None) -> EncoderInfo:
        """Describe an encoder; embeds one sentence."""
        return cls(
            name=encoder.name,
            spec=encoder.spec,
            base_url=base_url and public_url(base_url),
            dimension=encoder.dimension,
            probe=probe_of(encoder),
        )

    def endpoint(self) -> str | None:
        """Address at which the encoder is asked again; None for its default.

        Raises:
            BadInput: if the place is neither on this machine nor named by OPENAI_BASE_URL or
                VLLM_BASE_URL: an index from elsewhere would send every question to who made it.
        """
        origin = Origin("the index", Path())
        return self.base_url and foreign_url(origin, self.spec, self.base_url)


def probe_of(encoder: Encoder) -> tuple[float, ...]:
    """Sketch of a fixed sentence's vector: sums over 16 equal parts of it."""
    vector = encoder.encode([PROBE])[0]
    return tuple(round(float(part.sum()), 4) for part in np.array_split(vector, _PROBED))


class FileInfo(Value):
    """Size and SHA-256 of a file."""

    bytes: int
    sha256: str


class SegmentInfo(Value):
    """One immutable part of the index.

    Attributes:
        name: of its folder.
        documents: how many it holds, deleted ones included.
        chunks: how many it holds, deleted ones included.
        dense: kind of its vector index.
        deleted: places of the documents that no longer count.
        languages: documents by language, `?` where it is open.
        files: by name.
    """

    name: str
    documents: int
    chunks: int
    dense: DenseKind
    deleted: tuple[int, ...] = ()
    languages: dict[str, int]
    files: dict[str, FileInfo]


class Manifest(Value):
    """Everything that an index depends on.

    Attributes:
        generation: counts the changes.
        tokeniser: rules of the lexical index.
    """

    format: int = FORMAT
    generation: int
    encoder: EncoderInfo
    chunking: Chunking
    tokeniser: str = TOKENISER
    segments: tuple[SegmentInfo, ...] = ()


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of an index.

    Raises:
        BadInput: if there is none, it is damaged, or of another format or tokeniser.
    """
    path = folder / MANIFEST
    try:
        row = json.loads(read_foreign(path))
        checksum = row.pop("checksum", None)
        computed = digest(row)
    except OSError as error:
        raise BadInput(
            f"no index at {str(folder)!r} (expected a folder with {MANIFEST}): "
            f"`{command_line('index', 'build', 'PATH', '--index', folder)}` makes one"
        ) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is damaged: {error}") from error
    if row.get("format") != FORMAT:
        raise BadInput(
            f"{str(folder)!r} is an index of format {row.get('format')!r}, this version reads "
            f"{FORMAT}: build it again"
        )
    if checksum != computed:
        raise BadInput(f"{str(path)!r} was changed by hand or is damaged: its checksum is wrong")
    try:
        manifest = Manifest.model_validate(row)
    except ValidationError as error:
        raise BadInput(f"{str(path)!r} is damaged: {error.errors()[0]['msg']}") from error
    for segment in manifest.segments:
        for name in (segment.name, *(f"{segment.name}/{file}" for file in segment.files)):
            root = folder / SEGMENTS
            if inside(root, root / name) in (None, inside(root, root)):
                raise BadInput(f"{str(path)!r} is damaged: {name!r} leads out of the index")
    if manifest.tokeniser != TOKENISER:
        raise BadInput(
            f"{str(folder)!r} was made with the tokeniser {manifest.tokeniser!r}, this version has "
            f"{TOKENISER!r}: `{command_line('index', 'build', '--reindex', '--index', folder)}` "
            "makes it anew from its own texts"
        )
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step."""
    row = manifest.model_dump(mode="json")
    text = json.dumps({**row, "checksum": digest(row)}, indent=1, ensure_ascii=False)
    write_atomic(folder / MANIFEST, text + "\n")


def check_files(folder: Path, segment: SegmentInfo, *, digests: bool) -> None:
    """Check that the files of a segment are those that were written.

    Args:
        folder: of the segment.
        segment: the entry of the manifest.
        digests: read every byte; otherwise only sizes are compared.

    Raises:
        BadInput: naming the first file that is missing or differs.
        FileNotFoundError: if the whole segment is gone, as after a change by another process.
    """
    if not folder.is_dir():
        raise FileNotFoundError(str(folder))
    for name, expected in segment.files.items():
        path = folder / name
        size = path.stat().st_size if path.is_file() else None
        if size != expected.bytes:
            raise BadInput(f"{str(path)!r}: expected {expected.bytes} bytes, found {size}: damaged")
        if digests and digest_file(path) != expected.sha256:
            raise BadInput(f"{str(path)!r}: its bytes are not those that were written: damaged")
