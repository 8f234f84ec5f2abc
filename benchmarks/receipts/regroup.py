"""Computes the receipts beside skills again, by the groups that their suites name by now.

No model is called: what was run stays as it was recorded.

Run: python -m benchmarks.receipts.regroup skills/log-wrangling skills/short-answers ...
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from harness.core import write_atomic
from harness.evals import load_suite
from harness.receipts import cut
from harness.receipts.ladder.records import read_ladder
from harness.receipts.ladder.report import ladder_of, ladder_page
from harness.receipts.receipt import card, receipt_of
from harness.receipts.records import Conditions, read_records, task_groups
from harness.skills import (
    CARD,
    LADDER,
    LADDER_PAGE,
    LADDER_RECORDS,
    RECEIPT,
    RECORDS,
    beside,
    load_skill,
)


def groups_now(header: Conditions) -> dict[str, str]:
    """The groups of the measured tasks, as their suite names them."""
    measured = {task for task, _ in header.tasks}
    suite = load_suite(header.suite, header.split)
    return task_groups([task for task in suite.tasks if task.id in measured])


def computed(skill: Path) -> Iterator[tuple[str, str]]:
    """The files of a skill's ladder and receipt, and what they should hold."""
    if beside(skill, LADDER_RECORDS).is_file():
        ladder = read_ladder(beside(skill, LADDER_RECORDS))
        header = ladder.header.model_copy(update={"groups": groups_now(ladder.header)})
        ladder = ladder.model_copy(update={"header": header})
        result = ladder_of(ladder)
        yield from ((LADDER_RECORDS, ladder.text), (LADDER, result.text))
        yield LADDER_PAGE, ladder_page(result)
    if beside(skill, RECORDS).is_file():
        records = read_records(beside(skill, RECORDS))
        groups = groups_now(records.header)
        plan = records.header.plan.model_copy(update={"groups": len(set(groups.values()))})
        audit = records.header.model_copy(update={"groups": groups, "plan": plan})
        records = records.model_copy(update={"header": audit})
        receipt = receipt_of(records, cut(load_skill(skill)))
        yield from ((RECORDS, records.text), (RECEIPT, receipt.text), (CARD, card(receipt)))


def main() -> None:
    """Write what is beside every skill that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("skills", nargs="+", type=Path)
    for skill in parser.parse_args().skills:
        for name, text in [*computed(skill)]:
            write_atomic(beside(skill, name), text)


if __name__ == "__main__":
    main()
