"""What kind of file it is, by its bytes first and its name second."""

from __future__ import annotations

import io
import zipfile
from pathlib import PurePath
from typing import Literal

from harness.core import BadInput

FileKind = Literal["pdf", "docx", "pptx", "xlsx", "html", "markdown", "csv", "jsonl", "text"]

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
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # UTF-16 and -32 text hold zero bytes
_LOOK = 8192


def kind_of(name: str, data: bytes) -> FileKind:
    """The kind of a file.

    Raises:
        BadInput: if it is empty, encrypted, in an old office format or binary.
    """
    if not data.strip():
        raise BadInput(f"{name!r} is empty: expected a document with text")
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _zipped(name, data)
    if data.startswith(_OLE):
        raise BadInput(_ole(name, data))
    if b"\0" in data[:_LOOK] and not data.startswith(_MARKS):
        raise BadInput(
            f"{name!r} is a binary file (it begins with {data[:8]!r}): expected text, Markdown, "
            "HTML, PDF, docx, pptx, xlsx or csv"
        )
    if data[:_LOOK].lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    return _BY_NAME.get(PurePath(name).suffix.lower(), "text")


def _zipped(name: str, data: bytes) -> FileKind:
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


def _ole(name: str, data: bytes) -> str:
    if _ENCRYPTED in data:
        return f"{name!r} is encrypted: save it without a password first"
    return (
        f"{name!r} is in an office format from before 2007: convert it first, for example "
        "with `soffice --headless --convert-to docx` (or pptx, xlsx)"
    )
