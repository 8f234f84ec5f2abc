"""Task families: how a task becomes a prompt and a work folder, and how an answer is judged.

Here are the contract, the generic family, and the choice of a family by a task's `check`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.core import BadInput, LimitReached, Score, Task, did_you_mean, invalid
from harness.core.plugins import load, plugins
from harness.sandbox import Sandbox, select
from harness.tasks.answers import COMPARISONS, accepted_answers, compare_answer, default_check
from harness.tasks.code_checks import command_of, run_command, run_function, try_function
from harness.tasks.scorers import SCORERS

if TYPE_CHECKING:
    from harness.tasks.judging import ModelJudge


_OWN = ("math", "output", "spreadsheet", "tableqa")
"""Checks of families of ours."""


class Family(Protocol):
    """A task family (generic, spreadsheet, ...)."""

    name: str

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """Copy the task's input files (never gold) into `workdir`; return the user prompt.

        Args:
            task: the task.
            base: folder that relative paths in `task.files` start at.
            workdir: fresh, empty folder of this sample.

        Raises:
            BadInput: if a file is missing or unreadable.
        """
        ...

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the agent's final answer text and what it left in `workdir`."""
        ...


def output_file(task: Task) -> str:
    """The file in the work folder by which an attempt at `task` is judged; "" if by its answer."""
    if task.check == "output":
        return f"output{Path(str(task.answer)).suffix}"
    table = task.check == "tableqa" and task.meta.get("form") != "reply"
    return "output.xlsx" if table or task.check == "spreadsheet" else ""


def expected_text(task: Task) -> str:
    """The first answer that a task accepts, or its JSON; "" where it names none, or a file."""
    if output_file(task) or task.answer is None:
        return ""
    if default_check(task) == "json" and not isinstance(task.answer, str):
        return json.dumps(task.answer, ensure_ascii=False)
    return accepted_answers(task)[0]


def family(
    task: Task,
    sandbox: Sandbox | None = None,
    *,
    trusted: bool = False,
    judge: ModelJudge | None = None,
) -> Family:
    """The family that judges `task`.

    Args:
        task: its `check` decides.
        sandbox: where checks that are code, and programs on an agent's files, run; None takes the
            first one of this machine that stops every attack, once there is something to run.
        trusted: whether checks that are code run as the user's own programs. A program that opens
            what an agent left (LibreOffice) is in the sandbox in any case.
        judge: the model of checks that ask one.

    Raises:
        BadInput: if the check asks a model and there is none.
    """
    if task.check == "spreadsheet":
        from harness.tasks.spreadsheet import SpreadsheetFamily

        return SpreadsheetFamily(sandbox)
    if task.check == "math":
        from harness.tasks.math import MathFamily

        return MathFamily()
    if task.check == "tableqa":
        from harness.tasks.tableqa import TableFamily

        return TableFamily()
    if task.check == "output":
        from harness.tasks.output import OutputFamily

        return OutputFamily()
    if task.check in plugins("judges"):
        if judge is None:
            raise BadInput(
                f"task {task.id!r}: check {task.check!r} asks a model, and there is none to ask: "
                "only `harness eval` on this machine and `harness judge` have one"
            )
        return load("judges", task.check)(judge)
    if task.check in plugins("families"):
        return load("families", task.check)(sandbox)
    return GenericFamily(sandbox, trusted=trusted)


