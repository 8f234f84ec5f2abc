"""Comparing an agent's workbook with the golden one, cell by cell.

When two values count as equal is what SpreadsheetBench's official scorer says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from pathlib import Path

from pydantic import JsonValue

from harness.core import BadInput, Value
from harness.tasks.ranges import CellRange, cell_name, parse_answer_position
from harness.tasks.workbooks import UnreadableWorkbook, Workbook, open_workbook

KEPT_DIFFERENCES = 20
_EXCEL_EPOCH = datetime(1899, 12, 30)


class Difference(Value):
    """One cell that is not as expected.

    Attributes:
        cell: such as `'Sheet1'!B2`.
        expected: value in the golden workbook, as JSON (dates as text).
        got: value in the output.
    """

    cell: str
    expected: JsonValue
    got: JsonValue


class Comparison(Value):
    """Outcome of a comparison of two workbooks.

    Attributes:
        equal: whether all cells of the answer position are equal.
        differences: the first 20 cells that differ.
        different_cells: how many differ.
        compared_cells: how many were compared, empty ones included.
        message: one sentence: why not equal, or what to know about it.
    """

    equal: bool
    differences: tuple[Difference, ...] = ()
    different_cells: int = 0
    compared_cells: int = 0
    message: str = ""


def compare_workbooks(
    golden: Path, output: Path, answer_position: str, answer_sheet: str | None = None
) -> Comparison:
    """Compare values in the answer position, as SpreadsheetBench's official scorer does.

    Only values count, and of formulas the value that is stored in the file: recalculate first if
    formulas shall count. A range without a sheet means the first sheet of the golden workbook, even
    if `answer_sheet` names another one (so the official scorer); the message then says so.

    Raises:
        BadInput: if the golden workbook or the answer position cannot be used. An output that
            cannot be read is a `Comparison` that is not equal.
    """
    ranges = parse_answer_position(answer_position)
    try:
        with open_workbook(golden) as book:
            by_sheet = group_by_sheet(ranges, book)
            first = book.sheet_names[0]
            note = ""
            if answer_sheet not in (None, "", first) and any(a.sheet is None for a in ranges):
                note = (
                    f"the answer position names no sheet, so the first one ({first!r}) was "
                    f"compared as the official scorer does, although the task says {answer_sheet!r}"
                )
            expected = {sheet: book.read(sheet, areas) for sheet, areas in by_sheet.items()}
    except UnreadableWorkbook as error:
        raise BadInput(f"golden workbook {str(golden)!r}: {error}") from error
    try:
        with open_workbook(output) as book:
            missing = [sheet for sheet in by_sheet if sheet not in book.sheet_names]
            if missing:
                return Comparison(
                    equal=False,
                    message=f"the output has no sheet {missing[0]!r}; it has {book.sheet_names}",
                )
            got = {sheet: book.read(sheet, areas) for sheet, areas in by_sheet.items()}
    except UnreadableWorkbook as error:
        return Comparison(equal=False, message=f"output workbook: {error}")
    differences: list[Difference] = []
    different = compared = 0
    for sheet, areas in by_sheet.items():
        gold, answer = expected[sheet], got[sheet]
        last_row = max(gold.last_row, answer.last_row)
        last_column = max(gold.last_column, answer.last_column)
        compared += sum(area.size(last_row, last_column) for area in areas)
        for key in sorted(gold.cells.keys() | answer.cells.keys()):
            old, new = gold.cells.get(key), answer.cells.get(key)
            if cells_equal(old, new):
                continue
            different += 1
            if len(differences) < KEPT_DIFFERENCES:
                cell = f"'{sheet}'!{cell_name(*key)}"
                differences.append(Difference(cell=cell, expected=shown(old), got=shown(new)))
    message = note
    if different:
        message = f"{different} of {compared} cells differ, first {differences[0].cell}"
    elif not compared:
        message = "the answer position holds no cell, so any output passes"
    return Comparison(
        equal=not different,
        differences=tuple(differences),
        different_cells=different,
        compared_cells=compared,
        message=message,
    )


def group_by_sheet(ranges: Sequence[CellRange], golden: Workbook) -> dict[str, list[CellRange]]:
    """Sheet of the golden workbook -> its ranges.

    Raises:
        BadInput: if it has no such sheet.
    """
    names = golden.sheet_names
    groups: dict[str, list[CellRange]] = {}
    for area in ranges:
        name = _sheet(area.sheet, names)
        if name is None:
            raise BadInput(
                f"the answer position names the sheet {area.sheet!r}, which the golden workbook "
                f"{str(golden.path)!r} does not have; it has {names}"
            )
        groups.setdefault(name, []).append(area)
    return groups


def _sheet(name: str | None, names: Sequence[str]) -> str | None:
    """The sheet that a name means: exactly, else without case and outer spaces, as in Excel."""
    if name is None:
        return names[0]
    if name in names:
        return name
    folded = name.strip().casefold()
    alike = [sheet for sheet in names if sheet.strip().casefold() == folded]
    return alike[0] if len(alike) == 1 else None


def comparable(value: object) -> object:
    """Normalise a cell value for comparison.

    Numbers and numeric strings: `round(float, 2)`. Booleans are numbers there (Python's bool is an
    int), so TRUE equals 1 and "1". Datetimes: Excel serial rounded to whole days, hence equal to
    the number that Excel stores. Times: `HH:MM`. The empty string is no value. All else stays.
    """
    if isinstance(value, (int, float)):
        return round(float(value), 2)
    if isinstance(value, time):
        return str(value)[:-3]
    if isinstance(value, datetime):
        elapsed = value.replace(tzinfo=None) - _EXCEL_EPOCH
        return float(round(elapsed.days + elapsed.seconds / 86400.0, 0))
    if isinstance(value, str):
        try:
            return round(float(value), 2)
        except ValueError:
            return value or None
    return value


def cells_equal(expected: object, got: object) -> bool:
    """Compare two cell values: same type and value after :func:`comparable`."""
    gold, answer = comparable(expected), comparable(got)
    return type(gold) is type(answer) and gold == answer


def shown(value: object) -> JsonValue:
    """A cell value as JSON, cut at 200 characters."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
