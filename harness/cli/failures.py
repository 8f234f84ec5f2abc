"""Attempts of an eval run that did not pass, for people: the tasks, and the frequent reasons."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.commands import echo
from harness.cli.terminal import table
from harness.core.terminal import command_line, printable, shown

if TYPE_CHECKING:
    from harness.core import Task
    from harness.evals import EvalReport

ROWS, REASON, ALIKE = 10, 600, 20
"""Failed attempts that are shown; characters of the reason of invalid ones, and of a beginning that
all tasks share and that is left out."""


def failed_rows(run: Path, tasks: Sequence[Task]) -> str:
    """A table of a run's failed attempts, to the width of the terminal; "" where none failed.

    Args:
        run: its folder.
        tasks: of its suite; attempts at others are shown without the text of the task.
    """
    from harness.evals import records

    failed = [item for item in records(run) if item.outcome == "fail"]
    failed.sort(key=lambda item: (item.task_id, item.epoch))  # not as they ended
    if not failed:
        return ""
    of_id = {task.id: task for task in tasks}
    prompts = [task.prompt for item in failed[:ROWS] if (task := of_id.get(item.task_id))]
    alike = len(commonprefix(prompts)) if len(set(prompts)) > 1 else 0  # noqa: RUF071
    rows: list[tuple[str, str, str]] = []
    for item in failed[:ROWS]:
        task = of_id.get(item.task_id)
        text = f"…{task.prompt[alike:]}" if task and alike > ALIKE else task.prompt if task else ""
        expected = f"expected {task.answer}, got " if task and task.answer is not None else ""
        rows.append((item.id, text, item.reason or f"{expected}{item.answer or 'no answer'}"))
    heads = ("failed", "task", "why")
    narrow = max(len(heads[0]), *(len(printable(row[0])) for row in rows))
    room = max(20, shutil.get_terminal_size().columns - narrow - 2 * 2)
    least = min(room * 3 // 4, max(len(_first(why, room)) for _, _, why in rows))
    widths = (narrow, room - least, least)  # first of all what the check said
    cut = [[_first(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    more = len(failed) - len(rows)
    footer = [f"{more} more: {command_line('view', run)}"] if more else []
    return shown([table(heads, cut), *footer])


def _first(text: str, width: int) -> str:
    """Return a text in one line, cut to a width."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def refuse_all_invalid(reports: Sequence[EvalReport], folders: Sequence[Path]) -> None:
    """Print why attempts were invalid: reasons that differ in numbers and paths alone are one.

    Raises:
        Unreachable: if all of them were, and one of them for that reason.
        BadInput: if all of them were, for other reasons.
    """
    from harness.core import BadInput, Unreachable
    from harness.evals import records
    from harness.evals.report import cause

    if not any(report.invalid for report in reports):
        return
    items = [item for folder in folders for item in records(folder)]
    items.sort(key=lambda item: (item.task_id, item.epoch))  # not as they ended
    groups: dict[str, list[str]] = {}
    for item in items:
        if item.outcome == "invalid":
            groups.setdefault(cause(item.reason), []).append(item.reason)
    frequent = sorted(groups.values(), key=len, reverse=True)
    lines = [f"  {len(reasons)} of them: {reasons[0][:REASON]}" for reasons in frequent[:3]]
    if (more := sum(map(len, frequent[3:]))) > 0:
        lines.append(
            f"  {more} more for {len(frequent) - 3} other reasons (harness view shows all)"
        )
    echo("\n".join(["invalid attempts, most frequent reasons:", *lines]), err=True)
    if all(report.invalid == report.items for report in reports):
        unreachable = any("unreachable" in reasons[0].lower() for reasons in frequent)
        error = Unreachable if unreachable else BadInput
        raise error(f"every attempt was invalid: {frequent[0][0].partition(chr(10))[0]}")
