"""Word files (mammoth, through HTML) and slides (python-pptx)."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import Any

from harness.core import BadInput, require
from harness.rag.retrieve.document import Document, TextBuilder
from harness.rag.retrieve.parse.html import parse_html

_STYLES = "p[style-name='Title'] => h1:fresh"
_MOST_XML = 24_000_000  # bytes; the tree of it takes thirty times as many
_ODF = (  # what an OpenDocument file says, as HTML
    (r"(?s)^.*?(?=<office:body)", ""),
    (r'(office:date-value="([\d-]{10})(?:T00:00:00)?"[^>]*><text:p[^>]*>)[^<]*', r"\1\2"),
    (r"(?s)<(text:tracked-changes|office:annotation)\b.*?</\1>", ""),
    (r"</?table:(?:table-header-|table-)?(?:rows|columns|row-group|column-group)\b[^>]*>", ""),
    (r"<([\w:-]+)([^<>]*)/>", r"<\1\2></\1>"),
    (r"<text:(?:s|tab)\b[^>]*></text:(?:s|tab)>", " "),
    (r"<text:line-break></text:line-break>", "<br>"),
    (r"number-columns-(?:spanned|repeated)=", " colspan="),
    (r"number-rows-spanned=", " rowspan="),
    (r"<table:covered-table-cell[^>]*>.*?</table:covered-table-cell>", ""),
    (r"<(/?)text:p\b", r"<\1p"),
    (r"<(/?)text:h\b", r"<\1h2"),
    (r"<(/?)text:note-citation\b", r"<\1sup"),
    (r"<(/?)table:table-row\b", r"<\1tr"),
    (r"<(/?)table:table-cell\b", r"<\1td"),
    (r"<(/?)table:table\b(?!-)", r"<\1table"),
)
_REPEATED = re.compile(r'(?s)<tr\b[^>]*number-rows-repeated="(\d+)".*?</tr>')
_LEFT_OUT = re.compile(r"word/(header|footer|comment)s?\d*\.xml")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"


def parse_docx(source: str, data: bytes) -> Document:
    """A Word file as a reader sees it with all changes accepted.

    Raises:
        BadInput: if mammoth is not installed, or the file is too large for it.
        Exception: of many kinds, if it is damaged.
    """
    mammoth = require("mammoth", "reading docx needs mammoth")
    plain, warnings = _plain_word(source, data)
    no_image = mammoth.images.img_element(lambda _: {"src": ""})  # pyright: ignore
    html = mammoth.convert_to_html(io.BytesIO(plain), style_map=_STYLES, convert_image=no_image)
    document = parse_html(source, html.value)
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        core = "docProps/core.xml"
        properties = archive.read(core) if core in archive.NameToInfo else b""
    fields = {"title": rb"dc:title", "author": rb"dc:creator"}
    matches = {key: re.search(rb"<%b>([^<]+)<" % tag, properties) for key, tag in fields.items()}
    metadata = {key: match[1].decode() for key, match in matches.items() if match}
    return replace(document, metadata=metadata, warnings=(*document.warnings, *warnings))


def _plain_word(source: str, data: bytes) -> tuple[bytes, list[str]]:
    """The file with what mammoth passes over in a form that it reads; what a reader should know."""
    etree: Any = import_module("lxml.etree")
    out, counts = io.BytesIO(), Counter[str]()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.infolist():
            if not part.filename.endswith((".xml", ".rels")):
                continue
            _check_size(source, part)
            xml = old.read(part)
            if part.filename == "word/document.xml":
                root = etree.fromstring(xml, etree.XMLParser(resolve_entities=False))
                _simplify(root, counts)
                xml = etree.tostring(root)
            elif kind := _LEFT_OUT.fullmatch(part.filename):
                counts[f"pieces of text of a {kind[1]} left out"] += xml.count(b"</w:t>")
            new.writestr(part.filename, xml)
    return out.getvalue(), [f"{count:,} {loss}" for loss, count in counts.items() if count]


def _simplify(root: Any, counts: Counter[str]) -> None:
    """Text boxes as text, hidden runs away, formulas as runs, cells where a row begins late."""
    for part in list(
        root.iter(f"{_MC}AlternateContent", f"{_W}vanish", f"{_M}oMath", f"{_W}gridBefore")
    ):
        value = part.get(f"{_W}val")
        if part.tag == f"{_MC}AlternateContent" and (boxes := [*part.iter(f"{_W}txbxContent")]):
            part.clear()
            part.tag = f"{_W}pict"
            part.append(boxes[0])
        elif part.tag == f"{_W}vanish" and value not in ("0", "false"):
            for text in part.getparent().getparent().iter(f"{_W}t"):
                counts["hidden words left out"] += len(text.text.split())
                text.text = ""
        elif part.tag == f"{_M}oMath":
            text = "".join(run.text or "" for run in part.iter(f"{_M}t"))
            part.clear()
            part.tag = f"{_W}r"
            part.append(part.makeelement(f"{_W}t"))
            part[0].text = text
        elif part.tag == f"{_W}gridBefore":
            for _ in range(min(int(value or 0), 60)):
                part.getparent().addnext(part.makeelement(f"{_W}tc"))
    changes = root.iter(f"{_W}ins", f"{_W}del", f"{_W}moveFrom", f"{_W}moveTo")
    counts["tracked changes read as accepted"] += len([*changes])


def parse_odf(source: str, data: bytes) -> Document:
    """A text, sheets or slides of OpenDocument, through HTML; cells stand as they are displayed.

    Raises:
        BadInput: if it is too large, or holds no text.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_size(source, archive.getinfo("content.xml"))
        html = archive.read("content.xml").decode()
        sheets = b"spreadsheet" in archive.read("mimetype")
    for pattern, plain in _ODF:
        html = re.sub(pattern, plain, html)
    html = _REPEATED.sub(lambda row: row[0] * min(int(row[1]), 1000 * ("<p>" in row[0])), html)
    name = r'<table\b[^>]*table:name="([^"]*)"[^>]*>'
    return parse_html(source, re.sub(name, r"<h1>\1</h1>\g<0>", html) if sheets else html)


