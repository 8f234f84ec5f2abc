"""Workbooks that a state names, looked into when the user asks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.core import BadInput
from harness.debug.web.pictures import grid
from harness.tasks.workbooks import UnreadableWorkbook, open_workbook

ROWS, COLUMNS, SHEETS = 40, 20, 10
"""What is shown of a workbook."""


def sheets(name: str, folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The first cells of every sheet of a workbook below one of `folders`.

    Raises:
        BadInput: if there is none, it lies elsewhere, or it cannot be read.
    """
    path = _below(name, folders)
    try:
        with open_workbook(path) as book:
            shown = [one for one in book.sheet_names if book.has_cells(one)][:SHEETS]
            return [{"sheet": one, **_table(book.head(one, ROWS, COLUMNS))} for one in shown]
    except UnreadableWorkbook as error:
        raise BadInput(str(error)) from error


def _below(name: str, folders: Sequence[Path]) -> Path:
    for folder in folders:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
        if inside and path.suffix.lower() == ".xlsx" and path.is_file():
            return path
    raise BadInput(f"expected a workbook (.xlsx) of this session's folders, found {name!r}")


def _table(head: list[list[object]]) -> dict[str, Any]:
    from openpyxl.utils import get_column_letter

    return grid(
        [
            (get_column_letter(column), row, value)
            for row, values in enumerate(head, start=1)
            for column, value in enumerate(values, start=1)
        ],
        ROWS,
        COLUMNS,
    )
