"""Public sets by name, whatever they become: tasks with documents, images, tables, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.core import BadInput, Task
from harness.core.plugins import load, plugins
from harness.corpora import problems, tables
from harness.corpora.loaders.published import load_some
from harness.corpora.table_workbooks import write_table_questions
from harness.corpora.tables import TableQuestion
from harness.corpora.writing import write_tasks

PROBLEM_LOADERS: dict[str, Callable[[Path], Iterator[Task]]] = {
    "gsm8k": problems.gsm8k,
    "math": problems.competition,
    "aime": problems.aime,
    "dapo-math": problems.dapo_math,
}
TABLE_LOADERS: dict[str, Callable[[Path], Iterator[TableQuestion]]] = {
    "wikitablequestions": tables.wikitablequestions,
    "hitab": tables.hitab,
}


def convert_any(
    name: str, path: Path, out: Path, split: str = "test", limit: int | None = None
) -> list[Task]:
    """Write a public set as a task file with what belongs to it, ready for `harness eval`.

    Args:
        name: of a loader of problems, tables, readings or visual questions.
        path: its file; tables and images are looked for beside it.
        out: folder for `<split>.jsonl` and the files of the tasks.
        split: name of the task file.
        limit: only the first so many questions.

    Raises:
        BadInput: for another name, if the file or a record has another form, or is empty.
    """
    from harness.corpora.loaders import LOADERS, convert

    if name in PROBLEM_LOADERS:
        tasks = list(load_some(PROBLEM_LOADERS, name, path, limit))
        write_tasks(tasks, out, split)
        return tasks
    if name in TABLE_LOADERS:
        questions = load_some(TABLE_LOADERS, name, path, limit)
        return write_table_questions(questions, out, split)
    if name in LOADERS:
        return convert(name, path, out, split, limit)
    if name in plugins("loaders"):
        return load("loaders", name)(name, path, out, split, limit)
    known = (*LOADERS, *PROBLEM_LOADERS, *TABLE_LOADERS, *plugins("loaders"))
    raise BadInput(f"no loader {name!r}: expected one of {', '.join(known)}")
