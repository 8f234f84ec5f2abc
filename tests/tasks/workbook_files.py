"""Small workbooks for the tests of this room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openpyxl import Workbook

Cell = str | int | float | bool | None


def write_workbook(path: Path, sheets: Mapping[str, list[list[Cell]]]) -> Path:
    """Write a workbook: sheet name -> rows."""
    book = Workbook()
    assert book.active is not None
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path
