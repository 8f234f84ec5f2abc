"""Task files as all corpora write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput, Task, write_atomic


def write_tasks(tasks: Sequence[Task], out: Path, split: str, *, defaults: bool = False) -> None:
    """Write `<split>.jsonl`, one task a line.

    Args:
        tasks: in the order of the file.
        out: folder; a file of the same name is replaced.
        split: name of the task file.
        defaults: write fields that have their default value, too.

    Raises:
        BadInput: if the folder cannot be written.
    """
    lines = [task.model_dump_json(exclude_defaults=not defaults) + "\n" for task in tasks]
    write_atomic(out / f"{split}.jsonl", "".join(lines))


def check_limit(limit: int | None) -> None:
    """Refuse a number of tasks that is none.

    Raises:
        BadInput: if `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"expected a limit of at least 1, got {limit!r}")
