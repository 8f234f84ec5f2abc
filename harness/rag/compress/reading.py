"""Paths to what can be compressed: parsed documents, and long texts as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.rag.retrieve.document import Document
from harness.rag.retrieve.parse import parse_paths

STREAMED_FROM = 8_000_000
"""Bytes from which a plain text file is read in blocks instead of being parsed."""
_HEAD = 8192
_PLAIN = {".txt", ".md", ".log", ".text", ""}


@dataclass(frozen=True)
class Read:
    """What paths held.

    Attributes:
        documents: parsed documents, and paths of files to be read in blocks.
        warnings: of the parsers, and of files that a folder holds and nobody can read.
    """

    documents: list[Document | Path]
    warnings: list[str]


def read_paths(paths: Sequence[Path]) -> Read:
    """Read files and folders; long plain text files are left to be read in blocks.

    Raises:
        BadInput: as :func:`harness.rag.retrieve.parse.parse_paths`.
    """
    long = [path for path in paths if _is_long(path)]
    short = [path for path in paths if path not in long]
    documents: list[Document | Path] = []
    warnings: list[str] = []
    if short:
        parsed = parse_paths(short)
        documents.extend(parsed.documents)
        warnings = [f"{one.id}: {text}" for one in parsed.documents for text in one.warnings]
        warnings += [f"{one.path}: {one.reason}" for one in parsed.passed_over]
    return Read([*documents, *long], warnings)


def _is_long(path: Path) -> bool:
    """Whether it is a long text; one with NUL bytes is left to the parsers, which name its kind."""
    if not path.is_file() or path.suffix.lower() not in _PLAIN:
        return False
    if path.stat().st_size <= STREAMED_FROM:
        return False
    with path.open("rb") as handle:
        return b"\0" not in handle.read(_HEAD)
