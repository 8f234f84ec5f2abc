"""A user's table: the header and rows of a CSV file, or of the first sheet of a workbook."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from harness.core import BadInput, csv_rows
from harness.tasks import UnreadableWorkbook, open_workbook
from harness.tasks.answers import read_number

Cell = str | float | None
MOST_ROWS = 5000
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})-\d\d-\d\d")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
SUFFIXES = (".csv", ".xlsx")


@dataclass(frozen=True)
class Table:
    """Rows of equal length under unique, non-empty heads.

    Attributes:
        name: of the file, without its suffix.
        sheet: of the workbook; "" for CSV.
        heads: names of the columns.
        rows: numbers as floats, dates as ISO text, empty cells as None.
    """

    name: str
    sheet: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def column(self, head: str) -> list[Cell]:
        """All cells of a column."""
        index = self.heads.index(head)
        return [row[index] for row in self.rows]

    def kind(self, head: str) -> str:
        """`number`, `year`, `date`, `text`, or `mixed` (also where more than a fifth is empty)."""
        cells = [cell for cell in self.column(head) if cell is not None]
        if not cells or len(cells) < 0.8 * len(self.rows):
            return "mixed"
        if all(isinstance(cell, (int, float)) for cell in cells):
            year = all(_YEAR.fullmatch(f"{cell:g}") for cell in cells)
            return "year" if year else "number"
        texts = [cell for cell in cells if isinstance(cell, str)]
        if len(texts) < len(cells):
            return "mixed"
        return "date" if all(map(_DATE.fullmatch, texts)) else "text"

    @property
    def key(self) -> str:
        """The first column of texts that are all there and all different.

        Raises:
            BadInput: if there is none.
        """
        for head in self.heads:
            cells = self.column(head)
            if self.kind(head) == "text" and None not in cells and len(set(cells)) == len(cells):
                return head
        raise BadInput(f"{self.name!r}: no column names every row by a text of its own")


def read_table(path: Path) -> Table:
    """Read a table.

    Raises:
        BadInput: for another suffix, without a header or a row, or for more than 5,000 rows.
    """
    sheet = ""
    if path.suffix not in SUFFIXES:
        raise BadInput(f"expected a table ({', '.join(SUFFIXES)}), found {str(path)!r}")
    try:
        if path.suffix == ".xlsx":
            with open_workbook(path) as book:
                sheet = next(name for name in book.sheet_names if book.has_cells(name))
                raw: list[list[object]] = book.head(sheet, MOST_ROWS + 2)
        else:
            raw = [[*cells] for _, cells in csv_rows(path)]
    except (StopIteration, UnreadableWorkbook) as error:
        raise BadInput(f"cannot read the table {str(path)!r}: {error}") from error
    rows = [row for row in ([cell_of(value) for value in row] for row in raw) if any(row)]
    heads = [str(cell) for cell in rows[0] if cell is not None] if rows else []
    if len(rows) < 2 or len(set(heads)) < len(heads) or len(heads) < 2:
        raise BadInput(
            f"{str(path)!r}: expected two columns or more with different heads, and rows"
        )
    if len(rows) > MOST_ROWS + 1:
        raise BadInput(f"{str(path)!r} has more than {MOST_ROWS:,} rows: take a part of it")
    width = len(heads)
    body = [(*row[:width], *[None] * (width - len(row))) for row in rows[1:]]
    return Table(path.stem, sheet, tuple(heads), tuple(body))


def keyed_table(path: Path, least: int) -> Table:
    """Read a table that can be worked on: so many rows or more, and a column that names them.

    Raises:
        BadInput: if it cannot be read, or is none.
    """
    table = read_table(path)
    if table.key and len(table.rows) < least:
        raise BadInput(f"expected {least} rows or more in {str(path)!r}")
    return table


def cell_of(value: object) -> Cell:
    """A cell: a number, a text without outer spaces, an ISO date, or None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, (date, datetime)):
        return f"{value:%Y-%m-%d}"
    text = str(value).strip() if value is not None else ""
    if _NUMBER.fullmatch(text) and not re.match(r"[-+]?0\d", text):  # 007 is a text
        return read_number(text)
    return text or None


def shown(cell: Cell) -> str:
    """A cell as text; whole numbers without a point."""
    if isinstance(cell, (int, float)):
        return str(int(cell)) if float(cell).is_integer() else repr(cell)
    return cell or ""
