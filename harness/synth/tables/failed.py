"""A run as a source: the tables of the tasks that failed in it, for new tasks like those.

A task that this factory made says what it asked for; only that is asked for again, of other rows
and columns. Of a task that a person wrote the table is taken, and every manipulation is tried. The
rows are always clean: where dirt was put in, they are those of the gold.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from harness.core import BadInput
from harness.core.rundir import RunReader
from harness.evals import LoadedSuite, Split, finished_items, load_suite, read_parts
from harness.synth.tables.manipulations import AT_LEAST, DIRTY, MANIPULATIONS
from harness.synth.tables.table import SUFFIXES, Table, keyed_table

OPEN: tuple[Split, ...] = ("train", "selection")


def is_run(source: Path) -> bool:
    """Return True if a source is the folder of a run."""
    return (source / "run.json").is_file()


def suite_of(run: Path) -> str:
    """The suite that a run names.

    Raises:
        BadInput: if it names none.
    """
    parts = read_parts(run)
    if not parts or not parts[-1].suite:
        raise BadInput(f"{str(run)!r} does not say where its suite is")
    return parts[-1].suite


def failed_tables(run: Path) -> list[tuple[Table, tuple[str, ...]]]:
    """The tables of tasks that were not passed by every attempt, with the manipulations to make.

    Tasks of the test split are left out: what is made from them would carry them into training.

    Raises:
        BadInput: if nothing failed, or no table of what failed can be used.
    """
    failed = {
        item.task_id
        for item in finished_items(RunReader(run))
        if item.outcome != "invalid" and item.value < 1
    }
    suites, reference = list[LoadedSuite](), suite_of(run)
    load_suite(reference)  # a suite that is not there any more is said, other than a split
    for split in OPEN:
        with suppress(BadInput):
            suites.append(load_suite(reference, split))
    tables: list[tuple[Table, tuple[str, ...]]] = []
    fault = "none is in the splits train and selection (harness eval --split train)"
    rows = ((suite.base, task) for suite in suites for task in suite.tasks)
    for base, task in rows:
        kind = str(task.meta.get("manipulation", ""))
        names = [task.answer] if kind in DIRTY else [*task.files.values()]
        paths = [base / str(path) for path in names if str(path).endswith(SUFFIXES)]
        if task.id in failed and len(paths) == 1:
            try:
                table = keyed_table(paths[0], AT_LEAST)
                tables.append((table, (kind,) if kind in MANIPULATIONS else tuple(MANIPULATIONS)))
            except BadInput as error:
                fault = str(error)
    if not tables:
        raise BadInput(
            f"of {len(failed)} failed tasks in {str(run)!r} no table can be used: {fault}"
        )
    return tables
