"""Word, PowerPoint and Excel files (python-docx, python-pptx, openpyxl)."""

from __future__ import annotations

import io
import re
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from harness.core import require
from harness.rag.retrieve.document import Document, TextBuilder

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)


def parse_docx(source: str, data: bytes) -> Document:
    """Paragraphs, headings and tables of a Word file, in order.

    Raises:
        BadInput: if python-docx is not installed.
        Exception: of many kinds, if it is damaged.
    """
    file = require("docx", "reading docx needs python-docx").Document(io.BytesIO(data))
    out = TextBuilder()
    for item in file.iter_inner_content():
        if hasattr(item, "rows"):
            # A merged cell, which the library repeats, counts once.
            out.table([cell.text for cell in {c._tc: c for c in row.cells}.values()]
                      for row in item.rows)  # fmt: skip
            continue
        style = item.style.name if item.style is not None else ""
        level = _HEADING.match(style or "")
        if level or style == "Title":
            out.heading(item.text, int(level[1]) if level else 1)
        else:
            out.block(item.text)
    return out.document(source, _properties(file.core_properties))


def parse_pptx(source: str, data: bytes) -> Document:
    """Slides as pages: title, texts from top to bottom, tables, notes.

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
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False):
                out.table([cell.text for cell in row.cells] for row in shape.table.rows)
            elif shape.has_text_frame:
                out.block(shape.text_frame.text.replace("\v", "\n"))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            out.block(slide.notes_slide.notes_text_frame.text)
    return out.document(source, _properties(file.core_properties))


def _shapes(shapes: Any) -> list[Any]:
    """The shapes of a slide and of its groups, in reading order."""
    flat: list[Any] = []
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        flat.extend(_shapes(shape.shapes) if hasattr(shape, "shapes") else [shape])
    return flat


def parse_xlsx(source: str, data: bytes) -> Document:
    """Sheets as headings, rows as lines; the first row of a sheet names its columns.

    Formulas stand as their last computed values.

    Raises:
        Exception: of many kinds, if it is damaged.
    """
    openpyxl = import_module("openpyxl")
    book: Any = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    out = TextBuilder()
    for sheet in book.worksheets:
        rows = [
            ["" if value is None else str(value) for value in row]
            for row in sheet.iter_rows(values_only=True)
        ]
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        out.heading(sheet.title, 1)
        if rows:
            out.heading(" | ".join(cell for cell in rows[0] if cell.strip()), 2)
            out.table(rows[1:])
    sheets: list[JsonValue] = [str(sheet.title) for sheet in book.worksheets]
    book.close()
    return out.document(source, {"sheets": sheets})


def _properties(core: Any) -> dict[str, JsonValue]:
    properties = {"title": core.title, "author": core.author}
    return {key: value for key, value in properties.items() if value}


PARSERS = {"docx": parse_docx, "pptx": parse_pptx, "xlsx": parse_xlsx}
