"""The sheet that an agent writes its answer into."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.tasks.ranges import CellRange
from harness.tasks.workbooks import UnreadableWorkbook, open_workbook

OUTPUT_NAME = "output.xlsx"
ANSWER_SHEET = "Answer"
MOST_ITEMS = 1000


def written_items(path: Path) -> list[str]:
    """The items in column A of the sheet `Answer`, from A1 on, empty cells left out.

    Raises:
        BadInput: if there is no such file, sheet or item; it says what is missing.
    """
    if path.is_symlink() or not path.is_file():
        raise BadInput(f"there is no output file {path.name!r} in the work folder")
    column = CellRange(
        sheet=ANSWER_SHEET, min_row=1, max_row=MOST_ITEMS, min_column=1, max_column=1
    )
    try:
        with open_workbook(path) as book:
            if ANSWER_SHEET not in book.sheet_names:
                raise BadInput(f"there is no sheet {ANSWER_SHEET!r} in {path.name!r}")
            cells = book.read(ANSWER_SHEET, [column]).cells
    except UnreadableWorkbook as error:
        raise BadInput(f"{path.name!r} cannot be read: {error}") from error
    items = [text for _, value in sorted(cells.items()) if (text := _text(value))]
    if not items:
        raise BadInput(
            f"column A of the sheet {ANSWER_SHEET!r} has no value (a formula counts by its stored "
            "value)"
        )
    return items


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date):
        return f"{value:%Y-%m-%d}"
    return str(value).strip()
