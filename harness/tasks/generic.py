"""The generic family: any task whose answer is a text, or that brings its own check."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput, Score, Task, failed
from harness.core.plugins import load, plugins
from harness.sandbox import Sandbox
from harness.tasks.answers import COMPARISONS, accepted_answers
from harness.tasks.code_checks import is_function, run_command, run_function
from harness.tasks.inputs import copy_inputs

DEFAULT_CHECK = "em"
"""How a task is judged that has an answer and names no check."""


class GenericFamily:
    """Judges by comparison (`em`, `exact`, `contains`, `numeric`, `f1`), plugin, function, command.

    Args:
        sandbox: where checks that are code run; None trusts them.
    """

    name = "generic"

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox

    def prepare(self, task: Task, base: Path, workdir: Path) -> str:
        """See :meth:`harness.tasks.types.Family.prepare`."""
        check = _check(task)
        if check in COMPARISONS:
            accepted_answers(task)  # before a model call is paid for
        copy_inputs(task, base, workdir)
        return task.prompt

    def score(self, task: Task, base: Path, workdir: Path, answer: str | None) -> Score:
        """Judge the final answer; none, or an empty one, fails every comparison.

        Raises:
            BadInput: if the task has no check, or one that cannot be used.
        """
        check = _check(task)
        if check in COMPARISONS:
            accepted = accepted_answers(task)
            if answer is None or not answer.strip():
                return failed("there is no final answer")
            return COMPARISONS[check](task, accepted, answer.strip())
        if check in plugins("scorers"):
            return load("scorers", check)(task, answer, workdir)
        if is_function(check):
            return run_function(task, base, workdir, answer, self._sandbox)
        return run_command(task, base, workdir, answer, self._sandbox)


def _check(task: Task) -> str:
    if task.check is None and task.answer is not None:
        return DEFAULT_CHECK
    if task.check is None or not task.check.strip():
        names = ", ".join([*COMPARISONS, "spreadsheet", *plugins("scorers"), *plugins("families")])
        raise BadInput(
            f"task {task.id!r} has no 'check' and no 'answer': expected a check, one of {names}, "
            "file.py:function, or a command whose exit code 0 is a pass"
        )
    return task.check.strip()
