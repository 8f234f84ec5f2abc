"""Public sets by name, whatever they become: tasks with documents, images, tables, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.core import BadInput, Task
from harness.core import plugins as wings
from harness.corpora.longdoc_sets import LONGDOC_LOADERS
from harness.corpora.problems import PROBLEM_LOADERS
from harness.corpora.reading import Reading, write_readings, write_tasks
from harness.corpora.records import load, load_some
from harness.corpora.search_sets import SEARCH_LOADERS
from harness.corpora.tables import TABLE_LOADERS, write_table_questions

LOADERS = {**SEARCH_LOADERS, **LONGDOC_LOADERS}
"""Name of a set of questions over documents -> its loader."""


def load_readings(name: str, path: Path) -> Iterator[Reading]:
    """The questions of a public set, one by one.

    Args:
        name: of :data:`LOADERS`.
        path: its file (NarrativeQA: its folder).

    Raises:
        BadInput: for another name, or if the file or a record has another form.
    """
    return load(LOADERS, name, path)


def convert(
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
    if name in PROBLEM_LOADERS:
        tasks = list(load_some(PROBLEM_LOADERS, name, path, limit))
        write_tasks(tasks, out, split)
        return tasks
    if name in TABLE_LOADERS:
        questions = load_some(TABLE_LOADERS, name, path, limit)
        return write_table_questions(questions, out, split)
    if name in LOADERS:
        return write_readings(load_some(LOADERS, name, path, limit), out, split)
    if name in wings.plugins("loaders"):
        return wings.load("loaders", name)(name, path, out, split, limit)
    names = (*LOADERS, *PROBLEM_LOADERS, *TABLE_LOADERS, *wings.plugins("loaders"))
    raise BadInput(f"no loader {name!r}: expected one of {', '.join(names)}")
