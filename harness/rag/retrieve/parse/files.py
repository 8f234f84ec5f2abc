"""Paths to documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from harness.core import BadInput
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.parse import office, plain
from harness.rag.retrieve.parse.encoding import decode
from harness.rag.retrieve.parse.html import parse_html
from harness.rag.retrieve.parse.kinds import FileKind, kind_of
from harness.rag.retrieve.parse.pdf import parse_pdf

MAX_BYTES = 200_000_000
"""A file above this size is refused unless the limit is raised."""

_TEXTS = {"html": parse_html, "markdown": plain.parse_markdown, "csv": plain.parse_csv}
_OFFICE = {"docx": office.parse_docx, "pptx": office.parse_pptx, "xlsx": office.parse_xlsx}


@dataclass(frozen=True)
class ParseOptions:
    """How files are read.

    Attributes:
        ocr: recognise PDF pages without a text layer.
        encoding: of text files; default UTF-8, or a guess with a warning.
        parser: `docling` reads every file with docling.
        max_bytes: largest file.
    """

    ocr: bool = False
    encoding: str | None = None
    parser: Literal["own", "docling"] = "own"
    max_bytes: int = MAX_BYTES


@dataclass(frozen=True)
class PassedOver:
    """A file of a folder that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Parsed:
    """What a list of paths held.

    Attributes:
        documents: in the order of the paths; names are unique.
        passed_over: files of folders that could not be read.
    """

    documents: tuple[Document, ...]
    passed_over: tuple[PassedOver, ...] = ()


DEFAULTS = ParseOptions()


def parse_paths(paths: Sequence[Path], options: ParseOptions = DEFAULTS) -> Parsed:
    """Read files and folders. Hidden files and folders are left out.

    A file that was named must be readable; one that a folder holds is passed over if it is not.

    Raises:
        BadInput: for a path that does not exist, a named file that cannot be read, or if no
            document is left.
    """
    found: dict[str, Document] = {}
    passed: list[PassedOver] = []
    for path in paths:
        named = path.is_file()
        for file in [path] if named else _files(path):
            try:
                documents = parse_file(file, options)
            except BadInput as error:
                if named:
                    raise
                passed.append(PassedOver(file.as_posix(), str(error)))
            else:
                found.update((document.id, document) for document in documents)
    if not found:
        names = ", ".join(repr(str(path)) for path in paths)
        first = f"; the first: {passed[0].reason}" if passed else ""
        raise BadInput(f"no document in {names}: {len(passed)} files could not be read{first}")
    return Parsed(tuple(found.values()), tuple(passed))


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise BadInput(f"expected a file or folder, found nothing at {str(folder)!r}")
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def parse_file(path: Path, options: ParseOptions = DEFAULTS) -> list[Document]:
    """The documents of one file: one, or one a row of JSON lines.

    Raises:
        BadInput: if it is missing, too large, empty, binary, encrypted, damaged, has no text
            layer, or is not in the named encoding.
    """
    source = path.as_posix()
    try:
        size = path.stat().st_size
        if size > options.max_bytes:
            raise BadInput(
                f"{source!r} has {size / 1e6:,.0f} MB, the limit is {options.max_bytes / 1e6:,.0f} "
                "MB: split it, or raise the limit (--max-file-mb)"
            )
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {source!r}: {error.strerror}") from error
    if options.parser == "docling":
        from harness.rag.retrieve.parse.docling import parse_docling

        return [parse_docling(source, path)]
    return parse_bytes(source, data, options)


def parse_bytes(source: str, data: bytes, options: ParseOptions = DEFAULTS) -> list[Document]:
    """The documents of a file's bytes; `source` names it, its suffix helps to tell the kind.

    Raises:
        BadInput: as :func:`parse_file`.
    """
    kind = kind_of(source, data)
    if kind == "pdf":
        return [parse_pdf(source, data, ocr=options.ocr)]
    if kind in _OFFICE:
        return [_with_text(_OFFICE[kind](source, data))]
    text, warning = decode(source, data, options.encoding)
    documents = _of_text(kind, source, text)
    return [replace(one, warnings=(*one.warnings, warning)) for one in documents] if warning else (
        documents
    )  # fmt: skip


def _of_text(kind: FileKind, source: str, text: str) -> list[Document]:
    if kind == "jsonl":
        return plain.parse_jsonl(source, text)
    return [_with_text(_TEXTS.get(kind, plain.parse_text)(source, text))]


def _with_text(document: Document) -> Document:
    if not document.text.strip():
        raise BadInput(f"{document.source!r} holds no text")
    return document