def _check_size(source: str, part: zipfile.ZipInfo) -> None:
    if part.file_size > _MOST_XML:
        fault = f"{source!r} holds {part.file_size / 1e6:,.0f} MB of text in {part.filename!r}"
        raise BadInput(f"{fault}, the limit is {_MOST_XML / 1e6:,.0f} MB: split it")


def parse_pptx(source: str, data: bytes) -> Document:
    """Slides as pages: title, texts from top to bottom, tables, values of charts, notes.

    Raises:
        BadInput: if python-pptx is not installed.
        Exception: of many kinds, if it is damaged.
    """
    file = require("pptx", "reading pptx needs python-pptx").Presentation(io.BytesIO(data))
    out = TextBuilder()
    for number, slide in enumerate(file.slides, start=1):
        out.page(number)
        title = slide.shapes.title
        out.heading(title.text if title is not None else f"Slide {number}", 1)
        if slide._element.get("show") == "0":
            out.warnings.append(f"slide {number} is hidden; it is read all the same")
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False):
                out.table([cell.text for cell in row.cells] for row in shape.table.rows)
            elif getattr(shape, "has_chart", False):
                for plot in shape.chart.plots:
                    columns = [("", *plot.categories), *((s.name, *s.values) for s in plot.series)]
                    out.table([f"{cell}" for cell in row] for row in zip(*columns, strict=False))
            elif shape.has_text_frame:
                out.block(shape.text_frame.text.replace("\v", "\n"))
            elif shape._element.tag.endswith("graphicFrame"):
                out.warnings.append(f"a diagram on slide {number} is not read")
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            out.block(slide.notes_slide.notes_text_frame.text)
    properties = {"title": file.core_properties.title, "author": file.core_properties.author}
    return out.document(source, {key: value for key, value in properties.items() if value})


def _shapes(shapes: Any) -> list[Any]:
    """The shapes of a slide and of its groups, in reading order."""
    flat: list[Any] = []
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        flat.extend(_shapes(shape.shapes) if hasattr(shape, "shapes") else [shape])
    return flat
