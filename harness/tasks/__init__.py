"""Task families: how a task becomes a prompt and a work folder, and how an answer is judged."""

from __future__ import annotations

from harness.core import Task
from harness.core.plugins import load, plugins
from harness.sandbox import Sandbox
from harness.tasks.comparison import Comparison, Difference, compare_workbooks
from harness.tasks.generic import GenericFamily
from harness.tasks.math import MathFamily
from harness.tasks.recalculation import find_soffice, recalculate
from harness.tasks.spreadsheet import SpreadsheetFamily
from harness.tasks.spreadsheetbench import KNOWN_BAD, load_spreadsheetbench
from harness.tasks.tableqa import TableFamily
from harness.tasks.types import Family

__all__ = [
    "KNOWN_BAD",
    "Comparison",
    "Difference",
    "Family",
    "GenericFamily",
    "MathFamily",
    "SpreadsheetFamily",
    "TableFamily",
    "compare_workbooks",
    "family",
    "find_soffice",
    "leaves_workbook",
    "load_spreadsheetbench",
    "recalculate",
]


def leaves_workbook(task: Task) -> bool:
    """Whether an attempt at `task` is judged by a workbook that it leaves in its work folder."""
    table = task.check == "tableqa" and task.meta.get("form") != "reply"
    return task.check == "spreadsheet" or table


def family(task: Task, sandbox: Sandbox | None = None) -> Family:
    """The family that judges `task`.

    Args:
        task: its `check` decides.
        sandbox: where code that comes with a suite, and programs on an agent's files, run; None
            means that they are trusted and run in the open.
    """
    if task.check == "spreadsheet":
        return SpreadsheetFamily(sandbox)
    if task.check == "math":
        return MathFamily()
    if task.check == "tableqa":
        return TableFamily()
    if task.check in plugins("families"):
        return load("families", task.check)(sandbox)
    return GenericFamily(sandbox)
