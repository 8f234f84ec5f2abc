"""The spreadsheet family: change a workbook; judged by the values of some of its cells."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from openpyxl.utils import get_column_letter
from pydantic import JsonValue

from harness.core import BadInput, Score, Task, UnfitFile, failed, read_work_file, render
from harness.sandbox import Sandbox
from harness.tasks.comparison import Comparison, compare_workbooks, group_by_sheet, shown
from harness.tasks.families import copy_inputs
from harness.tasks.ranges import parse_answer_position
from harness.tasks.recalculation import find_soffice, recalculate
from harness.tasks.workbooks import UnreadableWorkbook, Workbook, check_limits, open_workbook

INPUT_NAME = "input.xlsx"
OUTPUT_NAME = "output.xlsx"
PREVIEW_ROWS = 5
PREVIEW_SHEETS = 8
RECALCULATION_SECONDS = 120.0


class SpreadsheetFamily:
    """Judges `output.xlsx` against the golden workbook `task.answer`.

    Args:
        sandbox: where LibreOffice opens the agent's workbook; None: see :func:`recalculate`.
        with_recalculation: whether to recalculate outputs where LibreOffice is installed.
    """

    name = "spreadsheet"

    def __init__(self, sandbox: Sandbox | None = None, *, with_recalculation: bool = True) -> None:
        self._sandbox = sandbox
        self._with_recalculation = with_recalculation

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """Copy the input as `input.xlsx`; return the rendered `spreadsheet_task` prompt.

        Raises:
            BadInput: if the input or the golden workbook is missing or unreadable, or the answer
                position is no list of ranges: before a model call is paid for.
        """
        golds = _golds(task, base)
        copy_inputs(task, base, workdir)
        with _blamed_on(task):
            parse_answer_position(golds[0].position)
            for gold in golds:
                with _readable("golden workbook", gold.path):
                    _check_computed(gold)
            inputs = [name for name in task.files if name.endswith(".xlsx")]
            for name in inputs:
                with _readable("input workbook", base / task.files[name]):
                    check_limits(workdir / name)
            source = base / task.files[INPUT_NAME]
            with _readable("input workbook", source), open_workbook(workdir / INPUT_NAME) as book:
                sheets = [_preview(book, name) for name in book.sheet_names[:PREVIEW_SHEETS]]
                more = max(0, len(book.sheet_names) - PREVIEW_SHEETS)
        return render(
            "spreadsheet_task",
            instruction=task.prompt,
            instruction_type=task.meta.get("instruction_type"),
            answer_position=golds[0].position,
            answer_sheet=golds[0].sheet,
            input_name=INPUT_NAME,
            output_name=OUTPUT_NAME,
            more_cases=[
                {"input": input_name(n), "output": gold.output}
                for n, gold in enumerate(golds[1:], 2)
            ],
            sheets=sheets,
            more_sheets=more,
        )

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Compare `output.xlsx` as it is and recalculated; recalculated counts where possible.

        `detail` has `without_recalc` and `with_recalc` (null where it was impossible), `counted`
        (which of them made the outcome), the cell differences, and `known_bad`, if the task is.

        Raises:
            BadInput: if the golden workbook or the answer position cannot be used.
        """
        scores: list[Score] = []
        for gold in _golds(task, base):
            with _blamed_on(task):
                scores.append(self._judge(gold, workdir))
        known_bad = {"known_bad": task.meta["known_bad"]} if "known_bad" in task.meta else {}
        if len(scores) == 1:
            return scores[0].model_copy(update={"detail": {**known_bad, **scores[0].detail}})
        # It passes if all cases do (hard); the value is their share (soft).
        share = sum(score.outcome == "pass" for score in scores) / len(scores)
        cases: list[JsonValue] = [score.model_dump(mode="json") for score in scores]
        first = next((score.reason for score in scores if score.outcome != "pass"), "")
        return Score(
            outcome="pass" if share == 1.0 else "fail",
            value=share,
            reason=f"{share:.0%} of {len(scores)} test cases passed" + f": {first}" * bool(first),
            detail={**known_bad, "hard": share == 1.0, "soft": share, "cases": cases},
        )

    def _judge(self, gold: _Gold, workdir: Path) -> Score:
        """The score of one test case."""
        with tempfile.TemporaryDirectory(prefix="judged-") as folder:
            output = Path(folder, gold.output)
            try:
                output.write_bytes(read_work_file(workdir, gold.output))
            except FileNotFoundError:
                return failed(f"there is no output file {output.name!r} in the work folder")
            except UnfitFile as error:
                return failed(f"the output file cannot be judged: {error}")
            plain = compare_workbooks(gold.path, output, gold.position, gold.sheet)
            recalculated, how = self._recalculated(gold, output, plain)
            counted = recalculated or plain
            return Score(
                outcome="pass" if counted.equal else "fail",
                value=float(counted.equal),
                reason=f"{counted.message or 'all cells are equal'} ({how})",
                detail={
                    "without_recalc": plain.equal,
                    "with_recalc": None if recalculated is None else recalculated.equal,
                    "counted": "without_recalc" if recalculated is None else "with_recalc",
                    "compared_cells": counted.compared_cells,
                    "different_cells": counted.different_cells,
                    "differences": [cell.model_dump(mode="json") for cell in counted.differences],
                },
            )

    def _recalculated(
        self, gold: _Gold, output: Path, plain: Comparison
    ) -> tuple[Comparison | None, str]:
        """The comparison after recalculation (None if there is none), and how it came about."""
        if not self._with_recalculation:
            return None, "not recalculated: switched off"
        if not _has_formulas(gold, output):
            return plain, "recalculation changes nothing: no formula is judged"
        if find_soffice() is None:
            return None, "not recalculated: LibreOffice (soffice) is not installed"
        with tempfile.TemporaryDirectory(prefix="recalculated-") as folder:
            recalculated = recalculate([output], Path(folder), RECALCULATION_SECONDS, self._sandbox)
            if output not in recalculated:
                return None, "not recalculated: LibreOffice could not open the output"
            comparison = compare_workbooks(
                gold.path, recalculated[output], gold.position, gold.sheet
            )
            return comparison, "recalculated"


