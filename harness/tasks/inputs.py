"""Putting a task's input files into the work folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.core import BadInput, Task


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
        if not path.is_file():
            raise BadInput(
                f"task {task.id!r}: expected its file {name!r} at {str(path)!r}, found none: "
                "put it there, or correct 'files' (paths are relative to the task file)"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise BadInput(f"task {task.id!r}: cannot copy {str(path)!r}: {error}") from error
