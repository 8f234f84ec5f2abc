"""A workbook under construction: where its table lies, and bytes that never vary."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Literal
from xml.etree.ElementTree import canonicalize

from lab.corpora import drafts
from lab.corpora.drafts import Difficulty
from lab.corpora.world import COMPANIES

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

Cell = str | int | float | datetime | None
InstructionType = Literal["Cell-Level Manipulation", "Sheet-Level Manipulation"]
_EPOCH = (1980, 1, 1, 0, 0, 0)
_STAMP = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")


@dataclass(frozen=True)
class Table:
    """A table in a sheet; rows count from 0 below the header, columns from 0."""

    sheet: Worksheet
    top: int
    left: int
    rows: int
    columns: int

    def write(self, row: int, column: int, value: Cell) -> None:
        """Set one value; dates get a date format."""
        cell = self.sheet.cell(self.top + 1 + row, self.left + column, value)
        cell.number_format = "yyyy-mm-dd" if isinstance(value, datetime) else "General"

    def span(self, first: int, last: int, header: bool = False) -> str:
        """Range over columns `first` to `last`, such as `B5:C20`."""
        from openpyxl.utils import get_column_letter

        start, end = (get_column_letter(self.left + c) for c in (first, last))
        return f"{start}{self.top + (0 if header else 1)}:{end}{self.top + self.rows}"


@dataclass(frozen=True)
class Built:
    """A task without its id.

    Attributes:
        prompt: the instruction.
        position: answer range with its sheet, `'Sheet'!A1:B2`.
        sheet: answer sheet.
        level: cell or sheet level.
        solve: turns the input workbook into the golden one.
    """

    prompt: str
    position: str
    sheet: str
    level: InstructionType
    solve: Callable[[], None]


class Draft(drafts.Draft):
    """The input workbook of one task; its difficulty also sets the place of the table."""

    def __init__(self, rng: Random, difficulty: Difficulty) -> None:
        from openpyxl import Workbook

        self.company = rng.choice(COMPANIES)
        super().__init__(rng, difficulty)
        self.book: Workbook = Workbook()
        self.book.remove(self.book.worksheets[0])

    def table(self, name: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
        """Add a sheet with a table: at A1, below a merged title, or away from the edge."""
        from openpyxl.styles import Font

        sheet: Worksheet = self.book.create_sheet(name)
        top, first_column = {"easy": (1, 1), "medium": (3, 1), "hard": (4, 2)}[self.difficulty]
        if top > 1:
            sheet.merge_cells(
                start_row=1, start_column=first_column, end_row=1, end_column=first_column + 2
            )
            sheet.cell(1, first_column, f"{self.company}: {name.lower()}")
        for column, title in enumerate(header):
            sheet.cell(top, first_column + column, title).font = Font(bold=True)
        table = Table(sheet, top, first_column, len(rows), len(header))
        for number, row in enumerate(rows):
            for column, value in enumerate(row):
                if value is not None:
                    table.write(number, column, value)
        return table

    def plain_sheet(self, name: str, rows: Sequence[Sequence[Cell]]) -> Worksheet:
        """Add a sheet with values from A1 on."""
        sheet: Worksheet = self.book.create_sheet(name)
        for number, row in enumerate(rows, start=1):
            for column, value in enumerate(row, start=1):
                cell = sheet.cell(number, column, value)
                if isinstance(value, datetime):
                    cell.number_format = "yyyy-mm-dd"
        return sheet

    def overview(self, table: Table) -> None:
        """Add a sheet with formulas over the table, and one with merged notes."""
        from openpyxl.utils import get_column_letter

        first = get_column_letter(table.left)
        reach = f"'{table.sheet.title}'!{first}{table.top + 1}:{first}{table.top + table.rows}"
        self.plain_sheet(
            "Overview",
            [
                ("Company", self.company),
                ("Rows", f"=COUNTA({reach})"),
                ("Doubled", "=B2*2"),
            ],
        )
        notes = self.plain_sheet("Notes", [("Internal working file. Keep the other sheets.",)])
        notes.merge_cells("A1:D2")


def quoted(sheet: str, span: str) -> str:
    """A range with its sheet, as SpreadsheetBench writes it."""
    return f"'{sheet}'!{span}"


def workbook_bytes(book: Workbook) -> bytes:
    """Serialise a workbook to the same bytes every time.

    openpyxl stamps the time of saving into properties and archive entries: both are fixed here.
    It writes other XML where lxml is installed: canonical XML is the same with and without.
    Entries are stored, not deflated, because zlib versions differ in their output.
    """
    raw = io.BytesIO()
    book.save(raw)
    fixed = io.BytesIO()
    with zipfile.ZipFile(raw) as source, zipfile.ZipFile(fixed, "w") as target:
        for name in sorted(source.namelist(), key=lambda n: (n != "[Content_Types].xml", n)):
            data = canonicalize(source.read(name).decode("utf-8")).encode("utf-8")
            if name == "docProps/core.xml":
                data = _STAMP.sub(rb"\g<1>2026-01-01T00:00:00Z", data)
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            target.writestr(entry, data)
    return fixed.getvalue()
