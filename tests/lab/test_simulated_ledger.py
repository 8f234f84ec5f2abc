"""The simulated spreadsheet agent on the sample of the ledger corpus."""

from __future__ import annotations

import shutil
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from harness.core import Task, read_models
from lab.simulator.profile import Defect
from lab.simulator.spreadsheet import edit_script

KINDS = {"lookup", "split", "numbers", "deduplicate", "aggregate", "unmerge"}


def solved(task: Task, base: Path, workdir: Path, defects: set[Defect]) -> bool:
    """Run the agent's program on the task's workbook and compare the answer range."""
    shutil.copy(base / task.files["input.xlsx"], workdir / "input.xlsx")
    script = edit_script(f"{task.prompt}\nSave it as output.xlsx.", defects, slip=False)
    with chdir(workdir), redirect_stdout(StringIO()):
        exec(script, {"__name__": "__main__"})  # noqa: S102  # the simulator's own text
    name, cells = str(task.meta["answer_position"]).rsplit("!", 1)
    books = (base / str(task.answer), workdir / "output.xlsx")
    gold, found = (_values(openpyxl.load_workbook(book), name.strip("'"), cells) for book in books)
    return gold == found


def _values(book: Any, sheet: str, cells: str) -> list[Any]:
    if sheet not in book.sheetnames:
        return []
    values = [cell.value for row in book[sheet][cells] for cell in row]
    return [round(value, 2) if isinstance(value, float) else value for value in values]


@pytest.mark.parametrize("defect", [None, "first_row"])
def test_known_kinds_are_solved_unless_a_defect_strikes(
    repository: Path, tmp_path: Path, defect: Defect | None
) -> None:
    base = repository / "corpora" / "ledger" / "sample"
    tasks = [task for task in read_models(base / "train.jsonl", Task) if task.meta["kind"] in KINDS]
    assert len(tasks) >= 7
    right = [solved(task, base, tmp_path, {defect} if defect else set()) for task in tasks]
    if defect is None:
        assert all(right)
    else:
        assert sum(right) <= len(right) // 2