def copy_inputs(task: Task, base: Path, workdir: Path) -> None:
    """Copy `task.files` into `workdir`; nothing else goes there, above all no gold.

    Raises:
        BadInput: if a file is missing or unreadable, or its name leaves the work folder.
    """
    root = workdir.resolve()
    for name, source in task.files.items():
        target = (root / name).resolve()
        if not target.is_relative_to(root) or target == root:
            raise BadInput(
                f"task {task.id!r}: expected a file name inside the work folder, found {name!r}"
            )
        path = base / source
        if not os.path.isfile(path):  # noqa: PTH113  # False for a name that is too long, too
            raise BadInput(
                f"task {task.id!r}: expected its file {name!r} at {str(path)!r}, found none: "
                "put it there, or correct 'files' (paths are relative to the task file)"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise BadInput(f"task {task.id!r}: cannot copy {str(path)!r}: {error}") from error


class GenericFamily:
    """Judges by comparison (`em`, `exact`, `contains`, `numeric`, `f1`), plugin, function, command.

    Args:
        sandbox: where checks that are code run; None: see :func:`family`.
        trusted: whether they run as the user's own programs instead.
    """

    name = "generic"

    def __init__(self, sandbox: Sandbox | None = None, *, trusted: bool = False) -> None:
        self._sandbox, self._trusted = sandbox, trusted

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`Family.prepare`."""
        refuse_unfit_check(task, base)
        copy_inputs(task, base, workdir)
        return task.prompt

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; none, or an empty one, fails every comparison.

        Raises:
            BadInput: if the task has no check, or one that cannot be used.
        """
        check = _check(task)
        if check in COMPARISONS:
            return compare_answer(task.model_copy(update={"check": check}), answer)
        if check in SCORERS:
            try:
                return SCORERS[check](task, answer, workdir)
            except LimitReached as error:
                return invalid(str(error))
        if check in plugins("scorers"):
            return load("scorers", check)(task, answer, workdir)
        sandbox = None if self._trusted else self._sandbox or select()
        return (run_function if is_function(check) else run_command)(
            task, base, workdir, answer, sandbox
        )


def check_names() -> list[str]:
    """List the checks that a task may name, those of plugins included."""
    return [
        *COMPARISONS,
        *SCORERS,
        *_OWN,
        *plugins("scorers"),
        *plugins("families"),
        *plugins("judges"),
    ]


def _check(task: Task) -> str:
    if task.check is None and task.answer is not None:
        return default_check(task)
    if task.check is None or not task.check.strip():
        raise BadInput(
            f"task {task.id!r}, {task.prompt!r:.60}, has no 'check' and no 'answer' (its cell is "
            "empty, or --map COLUMN=answer names the column"
            f"{', one of ' * bool(task.meta)}{', '.join(map(repr, task.meta))}): "
            "expected a check, one of "
            f"{', '.join(check_names())}, "
            "file.py:function, or a command whose exit code 0 is a pass"
        )
    return task.check.strip()


def refuse_unfit_check(task: Task, base: Path) -> None:
    """Refuse what cannot judge before an attempt is begun and a model call is paid for.

    Args:
        task: its check and answer are looked at; those of families with files of their own are not.
        base: folder that relative paths of a check start at.

    Raises:
        BadInput: if there is no such check, or its settings or the expected answer do not fit it.
    """
    if task.check in (*_OWN, *plugins("judges"), *plugins("families")):
        return
    check = _check(task)
    if check in COMPARISONS:
        accepted_answers(task)
    elif check in SCORERS:
        SCORERS[check](task, None, base)
    elif check not in plugins("scorers") and not is_function(check):
        program = command_of(task, base)[0]
        if "/" not in program and shutil.which(program) is None:  # it is misspelt
            hint = did_you_mean(check, check_names())
            raise BadInput(
                f"task {task.id!r}: no check {check!r}{hint}: expected one of "
                f"{', '.join(check_names())}, file.py:function, or a command of this machine"
            )


def try_checks(
    tasks: Sequence[Task], base: Path, sandbox: Sandbox | None, *, trusted: bool
) -> None:
    """Refuse tasks that cannot be judged, before a model call is paid for.

    Every check that is a function is called once.

    Args:
        tasks: theirs are tried.
        base: folder that relative paths of a check start at.
        sandbox: see :func:`family`.
        trusted: the same.

    Raises:
        BadInput: as :func:`refuse_unfit_check`, or if a function cannot be imported or called, or
            returns no verdict.
    """
    for task in tasks:
        refuse_unfit_check(task, base)
    checks = {task.check: task for task in tasks if task.check and is_function(task.check)}
    for task in checks.values():
        try_function(task, base, None if trusted else sandbox or select())


def is_function(check: str) -> bool:
    """Return True if a check reads as `path/to/file.py:name`."""
    file, colon, name = check.rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()
