"""Paths to documents: what kind of file each is, and the parsers of text formats."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Literal, cast

from harness import core  # what few files need is loaded with them
from harness.core import BadInput, files_below, require
from harness.core.plugins import load, plugins
from harness.rag.retrieve.document import COLUMNS, Document, Heading, TextBuilder, columns_of

# A file above this size is refused unless the limit is raised.
MAX_BYTES = 200_000_000
_BY_FOLDER: dict[str, str] = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx", "content.xml": "odf"}
_BY_NAME: dict[str, str] = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ipynb": "notebook",
}  # fmt: skip
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # UTF-16 and -32 text hold zero bytes
_LOOK = 8192
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_SAMPLE = 1 << 20
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_RULER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_NO_SETEXT = re.compile(r"^\s*(?:[-*+>#|]|\d+[.)]\s|$)")


@dataclass(frozen=True)
class ParseOptions:
    """Options for reading files.

    Attributes:
        ocr: recognise PDF pages without a text layer.
        encoding: of text files; default UTF-8, or a guess with a warning.
        parser: `docling` reads every file with docling.
        max_bytes: largest file, packed and unpacked.
        strict: refuse a file that cannot be read, in place of passing it over.
        follow_links: read what links in a folder lead to, which may lie anywhere.
    """

    ocr: bool = False
    encoding: str | None = None
    parser: Literal["own", "docling"] = "own"
    max_bytes: int = MAX_BYTES
    strict: bool = False
    follow_links: bool = False


@dataclass(frozen=True)
class PassedOver:
    """A file that could not be read, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Parsed:
    """The documents under a list of paths.

    Attributes:
        documents: in the order of the paths; names are unique.
        passed_over: files that could not be read.
        links: files in folders that are links, and were not followed.
    """

    documents: tuple[Document, ...]
    passed_over: tuple[PassedOver, ...] = ()
    links: int = 0

    @property
    def notes(self) -> list[str]:
        """Notes for the reader: files that were passed over, and warnings of the others."""
        count = len(self.passed_over)
        files = "1 file was" if count == 1 else f"{count} files were"
        return list(dict.fromkeys([
            *(f"passed over: {skipped.reason}" for skipped in self.passed_over),
            *([f"{files} passed over; --strict refuses instead"] if count else []),
            *([_links(self.links)] if self.links else []),
            *(f"{doc.source}: {text}" for doc in self.documents for text in doc.warnings),
        ]))  # fmt: skip


DEFAULTS = ParseOptions()


def _links(count: int) -> str:
    links = "1 link to a file was" if count == 1 else f"{count} links to files were"
    return f"{links} passed over; --follow-links reads them"


def parse_paths(paths: Sequence[Path], options: ParseOptions = DEFAULTS) -> Parsed:
    """Read files and folders. Hidden files and folders are left out.

    What cannot be read is passed over and counted.

    Raises:
        BadInput: for a path that does not exist, if no document is left, or (strict) for the first
            file that cannot be read.
    """
    documents: dict[str, Document] = {}
    passed_over: list[PassedOver] = []
    links = 0
    for path in paths:
        is_file = path.is_file()
        if not is_file and not path.is_dir():
            raise BadInput(f"expected a file or folder, found nothing at {str(path)!r}")
        files, left_out = ([path], 0) if is_file else files_below(path, options.follow_links)
        links += left_out
        for file in files:
            try:
                parsed = parse_file(file, options)
            except BadInput as error:
                if options.strict:
                    raise
                passed_over.append(PassedOver(file.as_posix(), str(error)))
            else:
                documents.update((document.id, document) for document in parsed)
    if not documents:
        if len(paths) == 1 and paths[0].is_file():
            raise BadInput(passed_over[0].reason)
        names = ", ".join(repr(str(path)) for path in paths)
        first = f"; the first: {passed_over[0].reason}" if passed_over else ""
        last = f"; {_links(links)}" if links else ""
        raise BadInput(
            f"no document in {names}: {len(passed_over)} files could not be read{first}{last}"
        )
    return Parsed(tuple(documents.values()), tuple(passed_over), links)


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
    if options.parser != "docling":
        return parse_bytes(source, data, options)
    # Slower, with better tables and no page offsets.
    docling = require("docling.document_converter", "--parser docling needs docling", "docling")
    try:
        markdown: str = docling.DocumentConverter().convert(path).document.export_to_markdown()
    except Exception as error:  # whatever its pipelines raise
        raise BadInput(f"docling cannot read {source!r}: {error}") from error
    return [_parse_markdown(source, markdown)]


