"""Sheets that are only looked up by a key, with their rows in another order.

A script that reads a looked-up cell by its position, and not by its key, is caught by this. A sheet
is reordered only where the right result cannot depend on its order: it is not judged, its first
column is a key (no value twice, and other sheets hold some of its values), its table is whole and
without formulas, and the instruction does not speak of an order.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any

from harness.evolve.agentic.renaming import words
from harness.evolve.agentic.workbook_cells import data_cells, header_row

_ORDER = words(
    [
        "first last order ordered top bottom previous next above below running rank ranked "
        "sequence balance down nearest closest approximate range between latest earliest"
    ]
)
_FEWEST_ROWS = 3


def reorder(book: Any, judged: Collection[str], instruction: str, seed: int) -> tuple[str, ...]:
    """Shuffle the rows of sheets that are looked up by key, in place; return their names.

    Args:
        book: an openpyxl workbook with formulas.
        judged: names of the sheets that hold judged cells.
        instruction: what the task asks for.
        seed: of the new order.
    """
    if words([instruction]) & _ORDER:
        return ()
    chosen = random.Random(seed)
    found: list[str] = []
    for sheet in book.worksheets:
        if sheet.title in judged:
            continue
        rows = _table(sheet)
        others = {_key(cell.value) for cell in data_cells(book) if cell.parent.title != sheet.title}
        if rows and others & {_key(row[0].value) for row in rows}:
            _shuffle(rows, chosen)
            found.append(sheet.title)
    return tuple(found)


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
