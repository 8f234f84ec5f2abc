"""The same rows in another order, where the right result cannot depend on it.

A script that reads cells by their position, and not by what they hold, is caught by this. There are
two such places. A sheet that is looked up by a key: it is not judged, its first column is a key (no
value twice, and other sheets hold some of its values), its table is whole and without formulas, and
the instruction does not speak of an order. And a table that the task itself only reorders: the
judged rows are the rows that stood there, in another order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from harness.evolve.analysts.agentic.renaming import words
from harness.evolve.analysts.agentic.trial import CellKey
from harness.evolve.analysts.agentic.workbook_cells import TOTALS, data_cells, header_row

_ORDER = words(
    [
        "first last order ordered top bottom previous next above below running rank ranked "
        "sequence balance down nearest closest approximate range between latest earliest"
    ]
)
_FEWEST_ROWS = 3


def reorder(
    book: Any, judged: Mapping[CellKey, object], instruction: str, seed: int
) -> tuple[str, ...]:
    """Shuffle the rows of such sheets in place; return their names.

    Args:
        book: an openpyxl workbook with formulas, perturbed otherwise or not.
        judged: the right values of the judged cells.
        instruction: what the task asks for.
        seed: of the new order.
    """
    chosen = random.Random(seed)
    sheets = {sheet for sheet, _, _ in judged}
    if len(sheets) == 1 and (rows := _reordered(book, judged)):
        _shuffle(rows, chosen)
        return tuple(sheets)
    if words([instruction]) & _ORDER:
        return ()
    found: list[str] = []
    for sheet in book.worksheets:
        if sheet.title in sheets:
            continue
        rows = _table(sheet)
        others = {_key(cell.value) for cell in data_cells(book) if cell.parent.title != sheet.title}
        if rows and others & {_key(row[0].value) for row in rows}:
            _shuffle(rows, chosen)
            found.append(sheet.title)
    return tuple(found)


def _reordered(book: Any, judged: Mapping[CellKey, object]) -> list[list[Any]]:
    """The rows that the right result holds in another order; empty if it does anything else.

    Rows that stay where they were (a row of totals at the end) are left out.
    """
    name = next(iter(judged))[0]
    if name not in book.sheetnames:
        return []
    sheet = book[name]
    columns = sorted({column for _, _, column in judged})
    places = sorted({row for _, row, _ in judged})
    now = [[sheet.cell(row, column) for column in columns] for row in places]
    old = [tuple(cell.value for cell in row) for row in now]
    new = [tuple(judged.get((name, row, column)) for column in columns) for row in places]
    if old == new or sorted(map(repr, old)) != sorted(map(repr, new)):
        return []
    if any(isinstance(cell, _merged()) or cell.data_type == "f" for row in now for cell in row):
        return []
    free = [row for row, values in zip(now, old, strict=True) if not _is_total(values)]
    return free if len(free) >= _FEWEST_ROWS else []


def _is_total(values: tuple[object, ...]) -> bool:
    return any(_key(value) in TOTALS for value in values)


def _merged() -> type[Any]:
    from openpyxl.cell.cell import MergedCell

    return MergedCell


def _table(sheet: Any) -> list[list[Any]]:
    """The data rows of a sheet that is one table with a key in front; empty if it is not."""
    head = header_row(sheet)
    rows = [list(row) for row in sheet.iter_rows(min_row=head + 1)]
    while rows and all(cell.value is None for cell in rows[-1]):
        rows.pop()
    merged = any(area.max_row > head for area in sheet.merged_cells.ranges)
    formulas = any(cell.data_type in ("f", "e") for row in rows for cell in row)
    keys = [_key(row[0].value) for row in rows]
    whole = "" not in keys and len(set(keys)) == len(keys) >= _FEWEST_ROWS
    return rows if whole and not merged and not formulas else []


def _shuffle(rows: list[list[Any]], chosen: random.Random) -> None:
    held = [[(cell.value, cell.number_format) for cell in row] for row in rows]
    turn = chosen.randrange(1, len(held))
    chosen.shuffle(held)
    if [row[0].value for row in rows] == [row[0][0] for row in held]:
        held = held[turn:] + held[:turn]
    for row, values in zip(rows, held, strict=True):
        for cell, (value, number_format) in zip(row, values, strict=True):
            cell.value, cell.number_format = value, number_format


def _key(value: object) -> str:
    return "" if value is None else str(value).strip().casefold()
