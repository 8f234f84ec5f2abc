"""Reading the cell values of workbooks of unknown origin, within limits on time and memory.

Sheets are streamed through openpyxl's own sheet parser cell by cell: its read-only rows are padded
to the widest row, which a hostile file turns into hours, and they lack merged ranges, whose hidden
cells the ordinary mode (which the official scorer uses) drops.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.core import WORK_FILE_BYTES, Value
from harness.tasks.ranges import CellRange

MAX_UNPACKED_BYTES = 250_000_000
MAX_TAGS = 12_000_000  # a cell with a value is four tags; memory is about 100 bytes per tag
MAX_CELLS = 2_000_000
_OLE_HEADER = bytes.fromhex("d0cf11e0a1b11ae1")

Cells = dict[tuple[int, int], Any]


class UnreadableWorkbook(Exception):
    """A workbook that cannot be read; the message says why and what to do."""


class SheetValues(Value):
    """The values of the cells that were asked for.

    Attributes:
        cells: (row, column) -> value; cells without a value are absent.
        last_row: last row of the sheet that holds a value.
        last_column: likewise.
    """

    cells: dict[tuple[int, int], Any]
    last_row: int
    last_column: int


class Workbook:
    """An open workbook; use :func:`open_workbook`."""

    def __init__(self, book: Any, path: Path) -> None:
        self._book = book
        self.path = path
        self.sheet_names: list[str] = list(book.sheetnames)

    def has_cells(self, sheet: str) -> bool:
        """Return True for a worksheet; a chart sheet has no cells."""
        return self._book[sheet] in self._book.worksheets

    def read(self, sheet: str, ranges: Iterable[CellRange]) -> SheetValues:
        """Read the values of `ranges` of a sheet (formulas: the values stored with them).

        Raises:
            UnreadableWorkbook: if the sheet is damaged, no worksheet, or has too many cells.
        """
        areas = list(ranges)
        cells: Cells = {}
        last_row = last_column = 0
        with _explained(self.path), self._parser(sheet) as parser:
            for row, row_cells in parser.parse():
                for cell in row_cells:
                    key = (row, cell["column"])
                    if cell["value"] is None:
                        continue
                    last_row, last_column = max(last_row, row), max(last_column, key[1])
                    if any(area.holds(*key) for area in areas):
                        cells[key] = cell["value"]
                if len(cells) > MAX_CELLS:
                    raise UnreadableWorkbook(
                        f"sheet {sheet!r} has more than {MAX_CELLS} cells with values in the "
                        "ranges to read: make the workbook smaller"
                    )
            _drop_merged(cells, parser.merged_cells)
        return SheetValues(cells=cells, last_row=last_row, last_column=last_column)

    def head(self, sheet: str, rows: int, columns: int = 40) -> list[list[object]]:
        """The first rows of a sheet as far as they have values, for a preview.

        Raises:
            UnreadableWorkbook: as :meth:`read`.
        """
        table: list[list[object]] = []
        with _explained(self.path), self._parser(sheet) as parser:
            for row, row_cells in parser.parse():
                if row > rows:
                    break
                values = {cell["column"]: cell["value"] for cell in row_cells}
                width = min(max(values, default=0), columns)
                table += [[] for _ in range(row - 1 - len(table))]
                table.append([values.get(column) for column in range(1, width + 1)])
        return table

    def has_formulas(
        self, sheet: str, ranges: Iterable[CellRange], *, from_outside: bool = True
    ) -> bool:
        """Return True if a cell of `ranges` holds a formula.

        With `from_outside`, a formula elsewhere in the sheet that fills several cells counts too.
        """
        areas = list(ranges)
        with _explained(self.path), self._parser(sheet, formulas=True) as parser:
            for row, row_cells in parser.parse():
                for cell in row_cells:
                    if cell["data_type"] != "f":
                        continue
                    fills_others = from_outside and not isinstance(cell["value"], str)
                    if fills_others or any(area.holds(row, cell["column"]) for area in areas):
                        return True
        return False

    @contextmanager
    def _parser(self, sheet: str, *, formulas: bool = False) -> Generator[Any]:
        from openpyxl.worksheet._read_only import ReadOnlyWorksheet
        from openpyxl.worksheet._reader import WorkSheetParser

        worksheet: Any = self._book[sheet]
        if not isinstance(worksheet, ReadOnlyWorksheet):
            raise UnreadableWorkbook(f"{sheet!r} is a chart sheet, which has no cells")
        book = self._book
        parts: Any = worksheet
        with parts._get_source() as source:
            yield WorkSheetParser(
                source,
                parts._shared_strings,
                data_only=not formulas,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
            )


@contextmanager
def open_workbook(path: Path) -> Generator[Workbook]:
    """Open a workbook for reading values.

    Raises:
        UnreadableWorkbook: if it is missing, too large, protected by a password, or damaged.
    """
    import openpyxl

    check_limits(path)
    with path.open("rb") as file:  # openpyxl leaves a file of its own open when it cannot read it
        with _explained(path):
            book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            yield Workbook(book, path)
        finally:
            book.close()


def check_limits(path: Path) -> None:
    """Refuse a file that is no workbook, or would take too much memory to read.

    Raises:
        UnreadableWorkbook: saying which, and what to do.
    """
    if not path.is_file():
        raise UnreadableWorkbook(f"there is no file {path.name!r}: put the workbook there")
    size = path.stat().st_size
    if size > WORK_FILE_BYTES:
        raise UnreadableWorkbook(
            f"{path.name!r} has {size} bytes, more than {WORK_FILE_BYTES}: use a smaller workbook"
        )
    with path.open("rb") as file:
        start = file.read(8)
    if start == _OLE_HEADER:
        raise UnreadableWorkbook(
            f"{path.name!r} is protected by a password, or an old .xls file: "
            "save it as .xlsx without a password"
        )
    with _explained(path):
        _check_unpacked(path)


def _check_unpacked(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise UnreadableWorkbook(
                f"{path.name!r} unpacks to {unpacked} bytes, more than {MAX_UNPACKED_BYTES}: "
                "use a smaller workbook"
            )
        tags = 0
        for member in archive.infolist():
            if not member.filename.lower().endswith((".xml", ".rels")):
                continue
            if member.file_size + tags <= MAX_TAGS:  # it cannot exceed the limit by itself
                continue
            with archive.open(member) as part:
                while chunk := part.read(1 << 20):
                    tags += chunk.count(b"<")
            if tags > MAX_TAGS:
                raise UnreadableWorkbook(
                    f"{path.name!r} has more than about {MAX_TAGS // 4} cells: "
                    "use a smaller workbook"
                )


def _drop_merged(cells: Cells, merged: Any) -> None:
    """Remove what lies hidden under merged ranges, as openpyxl's ordinary mode does."""
    from openpyxl.worksheet.cell_range import CellRange as Area

    steps = 0
    for merge in merged.mergeCell if merged else ():
        area = Area(merge.ref)
        corner = (area.min_row, area.min_col)
        size = (area.max_row - area.min_row + 1) * (area.max_col - area.min_col + 1)
        steps += min(size, len(cells))
        if steps > 50 * MAX_CELLS:
            raise UnreadableWorkbook("it has too many overlapping merged ranges")
        if size < len(cells):
            inside = [
                (row, column)
                for row in range(area.min_row, area.max_row + 1)
                for column in range(area.min_col, area.max_col + 1)
            ]
        else:
            inside = [
                (row, column)
                for row, column in cells
                if area.min_row <= row <= area.max_row and area.min_col <= column <= area.max_col
            ]
        for key in inside:
            if key != corner:
                cells.pop(key, None)


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn whatever openpyxl raises on a damaged file into one error with a reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about features that a comparison does not need
            yield
    except UnreadableWorkbook:
        raise
    except Exception as error:  # openpyxl raises nearly anything on damaged files
        raise UnreadableWorkbook(
            f"{path.name!r} is no readable .xlsx workbook ({type(error).__name__}: {error}): "
            "save it again with a spreadsheet program or openpyxl"
        ) from error
