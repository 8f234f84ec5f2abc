"""The cells of a workbook that hold data, and those that a task judges."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.evolve.analysts.agentic.renaming import words
from harness.evolve.analysts.agentic.trial import CellKey
from harness.tasks.comparison import group_by_sheet
from harness.tasks.ranges import parse_answer_position
from harness.tasks.workbooks import MAX_CELLS, UnreadableWorkbook, open_workbook

TOTALS = frozenset({"total", "totals", "subtotal", "sum", "average"})


def load(data: bytes, *, values: bool = False) -> Any:
    """A workbook by openpyxl, with formulas, or with the values stored for them.

    Raises:
        BadInput: if a sheet spans more cells than can be gone through.
    """
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about features that no cell value needs
        book: Any = openpyxl.load_workbook(BytesIO(data), data_only=values)
    for sheet in book.worksheets:
        if sheet.max_row * sheet.max_column > MAX_CELLS:
            raise BadInput(f"sheet {sheet.title!r} spans more than {MAX_CELLS} cells")
    return book


def save(book: Any) -> bytes:
    """The bytes of a workbook."""
    stream = BytesIO()
    book.save(stream)
    return stream.getvalue()


def repacked(data: bytes) -> bytes:
    """The same workbook in other bytes, so that a script cannot know it by a hash of the file."""
    stream = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for member in old.infolist():
            level = 1 if member.compress_type == zipfile.ZIP_STORED else 9
            fresh = zipfile.ZipInfo(member.filename, (2001, 1, 1, 0, 0, 0))
            new.writestr(fresh, old.read(member), zipfile.ZIP_DEFLATED, level)
        new.comment = b"a copy"
    return stream.getvalue()


def header_row(sheet: Any) -> int:
    """The row of the column names: the first with two texts; without one, the first in use."""
    first = 0
    for row in sheet.iter_rows():
        texts = sum(isinstance(cell.value, str) for cell in row)
        if texts >= 2:
            return row[0].row
        if texts and not first:
            first = row[0].row
    return first


def data_cells(book: Any) -> list[Any]:
    """Cells with a constant value below the column names, rows of totals left out."""
    found: list[Any] = []
    for sheet in book.worksheets:
        head = header_row(sheet)
        for row in sheet.iter_rows(min_row=head + 1):
            filled = [cell for cell in row if cell.value is not None]
            if any(str(cell.value).strip().casefold() in TOTALS for cell in filled):
                continue
            found += [cell for cell in filled if cell.data_type not in ("f", "e")]
    return found


def constants(book: Any) -> Iterable[object]:
    """Every constant of a workbook."""
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            yield from (cell.value for cell in row if cell.data_type not in ("f", "e"))


def named_words(book: Any, instruction: str) -> set[str]:
    """Words that a task names, and column names, sheets and formulas; they keep their meaning."""
    found = words([instruction, *book.sheetnames, *book.defined_names])
    for sheet in book.worksheets:
        head = header_row(sheet)
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and (cell.row <= head or cell.data_type == "f"):
                    found |= words([cell.value])
    return found


def has_stored_formulas(book: Any, data: bytes) -> bool:
    """Whether a formula of a workbook has a stored value, which a changed input would belie.

    Args:
        book: the workbook with formulas.
        data: its bytes, read again for the values if there is a formula.
    """
    formulas = [
        (sheet.title, cell.coordinate)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    ]
    if not formulas:
        return False
    stored = load(data, values=True)
    return any(stored[sheet][cell].value is not None for sheet, cell in formulas)


@contextmanager
def changes_undone(book: Any) -> Generator[None]:
    """Put every cell value back at the end of the block: loading again may take seconds."""
    held = [
        (cell, cell.value, cell.number_format)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
    ]
    try:
        yield
    finally:
        for cell, value, number_format in held:
            if cell.value is not value:
                cell.value = value
            if cell.number_format != number_format:
                cell.number_format = number_format


def judged_values(path: Path, position: str) -> dict[CellKey, object]:
    """(sheet, row, column) -> value of the judged cells of a workbook, those without value absent.

    Empty for a workbook that has no such sheet or cannot be read.
    """
    try:
        with open_workbook(path) as book:
            areas = group_by_sheet(parse_answer_position(position), book)
            return {
                (sheet, *key): value
                for sheet, ranges in areas.items()
                for key, value in book.read(sheet, ranges).cells.items()
            }
    except (BadInput, UnreadableWorkbook):
        return {}
