"""Excel files: the cells of every sheet as Excel shows them (openpyxl, streamed)."""

from __future__ import annotations

import io
import re
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Decimal
from importlib import import_module
from typing import Any, cast

from pydantic import JsonValue

from harness.rag.retrieve.document import Document, TextBuilder
from harness.rag.retrieve.parse.html import superscript

MAX_CELLS = 400_000
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.')
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.([#0?]*))?,*")

Grid = dict[int, dict[int, str]]  # text by row and column, from 1


def parse_xlsx(source: str, data: bytes) -> Document:
    """Sheets as headings over their tables; titles stand above a table's columns.

    Cells stand as Excel shows them, and dates in the order of ISO 8601. A formula without a stored
    value stands as itself; merged cells are repeated.

    Raises:
        Exception: of many kinds, if it is damaged.
    """
    openpyxl: Any = import_module("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, rich_text=True)
    out, room = TextBuilder(), MAX_CELLS
    for sheet in book.worksheets:
        hidden = sheet.sheet_state != "visible"
        out.heading(sheet.title + " (hidden sheet)" * hidden, 1)
        grid, notes = _read(sheet, room)
        notes += ["it is hidden, and read all the same"] * hidden
        out.warnings += [f"sheet {sheet.title!r}: {note}" for note in notes]
        room -= sum(map(len, grid.values()))
        for block in _blocks(grid):
            columns = sorted({column for row in block for column in row})
            out.table([row.get(column, "") for column in columns] for row in block)
    sheets: list[JsonValue] = [str(sheet.title) for sheet in book.worksheets]
    book.close()
    return out.document(source, {"sheets": sheets})


def _read(sheet: Any, room: int) -> tuple[Grid, list[str]]:
    """The filled cells of a sheet, at most `room` of them, and what a reader should know."""
    grid: Grid = {}
    empty: set[tuple[int, int]] = set()
    parser: Any = None
    for cell, parser in _cells(sheet, values=True):  # noqa: B007  # the same for all
        if cell.value is None:
            empty.add((cell.row, cell.column))
        elif room <= 0 or len(empty) > MAX_CELLS:
            return grid, [f"left out from row {cell.row} on: the limit is {MAX_CELLS:,} cells"]
        elif text := _shown(cell):
            grid.setdefault(cell.row, {})[cell.column] = text
            room -= 1
    formulas = 0
    for cell, _ in _cells(sheet, values=False) if empty else ():
        if (cell.row, cell.column) in empty and cell.data_type == "f":
            text = str(getattr(cell.value, "text", None) or cell.value)
            grid.setdefault(cell.row, {})[cell.column] = text
            formulas += 1
    _merge(grid, getattr(getattr(parser, "merged_cells", None), "mergeCell", ()))
    lines = (*parser.row_dimensions.values(), *parser.column_dimensions.values()) if parser else ()
    hidden = sum(line.get("hidden") in ("1", "true") for line in lines)
    return grid, [
        *([f"{formulas} formulas without a value: save the file in Excel"] if formulas else []),
        *([f"{hidden} hidden rows or columns are read all the same"] if hidden else []),
    ]


def _cells(sheet: Any, *, values: bool) -> Any:
    """Yield every cell that the file holds, whatever size it says it has, and openpyxl's parser."""
    reader: Any = import_module("openpyxl.worksheet._reader")
    cells: Any = import_module("openpyxl.cell.read_only")
    book = sheet.parent
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    with sheet._get_source() as stream:
        parser = reader.WorkSheetParser(
            stream, sheet._shared_strings, data_only=values, epoch=book.epoch, **formats
        )
        for _, row in parser.parse():
            yield from ((cells.ReadOnlyCell(sheet, **fields), parser) for fields in row)


def _merge(grid: Grid, areas: Any) -> None:
    """Repeat the text of merged cells in the rows and columns they span; not over a whole row."""
    for area in areas:
        first = grid.get(area.min_row, {})
        spanned = range(area.min_col, min(area.max_col, area.min_col + 200) + 1)
        title = area.min_row == area.max_row and not first.keys() - spanned
        if area.min_col not in first or title:
            continue
        for row in range(area.min_row, min(area.max_row, area.min_row + 5000) + 1):
            if row in grid:
                grid[row] = dict.fromkeys(spanned, first[area.min_col]) | grid[row]


def _blocks(grid: Grid) -> list[list[dict[int, str]]]:
    """Rows that form a table; an empty row divides two where a title or new columns follow it."""
    blocks: list[list[dict[int, str]]] = []
    last = 0
    for number, row in sorted(grid.items()):
        labels = not any(re.search(r"\d", text) for text in row.values())
        titled = not blocks or len(row) == 1 or all(len(above) == 1 for above in blocks[-1])
        if not blocks or (number > last + 1 and (labels or titled)):
            blocks.append([])
        blocks[-1].append(row)
        last = number
    return blocks


def _shown(cell: Any) -> str:
    """A cell's value as Excel shows it."""
    value: Any = cell.value
    if isinstance(value, list):  # runs of text, some of them raised
        text, runs = "", cast("list[Any]", value)
        for run in runs:
            raised = getattr(getattr(run, "font", None), "vertAlign", None) == "superscript"
            text += superscript(text, str(run)) if raised else str(run)
        return text.strip()
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value.replace(microsecond=0))
    if isinstance(value, date | bool) or not isinstance(value, int | float):
        return str(value).strip()
    return format_number(value, cell.number_format or "General")


def format_number(value: float, form: str) -> str:
    """A number in a format of Excel's: per cent, digits, thousands, units and currencies.

    What is not one of these (fractions, powers) is shown as it is stored.
    """
    parts = form.split(";")
    negative = value < 0 and len(parts) > 1
    form = parts[negative]
    plain = _LITERAL.sub("", form)
    digits = _DIGITS.search(plain)
    if digits is None or re.search("[/eE@]", plain):
        return f"{value:.15g}" if abs(value) < 1e15 else str(value)
    number, decimals = Decimal(str(abs(value) if negative else value)), digits[1] or ""
    thousands = len(digits[0]) - len(digits[0].rstrip(","))
    scaled = number.scaleb(2 * plain.count("%") - 3 * thousands)
    rounded = scaled.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    grouped = "," in digits[0].rstrip(",")
    integer, _, fraction = f"{rounded:{',' * grouped}f}".partition(".")
    least = len(decimals.rstrip("#?"))
    fraction = fraction[:least] + fraction[least:].rstrip("0")
    if not grouped:
        integer = integer.zfill(digits[0].partition(".")[0].count("0"))
    literal = _LITERAL.sub(lambda match: match[1] or match[2] or match[3] or "", form)
    text = _DIGITS.sub(lambda _: f"{integer}.{fraction}" if fraction else integer, literal, count=1)
    return " ".join(text.split())
