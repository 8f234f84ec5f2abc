"""Adds the rung "no model" to ladders of functions that were measured before there was one.

No model is called: the other rungs stay as they were measured.

Run: python -m benchmarks.receipts.no_model skills/log-wrangling ... --out runs/no-model
"""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.core import BadInput, loops, write_atomic
from harness.evals import EvalSettings, attempt_id, load_suite
from harness.receipts.ladder.no_model import (
    attempt_without_model,
    matcher_of,
    no_model_rung,
    replies_without_model,
)
from harness.receipts.ladder.records import NO_MODEL, ORDER, LadderRecords, read_ladder, rows_of
from harness.receipts.ladder.report import ladder_of, ladder_page
from harness.receipts.ladder.verify import verify_ladder
from harness.receipts.records import read_run
from harness.skills import LADDER, LADDER_PAGE, LADDER_RECORDS, beside, load_skill


def add_rung(skill: Path, out: Path) -> LadderRecords:
    """Run the rung on the tasks of a ladder, and write the ladder with it beside the skill.

    Args:
        skill: directory of a skill of functions; its ladder lies beside it.
        out: folder of the run.

    Raises:
        BadInput: if the ladder does not hold, or the skill has no functions.
    """
    verified = verify_ladder(skill)
    if not verified.valid:
        raise BadInput(f"the ladder of {skill} does not hold: {verified.differs[0]}")
    header, rows = (records := read_ladder(beside(skill, LADDER_RECORDS))).header, records.rows
    suite = load_suite(header.suite, header.split)
    measured = {id_ for id_, _ in header.tasks}
    tasks = tuple(task for task in suite.tasks if task.id in measured)
    suite = suite.model_copy(update={"tasks": tasks})
    train = load_suite(header.suite, "train").tasks
    replies = replies_without_model(matcher_of(load_skill(skill), train), tasks)
    if not replies:
        raise BadInput(f"{skill} has no functions that were made from tasks of {header.suite}")
    settings = EvalSettings(
        suite=header.suite, skill=skill, epochs=header.epochs, seed=header.seed, concurrency=2
    )
    loops.run(attempt_without_model(settings, suite, replies, out / NO_MODEL))
    ids = [attempt_id(task, epoch) for epoch in range(header.epochs) for task in tasks]
    rungs = [row for row in header.rungs if row.name != NO_MODEL] + [no_model_rung(replies)]
    rungs.sort(key=lambda row: ORDER.index(row.name))
    attempts = [row for row in rows if row.rung != NO_MODEL]
    attempts += rows_of(NO_MODEL, ids, read_run(out / NO_MODEL, ()))
    attempts.sort(key=lambda row: ORDER.index(row.rung))
    return LadderRecords(
        header=header.model_copy(update={"rungs": tuple(rungs)}), rows=tuple(attempts)
    )


def main() -> None:
    """Add the rung to every ladder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for skill in options.skills:
        records = add_rung(skill, options.out / skill.name)
        ladder = ladder_of(records)
        texts = {
            LADDER: ladder.text, LADDER_RECORDS: records.text, LADDER_PAGE: ladder_page(ladder)
        }  # fmt: skip
        for name, text in texts.items():
            write_atomic(beside(skill, name), text)
        for row in (*ladder.rungs, *ladder.unseen):
            print(f"{skill.name}: {row.title}: {row.passed} of {row.valid}")


if __name__ == "__main__":
    main()
