"""One input that a fix script is run on, and how its result is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.core import Task
from harness.tasks.spreadsheet import INPUT_NAME, OUTPUT_NAME

CellKey = tuple[str, int, int]
"""Sheet, row and column of a cell."""
TASK_FILE = "task.txt"
"""Holds the task's prompt in the folder that a fix script runs in."""


@dataclass(frozen=True)
class Trial:
    """One input of a proof.

    Attributes:
        name: `clean`, or how the input was perturbed.
        kind: as of :class:`harness.evolve.types.ProofRun`.
        files: name in the script's folder -> content; no gold among them.
        task: the task with this input's gold as `answer`; of a control, with the old gold.
        base: folder that relative paths of the task start at.
        idle: whether leaving the input as it is may be right (a control is not failed for it).
        computed: judged cells of a control whose old value stands nowhere in the clean input:
            they cannot all keep it.
    """

    name: str
    kind: Literal["clean", "predicted", "control"]
    files: Mapping[str, bytes]
    task: Task
    base: Path
    idle: bool = False
    computed: frozenset[CellKey] = frozenset()

    @property
    def output_file(self) -> str:
        """File that the script must write; "" where it prints the answer."""
        return OUTPUT_NAME if self.task.check == "spreadsheet" else ""


def single_case(task: Task, case: int = 1) -> Task:
    """One test case of a task, with its input under the name of the first.

    Args:
        task: of any family; only spreadsheet tasks have several cases.
        case: counted from 1.
    """
    if task.check != "spreadsheet" or not isinstance(task.answer, list):
        return task
    from harness.tasks.spreadsheet import input_name

    cases = {input_name(number) for number in range(1, len(task.answer) + 1)}
    files = {name: path for name, path in task.files.items() if name not in cases}
    files[INPUT_NAME] = task.files[input_name(case)]
    meta = {key: value for key, value in task.meta.items() if key != "cases"}
    answer = task.answer[case - 1]
    return task.model_copy(update={"files": files, "answer": answer, "meta": meta})


def cases(task: Task) -> int:
    """Number of test cases of a task."""
    several = task.check == "spreadsheet" and isinstance(task.answer, list)
    return len(task.answer) if several and isinstance(task.answer, list) else 1


def clean_trial(task: Task, base: Path) -> Trial:
    """The first case of a task as it is."""
    first = single_case(task)
    return Trial("clean", "clean", read_inputs(first, base), first, base)


def read_inputs(task: Task, base: Path) -> dict[str, bytes]:
    """The contents of a task's input files, with the prompt as a file for tasks about text.

    Raises:
        OSError: if one cannot be read.
    """
    files = {name: (base / path).read_bytes() for name, path in task.files.items()}
    if task.check != "spreadsheet":
        files.setdefault(TASK_FILE, task.prompt.encode())
    return files
