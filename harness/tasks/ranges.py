"""Answer positions: which cells of which sheets a spreadsheet task is judged by.

SpreadsheetBench writes them by hand: `'Sheet1'!A1:B2`, `Result'!G10:L10`, `'Sheet1!'A1:A50`,
`G4:G6, G11:G13`, `'Sheet3'!A:G` all occur. Quotes are therefore read leniently; a sheet name that
is quoted properly may hold commas, and an apostrophe doubled.
"""

from __future__ import annotations

import re

from harness.core import BadInput, Value

MAX_ROW = 1_048_576
MAX_COLUMN = 16_384

_CELLS = (
    r"(?P<cells>\$?[A-Za-z]{1,3}\$?\d{1,7}(?:\s*:\s*\$?[A-Za-z]{0,3}\$?\d{0,7})?"
    r"|\$?[A-Za-z]{1,3}\s*:\s*\$?[A-Za-z]{1,3}"
    r"|\$?\d{1,7}\s*:\s*\$?\d{1,7})"
)
_TAIL = r"\s*['\"]*\s*" + _CELLS + r"\s*['\"]*\s*(?:,|$)"
_FORMS = (
    re.compile(r"\s*'(?P<sheet>(?:[^']|'')+)'\s*!" + _TAIL),
    re.compile(_TAIL),
    re.compile(r"(?P<sheet>.+?)!" + _TAIL, re.DOTALL),
)
_CORNER = re.compile(r"\$?(?P<column>[A-Za-z]*)\$?(?P<row>\d*)")


class CellRange(Value):
    """A rectangle of cells; all bounds count from 1 and belong to it.

    Attributes:
        sheet: name as written, without quotes; None means the first sheet of the golden workbook.
        max_row: None means down to the last row in use (whole columns).
        max_column: None means to the last column in use (whole rows).
    """

    sheet: str | None
    min_row: int
    max_row: int | None
    min_column: int
    max_column: int | None

    def holds(self, row: int, column: int) -> bool:
        """Return True if a cell lies inside."""
        return (
            self.min_row <= row <= (self.max_row or MAX_ROW)
            and self.min_column <= column
            and (self.max_column is None or column <= self.max_column)
        )

    def size(self, last_row: int, last_column: int) -> int:
        """Number of cells, where open ends stop at the last row and column in use."""
        bottom = last_row if self.max_row is None else self.max_row
        right = last_column if self.max_column is None else self.max_column
        return max(0, bottom - self.min_row + 1) * max(0, right - self.min_column + 1)


def parse_answer_position(text: str) -> list[CellRange]:
    """Read an answer position.

    A second corner without a column (`BD2:308`, in the wild) makes an empty range, as it does for
    the official scorer.

    Raises:
        BadInput: if a part of it is no range, or lies outside a sheet.
    """
    ranges: list[CellRange] = []
    position = 0
    while position < len(text):
        match = next(filter(None, (form.match(text, position) for form in _FORMS)), None)
        if match is None:
            raise BadInput(
                f"expected cell ranges such as 'Sheet1'!A1:B2, separated by commas, "
                f"found {text[position:]!r} in the answer position {text!r}"
            )
        sheet = match.groupdict().get("sheet") or ""
        sheet = sheet.strip("\xa0\t\n\r'\"").replace("''", "'") or None
        ranges.append(_rectangle(sheet, match["cells"], text))
        position = match.end()
    if not ranges:
        raise BadInput(f"expected cell ranges in the answer position, found {text!r}")
    return ranges


def _rectangle(sheet: str | None, cells: str, text: str) -> CellRange:
    corners = [part.strip() for part in cells.split(":")]
    (first_column, first_row), (last_column, last_row) = (
        _corner(corners[0]),
        _corner(corners[-1]),
    )
    if first_column and last_row and not last_column:
        last_column = 0  # as the official scorer counts it: no column at all
    elif first_column and last_column:
        first_column, last_column = sorted((first_column, last_column))
    if first_row and last_row:
        first_row, last_row = sorted((first_row, last_row))
    area = CellRange(
        sheet=sheet,
        min_row=first_row or 1,
        max_row=last_row,
        min_column=first_column or 1,
        max_column=last_column,
    )
    outside = (area.max_row or 1) > MAX_ROW or (area.max_column or 1) > MAX_COLUMN
    if outside or 0 in (first_row, last_row):
        raise BadInput(
            f"expected cells of a sheet of {MAX_ROW} rows and {MAX_COLUMN} columns, "
            f"found {cells!r} in the answer position {text!r}"
        )
    return area


def _corner(text: str) -> tuple[int | None, int | None]:
    match = _CORNER.fullmatch(text)
    assert match is not None, text  # _CELLS let it through
    column = 0
    for letter in match["column"].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column or None, int(match["row"]) if match["row"] else None


def cell_name(row: int, column: int) -> str:
    """`(2, 28)` -> `AB2`."""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row}"
