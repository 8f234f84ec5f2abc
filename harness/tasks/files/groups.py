"""Groups of tasks: those of one template, document or repository pass and fail together.

Intervals and tests take groups for independent where tasks name one, and else the tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.core import BadInput, Task

MOST_COMPARED = 500
"""Prompts that are compared with each other; of more, so many spread over all of them."""
ALIKE = 0.6
"""Share of common words (Jaccard) from which two prompts are near-duplicates."""
_WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")


def in_groups(tasks: Sequence[Task], columns: Mapping[str, str], place: str) -> tuple[Task, ...]:
    """The tasks with their groups, if a column is mapped to them; it stands in `meta`.

    A task without a value there is a group of its own.

    Args:
        tasks: of a file.
        columns: name of a column -> field of a task.
        place: stands before messages.

    Raises:
        BadInput: if no task has a value in that column.
    """
    column = next((name for name, field in columns.items() if field == "group"), None)
    if column is None:
        return tuple(tasks)
    values = [task.group or task.meta.get(column) for task in tasks]
    if tasks and all(value is None for value in values):
        names = sorted({name for task in tasks for name in task.meta})
        raise BadInput(
            f"{place} no task has a column {column!r} to group by; there are "
            f"{', '.join(map(repr, names)) or 'none besides the fields of a task'}"
        )
    return tuple(
        task if value is None else task.model_copy(update={"group": str(value)})
        for task, value in zip(tasks, values, strict=True)
    )


def near_duplicates(prompts: Sequence[str]) -> tuple[int, int]:
    """Count prompts that have a near-duplicate, numbers apart, and all prompts looked at.

    Lines that all prompts share, such as instructions, are left out where each has others.
    """
    step = max(1, -(-len(prompts) // MOST_COMPARED))
    lines = [prompt.splitlines() for prompt in prompts[::step]]
    shared = set(lines[0]).intersection(*lines) if len(lines) > 1 else set[str]()
    if shared and all(set(rows) - shared for rows in lines):
        lines = [[row for row in rows if row not in shared] for rows in lines]
    texts = ("\n".join(rows).casefold() for rows in lines)
    words = [
        frozenset("0" if word[0].isdigit() else word for word in _WORD.findall(text))
        for text in texts
    ]
    alike: set[int] = set()
    for first, left in enumerate(words):
        for second in range(first + 1, len(words)):
            if first in alike and second in alike:
                continue
            right, common = words[second], len(left & words[second])
            if common and common >= ALIKE * (len(left) + len(right) - common):
                alike |= {first, second}
    return len(alike), len(words)
