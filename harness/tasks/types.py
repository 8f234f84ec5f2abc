"""What a task family does: turn a task into a prompt and a work folder, and score an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from harness.core import Score, Task


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
