"""Runs in the sandbox: carries out steps on a workbook, saves it, prints what is to be seen.

It is copied into the work folder and imports nothing of ours.

    python steps.py input.xlsx output.xlsx steps.json
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter, range_boundaries

ROWS, COLUMNS, BEFORE = 20, 10, 4
"""To be seen; of them before the selected cell."""
CELLS = 20_000
"""That may be typed into at once."""


def main(source: str, target: str, steps: list[Any]) -> None:
    """Carry out steps of (sheet, cells) or (sheet, cells, content).

    Prints JSON: `sheets` (all names), `sheet` (the open one), `used` (its cells in use, as A1:F40),
    `area` (what is to be seen, likewise), `cells` (row, column, address and content of those to be
    seen that are not empty), `changed` (whether the last step had an effect).
    """
    book: Any = openpyxl.load_workbook(source)
    page, changed, cells = book.worksheets[0], True, list[Any]()
    for sheet, area, *typed in steps:
        page, changed = book[sheet] if sheet else book.worksheets[0], not typed
        bounds: Any = range_boundaries(area)
        left, top, right, bottom = bounds
        if (bottom - top + 1) * (right - left + 1) > CELLS:
            raise SystemExit(f"{area}: select fewer than {CELLS:,} cells")
        cells = [*chain(*page.iter_rows(top, bottom, left, right))]
        for cell, content in ((cell, content) for cell in cells for content in typed):
            value: Any = content
            if isinstance(content, str) and content.startswith("="):
                formula: Any = Translator(content, cells[0].coordinate)
                value = formula.translate_formula(cell.coordinate)
            changed = changed or cell.value != value
            cell.value = value
    book.save(target)
    top, left = max(1, cells[0].row - BEFORE), max(1, cells[0].column - BEFORE)
    bottom, right = top + ROWS - 1, left + COLUMNS - 1
    rows = page.iter_rows(top, bottom, left, right)
    view: dict[str, Any] = {
        "sheets": [sheet.title for sheet in book.worksheets],
        "sheet": page.title,
        "used": page.dimensions,
        "area": f"{get_column_letter(left)}{top}:{get_column_letter(right)}{bottom}",
        "cells": [
            (cell.row, cell.column, cell.coordinate, str(getattr(cell.value, "text", cell.value)))
            for cell in chain(*rows)
            if cell.value is not None
        ],
        "changed": changed,
    }
    print(json.dumps(view))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(Path(sys.argv[3]).read_text("utf-8")))