def _has_formulas(gold: _Gold, output: Path) -> bool:
    """Return True if a judged cell of the output is, or may be filled by, a formula."""
    try:
        with open_workbook(gold.path) as book:
            by_sheet = group_by_sheet(parse_answer_position(gold.position), book)
        with open_workbook(output) as book:
            return any(
                book.has_formulas(sheet, areas)
                for sheet, areas in by_sheet.items()
                if sheet in book.sheet_names
            )
    except UnreadableWorkbook:
        return False  # the plain comparison has said so


def _check_computed(gold: _Gold) -> None:
    """Refuse a golden workbook whose formulas were never computed: an empty output would pass."""
    with open_workbook(gold.path) as book:
        by_sheet = group_by_sheet(parse_answer_position(gold.position), book)
        if any(book.read(sheet, areas).cells for sheet, areas in by_sheet.items()):
            return
        for sheet, areas in by_sheet.items():
            if book.has_formulas(sheet, areas, from_outside=False):
                raise BadInput(
                    f"golden workbook {str(gold.path)!r}: the cells in {gold.position!r} are "
                    "formulas without stored values: open and save it with a spreadsheet program"
                )


class _Gold(NamedTuple):
    """Gold of one test case."""

    path: Path
    position: str
    sheet: str | None
    output: str


def input_name(case: int) -> str:
    """Name of the input workbook of a test case, counted from 1: `input.xlsx`, `input_2.xlsx`."""
    return INPUT_NAME if case == 1 else f"input_{case}.xlsx"


def output_name(case: int) -> str:
    """Name of the workbook that an agent leaves for a test case."""
    return OUTPUT_NAME if case == 1 else f"output_{case}.xlsx"


def _golds(task: Task, base: Path) -> list[_Gold]:
    position, sheet = task.meta.get("answer_position"), task.meta.get("answer_sheet")
    if not isinstance(position, str):
        raise BadInput(
            f"task {task.id!r}: expected meta 'answer_position' such as \"'Sheet1'!A1:B2\", "
            f"found {position!r}"
        )
    answers = task.answer if isinstance(task.answer, list) else [task.answer]
    golds: list[_Gold] = []
    for case, answer in enumerate(answers, 1):
        if not isinstance(answer, str) or not answer:
            raise BadInput(
                f"task {task.id!r}: expected 'answer' to be the path of the golden workbook, or "
                f"a list with one path a test case, found {task.answer!r}"
            )
        path = base / answer
        if not path.is_file():
            raise BadInput(
                f"task {task.id!r}: expected the golden workbook at {str(path)!r}, found none: "
                "put it there, or correct 'answer' (paths are relative to the task file)"
            )
        name = sheet if isinstance(sheet, str) and sheet else None
        golds.append(_Gold(path, position, name, output_name(case)))
        if input_name(case) not in task.files:
            raise BadInput(
                f"task {task.id!r}: expected {input_name(case)!r} in 'files' for the golden "
                f"workbook {answer!r}, found {sorted(task.files)}"
            )
    return golds


@contextmanager
def _readable(role: str, path: Path) -> Generator[None]:
    try:
        yield
    except UnreadableWorkbook as error:
        raise BadInput(f"{role} {str(path)!r}: {error}") from error


@contextmanager
def _blamed_on(task: Task) -> Generator[None]:
    """Name the task in what is wrong with its gold."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"task {task.id!r}: {error}") from error


def _preview(book: Workbook, sheet: str) -> dict[str, object]:
    """The first rows, every value with its address: small models miscount columns."""
    rows = book.head(sheet, PREVIEW_ROWS) if book.has_cells(sheet) else []
    lines = [
        " | ".join(
            f"{get_column_letter(column)}{row}: "
            + str(shown(value)).replace("\n", " ").replace("`", "'").replace("|", "/")[:80]
            for column, value in enumerate(values, 1)
            if value is not None
        )
        for row, values in enumerate(rows, 1)
    ]
    return {"name": sheet, "preview": [line for line in lines if line]}
