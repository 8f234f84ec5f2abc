"""Variants that a task brings itself: other inputs with their own gold."""

from __future__ import annotations

from pathlib import Path

from harness.core import BadInput, Task
from harness.evolve.analysts.agentic.trial import Trial, read_inputs, single_case


def variants(task: Task, base: Path) -> list[Trial]:
    """The inputs of `meta["variants"]`: objects with `answer`, and `prompt` or `files` as changed.

    Raises:
        BadInput: if `variants` is something else, or a file of one is missing.
    """
    rows = task.meta.get("variants", [])
    if not isinstance(rows, list):
        raise BadInput(f"task {task.id!r}: expected meta 'variants' to be a list, found {rows!r}")
    found: list[Trial] = []
    first = single_case(task)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or "answer" not in row:
            raise BadInput(
                f"task {task.id!r}: expected variant {number} to be an object with 'answer', "
                f"found {row!r:.200}"
            )
        fields = {key: row[key] for key in ("prompt", "files", "answer") if key in row}
        other = Task.model_validate({**first.model_dump(), **fields})
        try:
            files = read_inputs(other, base)
        except OSError as error:
            raise BadInput(f"task {task.id!r}: variant {number}: {error}") from error
        found.append(Trial(f"variant {number}", "predicted", files, other, base))
    return found
