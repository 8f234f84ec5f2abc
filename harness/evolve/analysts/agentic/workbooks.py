"""The cells of a workbook that hold data, those that a task judges, and its rows in another order.

A script that reads cells by their position, and not by what they hold, is caught by another order
where the right result cannot depend on it (:func:`reorder`).
"""

from __future__ import annotations

import random
import warnings
import zipfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.evolve.analysts.agentic.replacements import words
from harness.evolve.analysts.agentic.trial import CellKey
from harness.tasks import (
    MAX_CELLS,
    UnreadableWorkbook,
    group_by_sheet,
    open_workbook,
    parse_answer_position,
)

TOTALS = frozenset({"total", "totals", "subtotal", "sum", "average"})
_ORDER = words(
    [
        "first last order ordered top bottom previous next above below running rank ranked "
        "sequence balance down nearest closest approximate range between latest earliest"
    ]
)
_FEWEST_ROWS = 3


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
    """Repack a workbook in other bytes, so that a script cannot know it by a hash of the file."""
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
    cells: list[Any] = []
    for sheet in book.worksheets:
        for row in sheet.iter_rows(min_row=header_row(sheet) + 1):
            filled = [cell for cell in row if cell.value is not None]
            if not any(_key(cell.value) in TOTALS for cell in filled):
                cells += [cell for cell in filled if cell.data_type not in ("f", "e")]
    return cells


def constant_cells(book: Any) -> Iterable[Any]:
    """Every cell of a workbook that holds no formula and no error, empty ones included."""
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            yield from (cell for cell in row if cell.data_type not in ("f", "e"))


def named_words(book: Any, instruction: str) -> set[str]:
    """Words that a task names, and column names, sheets and formulas; they keep their meaning."""
    texts = [instruction, *book.sheetnames, *book.defined_names]
    for sheet in book.worksheets:
        head = header_row(sheet)
        texts += [
            cell.value
            for row in sheet.iter_rows()
            for cell in row
            if isinstance(cell.value, str) and (cell.row <= head or cell.data_type == "f")
        ]
    return words(texts)


def has_stored_formulas(book: Any, data: bytes) -> bool:
    """Return True if a formula has a stored value, which a changed input would belie.

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
    contents = [
        (cell, cell.value, cell.number_format)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
    ]
    try:
        yield
    finally:
        for cell, value, number_format in contents:
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


def reorder(
    book: Any, judged: Mapping[CellKey, object], instruction: str, seed: int
) -> tuple[str, ...]:
    """Shuffle rows in place where the right result cannot depend on it; return the sheets' names.

    There are two such places. A sheet that is looked up by a key: it is not judged, its first
    column is a key (no value twice, and other sheets hold some of its values), its table is whole
    and without formulas, and the instruction does not speak of an order. And a table that the task
    itself only reorders: the judged rows are the rows that stood there, in another order.

    Args:
        book: an openpyxl workbook with formulas, perturbed otherwise or not.
        judged: the right values of the judged cells.
        instruction: what the task asks for.
        seed: of the new order.
    """
    rng = random.Random(seed)
    sheets = {sheet for sheet, _, _ in judged}
    if len(sheets) == 1 and (rows := _reordered(book, judged)):
        _shuffle(rows, rng)
        return tuple(sheets)
    if words([instruction]) & _ORDER:
        return ()
    moved: list[str] = []
    for sheet in book.worksheets:
        if sheet.title in sheets:
            continue
        rows = _table(sheet)
        name = sheet.title
        elsewhere = {_key(cell.value) for cell in data_cells(book) if cell.parent.title != name}
        if rows and elsewhere & {_key(row[0].value) for row in rows}:
            _shuffle(rows, rng)
            moved.append(name)
    return tuple(moved)


def _reordered(book: Any, judged: Mapping[CellKey, object]) -> list[list[Any]]:
    """The rows that the right result holds in another order; empty if it does anything else.

    Rows that stay where they were (a row of totals at the end) are left out.
    """
    from openpyxl.cell.cell import MergedCell

    name = next(iter(judged))[0]
    if name not in book.sheetnames:
        return []
    sheet = book[name]
    columns = sorted({column for _, _, column in judged})
    rows = sorted({row for _, row, _ in judged})
    now = [[sheet.cell(row, column) for column in columns] for row in rows]
    old = [tuple(cell.value for cell in row) for row in now]
    new = [tuple(judged.get((name, row, column)) for column in columns) for row in rows]
    if old == new or sorted(map(repr, old)) != sorted(map(repr, new)):
        return []
    if any(isinstance(cell, MergedCell) or cell.data_type == "f" for row in now for cell in row):
        return []
    free = [
        row
        for row, values in zip(now, old, strict=True)
        if not any(_key(value) in TOTALS for value in values)
    ]
    return free if len(free) >= _FEWEST_ROWS else []


def _table(sheet: Any) -> list[list[Any]]:
    """The data rows of a sheet that is one table with a key in front; empty if it is not."""
    head = header_row(sheet)
    rows = [list(row) for row in sheet.iter_rows(min_row=head + 1)]
    while rows and all(cell.value is None for cell in rows[-1]):
        rows.pop()
    merged = any(area.max_row > head for area in sheet.merged_cells.ranges)
    formulas = any(cell.data_type in ("f", "e") for row in rows for cell in row)
    keys = [_key(row[0].value) for row in rows]
    complete = "" not in keys and len(set(keys)) == len(keys) >= _FEWEST_ROWS
    return rows if complete and not merged and not formulas else []


def _shuffle(rows: list[list[Any]], rng: random.Random) -> None:
    contents = [[(cell.value, cell.number_format) for cell in row] for row in rows]
    turn = rng.randrange(1, len(contents))
    rng.shuffle(contents)
    if [row[0].value for row in rows] == [row[0][0] for row in contents]:
        contents = contents[turn:] + contents[:turn]
    for row, values in zip(rows, contents, strict=True):
        for cell, (value, number_format) in zip(row, values, strict=True):
            cell.value, cell.number_format = value, number_format


def _key(value: object) -> str:
    return "" if value is None else str(value).strip().casefold()