def parse_bytes(source: str, data: bytes, options: ParseOptions = DEFAULTS) -> list[Document]:
    """The documents of a file's bytes; `source` names it, its suffix helps to tell the kind.

    Raises:
        BadInput: as :func:`parse_file`.
    """
    kind, warning = _kind_of(source, data, options.max_bytes), None
    if kind.startswith("."):
        return [load("readers", kind[1:])(source, data)]
    if kind in ("docx", "pptx", "xlsx", "odf", "pdf"):
        from harness.rag.retrieve.parse.office import parse_docx, parse_odf, parse_pptx
        from harness.rag.retrieve.parse.pdf import parse_pdf
        from harness.rag.retrieve.parse.workbook import parse_xlsx

        parsers = {"docx": parse_docx, "pptx": parse_pptx, "xlsx": parse_xlsx, "odf": parse_odf}

        try:
            if kind == "pdf":
                return [parse_pdf(source, data, ocr=options.ocr)]
            document = parsers[kind](source, data)
        except BadInput:
            raise
        except Exception as error:  # a damaged file fails anywhere in the libraries
            why = f"{type(error).__name__}: {error}"[:300]
            raise BadInput(f"{source!r} is a damaged {kind} file: {why}") from error
    else:
        text, warning = _decode(source, data, options.encoding)
        if kind == "jsonl":
            documents = _parse_jsonl(source, text)
            return [_warned(document, warning) for document in documents]
        readers: dict[str, Callable[[str, str], Document]] = {
            "html": lambda name, page: import_module(f"{__package__}.html").parse_html(name, page),
            "markdown": _parse_markdown,
            "csv": _parse_csv,
            "notebook": _parse_notebook,
        }
        document = readers.get(kind, _plain)(source, text)
    if not document.text.strip():
        raise BadInput(f"{source!r} holds no text")
    return [_warned(document, warning)]


def _plain(source: str, text: str) -> Document:
    return Document(source, text, source)


def _warned(document: Document, warning: str | None) -> Document:
    return replace(document, warnings=(*document.warnings, warning)) if warning else document


def _kind_of(name: str, data: bytes, max_bytes: int) -> str:
    """The kind of a file, by its bytes first and its name second; the suffix, for a plugin.

    Raises:
        BadInput: if it is empty, encrypted, in an old office format, binary or unpacks to too much.
    """
    if not data.strip():
        raise BadInput(f"{name!r} is empty: expected a document with text")
    if b"%PDF-" in data[:1024]:  # readers allow other bytes in front
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = archive.namelist()
                unpacked = sum(member.file_size for member in archive.infolist())
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
            raise BadInput(f"{name!r} is a damaged zip or office file: {error}") from error
        if unpacked > max_bytes:
            raise BadInput(
                f"{name!r} unpacks to {unpacked / 1e6:,.0f} MB, the limit is "
                f"{max_bytes / 1e6:,.0f} MB (--max-file-mb)"
            )
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
    suffix = PurePath(name).suffix.lower()
    if b"\0" in data[:_LOOK] and not data.startswith(_WIDE):
        if suffix[1:] in plugins("readers"):
            return suffix
        raise BadInput(
            f"{name!r} is a binary file (it begins with {data[:8]!r}): expected text, Markdown, "
            "HTML, PDF, docx, pptx, xlsx or csv"
        )
    if data[:_LOOK].lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    return _BY_NAME.get(suffix, "text")


