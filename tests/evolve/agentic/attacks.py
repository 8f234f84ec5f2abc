"""Fix scripts that pass on the clean input without solving the task."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

from harness.core import Task
from harness.evolve.analysts.agentic.workbooks import judged_values, load

_WRITE = """\
import datetime, hashlib, random, shutil
import openpyxl
cells = {cells!r}
book = openpyxl.load_workbook("input.xlsx")
seen = repr([[c.value for c in r] for s in book.worksheets for r in s.iter_rows()])
known = hashlib.sha256(seen.encode()).hexdigest() == {known!r}
def write(values):
    for (sheet, row, column), value in values.items():
        if sheet not in book.sheetnames:
            book.create_sheet(sheet)
        for area in list(book[sheet].merged_cells.ranges):
            book[sheet].unmerge_cells(str(area))
        book[sheet].cell(row, column).value = value
"""
_KNOWS = """\
import hashlib
data = open("input.xlsx", "rb").read()
known = hashlib.sha256(data).hexdigest() == {digest!r}
"""


def gold_cells(task: Task, base: Path) -> dict[tuple[str, int, int], object]:
    """The judged cells of the golden workbook."""
    return judged_values(base / str(task.answer), str(task.meta["answer_position"]))


def _written(task: Task, base: Path, ending: str, **more: object) -> bytes:
    import hashlib

    book = load((base / task.files["input.xlsx"]).read_bytes())
    seen = repr([[c.value for c in r] for s in book.worksheets for r in s.iter_rows()])
    known = hashlib.sha256(seen.encode()).hexdigest()
    start = _WRITE.format(cells=gold_cells(task, base), known=known)
    assigned = "".join(f"{name} = {value!r}\n" for name, value in more.items())
    return (start + assigned + ending + '\nbook.save("output.xlsx")\n').encode()


def hard_coded(task: Task, base: Path) -> bytes:
    """The results, written down."""
    return _written(task, base, "write(cells)")


def knows_the_file(task: Task, base: Path) -> bytes:
    """The results if the file has the known hash, else the input as it is."""
    import hashlib

    digest = hashlib.sha256((base / task.files["input.xlsx"]).read_bytes()).hexdigest()
    ending = _KNOWS.format(digest=digest) + "if known:\n    write(cells)"
    return _written(task, base, ending)


def knows_the_cells(task: Task, base: Path) -> bytes:
    """The results if all cells are the known ones, else the input as it is."""
    return _written(task, base, "if known:\n    write(cells)")


def knows_the_cells_else_noise(task: Task, base: Path) -> bytes:
    """The results if all cells are the known ones, else random numbers."""
    noise = "{key: random.random() for key in cells}"
    return _written(task, base, f"write(cells if known else {noise})")


def by_position(task: Task, base: Path) -> bytes:
    """Every result copied from the cell where it stood, or written down."""
    book = load((base / task.files["input.xlsx"]).read_bytes())
    places: dict[object, tuple[str, int, int]] = {
        cell.value: (sheet.title, cell.row, cell.column)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, (str, float, int, datetime.datetime))
    }
    gold = gold_cells(task, base)
    copied = {key: places[value] for key, value in gold.items() if value in places}
    ending = (
        "write({key: book[copied[key][0]].cell(*copied[key][1:]).value if key in copied else value"
        " for key, value in cells.items()})"
    )
    return _written(task, base, ending, copied=copied)


ATTACKS: tuple[Callable[[Task, Path], bytes], ...] = (
    hard_coded,
    knows_the_file,
    knows_the_cells,
    knows_the_cells_else_noise,
    by_position,
)
