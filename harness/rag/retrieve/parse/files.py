"""Paths to documents: what kind of file each is, and its parser."""

from __future__ import annotations

import codecs
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Literal

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document
from harness.rag.retrieve.parse import office, plain
from harness.rag.retrieve.parse.pdf import parse_pdf

FileKind = Literal["pdf", "docx", "pptx", "xlsx", "html", "markdown", "csv", "jsonl", "text"]

# A file above this size is refused unless the limit is raised.
MAX_BYTES = 200_000_000
_BY_FOLDER: dict[str, FileKind] = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}
_BY_NAME: dict[str, FileKind] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
}
_TEXTS = {"html": plain.parse_html, "markdown": plain.parse_markdown, "csv": plain.parse_csv}
_OFFICE = {"docx": office.parse_docx, "pptx": office.parse_pptx, "xlsx": office.parse_xlsx}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # UTF-16 and -32 text hold zero bytes
_LOOK = 8192
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 20


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
    """The documents under a list of paths.

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
    documents: dict[str, Document] = {}
    passed_over: list[PassedOver] = []
    for path in paths:
        named = path.is_file()
        for file in [path] if named else _files(path):
            try:
                parsed = parse_file(file, options)
            except BadInput as error:
                if named:
                    raise
                passed_over.append(PassedOver(file.as_posix(), str(error)))
            else:
                documents.update((document.id, document) for document in parsed)
    if not documents:
        names = ", ".join(repr(str(path)) for path in paths)
        first = f"; the first: {passed_over[0].reason}" if passed_over else ""
        raise BadInput(f"no document in {names}: {len(passed_over)} files could not be read{first}")
    return Parsed(tuple(documents.values()), tuple(passed_over))


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
        return [_by_docling(source, path)]
    return parse_bytes(source, data, options)


def parse_bytes(source: str, data: bytes, options: ParseOptions = DEFAULTS) -> list[Document]:
    """The documents of a file's bytes; `source` names it, its suffix helps to tell the kind.

    Raises:
        BadInput: as :func:`parse_file`.
    """
    kind = _kind_of(source, data)
    if kind == "pdf":
        return [parse_pdf(source, data, ocr=options.ocr)]
    if kind in _OFFICE:
        documents, warning = [_OFFICE[kind](source, data)], None
    else:
        text, warning = _decode(source, data, options.encoding)
        if kind == "jsonl":
            documents = plain.parse_jsonl(source, text)
        else:
            documents = [_TEXTS.get(kind, plain.parse_text)(source, text)]
    if kind != "jsonl" and not documents[0].text.strip():
        raise BadInput(f"{source!r} holds no text")
    if warning:
        return [replace(doc, warnings=(*doc.warnings, warning)) for doc in documents]
    return documents


def _by_docling(source: str, path: Path) -> Document:
    """The Markdown that docling makes of a file: slower, better tables, no page offsets."""
    docling = require("docling.document_converter", "--parser docling needs docling", "docling")
    try:
        markdown: str = docling.DocumentConverter().convert(path).document.export_to_markdown()
    except Exception as error:  # whatever its pipelines raise
        raise BadInput(f"docling cannot read {source!r}: {error}") from error
    return plain.parse_markdown(source, markdown)


def _kind_of(name: str, data: bytes) -> FileKind:
    """The kind of a file, by its bytes first and its name second.

    Raises:
        BadInput: if it is empty, encrypted, in an old office format or binary.
    """
    if not data.strip():
        raise BadInput(f"{name!r} is empty: expected a document with text")
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = archive.namelist()
        except zipfile.BadZipFile as error:
            raise BadInput(f"{name!r} is a damaged zip or office file: {error}") from error
        for member in members:
            for folder, kind in _BY_FOLDER.items():
                if member.startswith(folder):
                    return kind
        raise BadInput(f"{name!r} is an archive of {len(members)} files: unpack it first")
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise BadInput(f"{name!r} is encrypted: save it without a password first")
        raise BadInput(
            f"{name!r} is in an office format from before 2007: convert it first, for example "
            "with `soffice --headless --convert-to docx` (or pptx, xlsx)"
        )
    if b"\0" in data[:_LOOK] and not data.startswith(_WIDE):
        raise BadInput(
            f"{name!r} is a binary file (it begins with {data[:8]!r}): expected text, Markdown, "
            "HTML, PDF, docx, pptx, xlsx or csv"
        )
    if data[:_LOOK].lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    return _BY_NAME.get(PurePath(name).suffix.lower(), "text")


def _decode(name: str, data: bytes, encoding: str | None) -> tuple[str, str | None]:
    """(text, warning): UTF-8, or as a byte-order mark says, or in a named or guessed encoding.

    A guess (charset-normalizer) always comes with a warning.

    Raises:
        BadInput: if the bytes are not of the named encoding, or nothing fits them.
    """
    marked = next((codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    chosen = encoding or marked or "utf-8"
    try:
        return data.decode(chosen), None
    except LookupError as error:
        raise BadInput(f"unknown encoding {chosen!r}: expected a name such as cp1252") from error
    except UnicodeDecodeError as error:
        if encoding or marked:
            raise BadInput(f"{name!r} is not {chosen} text: {error}") from error
        fault = str(error)
    guess: Any = import_module("charset_normalizer").from_bytes(data[:_SAMPLE]).best()
    try:
        if guess is not None:
            warning = f"not UTF-8: read as {guess.encoding}, which is a guess (--encoding)"
            return data.decode(guess.encoding), warning
    except UnicodeDecodeError:
        pass
    raise BadInput(
        f"{name!r} is neither UTF-8 nor any encoding that could be guessed ({fault}): "
        "name its encoding (--encoding)"
    )
