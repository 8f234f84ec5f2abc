"""A run as a source: the tables of the tasks that failed in it, for new tasks like those.

A task that this factory made says what it asked for; only that is asked for again, of other rows
and columns. Of a task that a person wrote the table is taken, and every manipulation is tried. The
rows are always clean: where dirt was put in, they are those of the gold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from harness.core import BadInput
from harness.evals import LoadedSuite, Split, load_suite, read_parts
from harness.synth.curriculum import mean_rewards
from harness.synth.tables.manipulations import AT_LEAST, DIRTY, MANIPULATIONS
from harness.synth.tables.table import SUFFIXES, Table, read_table


def is_run(source: Path) -> bool:
    """Whether a source is the folder of a run."""
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
    failed = {id_ for id_, mean in mean_rewards(run).items() if mean < 1}
    if not failed:
        raise BadInput(f"no task failed in {str(run)!r}")
    tables: list[tuple[Table, tuple[str, ...]]] = []
    faults: list[str] = []
    for suite in _open_splits(suite_of(run)):
        for task in suite.tasks:
            if task.id not in failed:
                continue
            kind = str(task.meta.get("manipulation", ""))
            named = [task.answer] if kind in DIRTY else [*task.files.values()]
            paths = [str(path) for path in named if str(path).endswith(SUFFIXES)]
            try:
                if len(paths) != 1:
                    raise BadInput(f"expected one table, found {paths}")
                table = read_table(suite.base / paths[0])
                table.key  # noqa: B018  # rows without a key cannot be told apart
            except BadInput as error:
                faults.append(f"{task.id}: {error}")
                continue
            kinds = (kind,) if kind in MANIPULATIONS else tuple(MANIPULATIONS)
            tables += [(table, kinds)] if len(table.rows) >= AT_LEAST else []
    if not tables:
        why = faults[0] if faults else "none is in the train or selection split"
        raise BadInput(
            f"no table of the {len(failed)} failed tasks of {str(run)!r} can be used: {why}; tasks "
            "of the test split are left alone (harness eval --split train)"
        )
    return tables


def _open_splits(reference: str) -> list[LoadedSuite]:
    """The train and selection splits of a suite, as far as it has them."""
    load_suite(reference)
    names: tuple[Any, ...] = get_args(Split)
    splits: list[LoadedSuite] = []
    for name in names:
        try:
            splits += [load_suite(reference, name)] if name != "test" else []
        except BadInput:  # it has no such split
            continue
    return splits