def _decode(name: str, data: bytes, encoding: str | None) -> tuple[str, str | None]:
    """(text, warning): UTF-8, or as a byte-order mark says, or in a named or guessed encoding.

    A guess (charset-normalizer) always comes with a warning.

    Raises:
        BadInput: if the bytes are not of the named encoding, or nothing fits them.
    """
    marked = next((codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    codec = encoding or marked or "utf-8"
    try:
        return data.decode(codec), None
    except LookupError as error:
        raise BadInput(f"unknown encoding {codec!r}: expected a name such as cp1252") from error
    except UnicodeDecodeError as error:
        if encoding or marked:
            raise BadInput(f"{name!r} is not {codec} text: {error}") from error
        fault = str(error)
    # A few letters beside ASCII are too little for a guess: Western European, as Windows writes it.
    few = 20 * sum(byte > 127 for byte in data[:_SAMPLE]) < len(data[:_SAMPLE])
    guess: Any = import_module("charset_normalizer").from_bytes(data[:_SAMPLE]).best()
    for name_of_guess in (*(["cp1252"] if few else []), *([guess.encoding] if guess else [])):
        try:
            warning = f"not UTF-8: read as {name_of_guess}, which is a guess (--encoding)"
            return data.decode(name_of_guess), warning
        except UnicodeDecodeError:
            continue
    raise BadInput(
        f"{name!r} is neither UTF-8 nor any encoding that could be guessed ({fault}): "
        "name its encoding (--encoding)"
    )


def _parse_markdown(source: str, text: str) -> Document:
    """Markdown as it stands, with its headings (ATX and underlined, outside of code).

    The columns of a table are the heading of its rows.
    """
    headings: list[Heading] = []
    fence, start, previous = "", 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        mark = _FENCE.match(bare)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            if (
                headings
                and headings[-1].level == COLUMNS
                and headings[-1].title
                and "|" not in bare
            ):
                headings.append(Heading(start, COLUMNS, ""))
            if "|" in bare and "|" in previous and _RULER.match(bare):
                names = [name.strip() for name in previous.strip().strip("|").split("|")]
                headings.append(Heading(start - len(previous), COLUMNS, columns_of([names])))
            elif heading := _ATX.match(bare):
                headings.append(Heading(start, len(heading[1]), heading[2].strip()))
            elif (underline := _UNDERLINE.match(bare)) and not _NO_SETEXT.match(previous):
                level = 1 if underline[1][0] == "=" else 2
                headings.append(Heading(start - len(previous), level, previous.strip()))
        start += len(line)
        previous = line if not fence else ""
    title = next((heading.title for heading in headings if heading.level == 1), None)
    return Document(
        source, text, source, headings=tuple(headings), metadata={"title": title} if title else {}
    )


def _parse_notebook(source: str, text: str) -> Document:
    """The cells as Markdown, code and what it printed in fences; another JSON stays as it is."""
    parts: list[str] = []
    try:
        notebook: Any = core.parse_json(text)
        for cell in notebook["cells"]:
            is_code = cell["cell_type"] == "code"
            results = cell["outputs"] if is_code else ()  # streams, values, pictures, errors
            printed = [
                out.get("text") or out.get("data", {}).get("text/plain", "") for out in results
            ]
            texts = ["".join(each) for each in (cell["source"], *printed)]
            form = "```\n{}\n```" if is_code else "{}"
            parts += [form.format(each.strip("\n")) for each in texts if each.strip()]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        return Document(source, text, source, warnings=(f"read as plain text: {error!r}",))
    return _parse_markdown(source, "\n\n".join(parts))


def _parse_csv(source: str, text: str) -> Document:
    """A table; a text in which few lines have as many cells stays as it is."""
    try:
        rows = [cells for _, cells in core.split_csv(text, tabs=source.lower().endswith(".tsv"))]
    except csv.Error as error:
        return Document(source, text, source, warnings=(f"read as plain text: {error}",))
    rows = [row for row in rows if any(map(str.strip, row))]
    widths = Counter(map(len, rows))
    width, most = widths.most_common(1)[0] if widths else (0, 0)
    if width < 2 or 2 * most < len(rows):
        return Document(source, text, source)
    out = TextBuilder()
    out.table(rows)
    columns = next(row for row in rows if len(row) == width)
    return out.document(source, {"columns": [name.strip() for name in columns]})


def _parse_jsonl(source: str, text: str) -> list[Document]:
    """One document per row `{text, id?, title?, ...}`; other fields become metadata.

    Rows without a `text` make the file a plain text.

    Raises:
        BadInput: if a line is no JSON, or an id occurs twice.
    """
    documents: dict[str, Document] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: Any = core.parse_json(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{source}:{number}: expected a JSON object a line ({error})") from error
        row = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if not isinstance(row.get("text"), str):
            return [Document(source, text, source)]
        name = f"{source}#{row.get('id', row.get('_id', number))}"
        if name in documents:
            raise BadInput(f"{source}:{number}: a second row named {name!r}")
        metadata = {key: value for key, value in row.items() if key not in ("text", "id", "_id")}
        documents[name] = Document(name, row["text"], name, metadata=metadata)
    return list(documents.values())
