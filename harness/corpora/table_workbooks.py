"""Table questions as task files: a workbook for every table, one task for every question."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from harness.core import Task, digest, write_atomic
from harness.corpora.tables import TableQuestion, number_or_text
from harness.corpora.writing import write_tasks

TABLE_SHEET = "Table"


def write_table_questions(questions: Iterable[TableQuestion], out: Path, split: str) -> list[Task]:
    """Write `<split>.jsonl` and `tables/`; equal tables are written once.

    Args:
        questions: taken one by one.
        out: folder; files of the same names are replaced.
        split: name of the task file.

    Raises:
        BadInput: if the folder cannot be written.
    """
    tasks: list[Task] = []
    written: set[str] = set()
    for one in questions:
        cells: list[Any] = [list(row) for row in one.cells]
        regions = [region.model_dump(mode="json") for region in one.merged]
        name = f"tables/{digest([one.title, cells, regions])[:16]}.xlsx"
        if name not in written:
            write_atomic(out / name, workbook_of(one))
            written.add(name)
        tasks.append(_task(one, name))
    write_tasks(tasks, out, split)
    return tasks


def workbook_of(question: TableQuestion) -> bytes:
    """The table as an .xlsx file: a title over it where it has one; numbers are numbers."""
    from openpyxl import Workbook

    book = Workbook()
    sheet: Any = book.active
    sheet.title = TABLE_SHEET
    first = 1
    if question.title:
        _put(sheet, 1, 1, question.title)
        first = 2
    for row, cells in enumerate(question.cells, first):
        for column, text in enumerate(cells, 1):
            if text:
                _put(sheet, row, column, text)
    for one in question.merged:
        sheet.merge_cells(
            start_row=one.first_row + first, end_row=one.last_row + first,
            start_column=one.first_column + 1, end_column=one.last_column + 1,
        )  # fmt: skip
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def _put(sheet: Any, row: int, column: int, text: str) -> None:
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    cell = sheet.cell(row, column)
    cell.value = number_or_text(ILLEGAL_CHARACTERS_RE.sub("", text))
    if isinstance(cell.value, str):
        cell.data_type = "s"  # "=…" is a text of the table, and no formula of ours


def _task(question: TableQuestion, workbook: str) -> Task:
    meta: dict[str, JsonValue] = {"metric": question.metric}
    if question.canonical:
        meta["canonical"] = list(question.canonical)
    return Task(
        id=question.id, prompt=question.question, files={"input.xlsx": workbook},
        answer=list(question.answers), check="tableqa", meta=meta,
    )  # fmt: skip
