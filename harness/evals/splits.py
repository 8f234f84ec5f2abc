"""Dividing one task file into train, selection and test.

| `split_by` | train | selection | test |
|---|---|---|---|
| `paper` | rows 0 to 199 | none | rows 200 to 399 |
| `stratified` | 40 % of each stratum | 10 % | 50 % |
| `{train: [0, 50], test: [50, 90]}` | rows 0 to 49 | as written | rows 50 to 89 |

`paper` is the division of Trace2Skill (arXiv 2603.25158) of SpreadsheetBench-Verified in its
published order. Its halves differ in kind: the first has 125 sheet-level tasks of 200, the second
none (a skill that learns about sheets is never tested on them). `stratified` has the same share of
every stratum in each part: report it, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

from harness.core import BadInput, Task, digest

Split = Literal["train", "selection", "test"]
Rows = dict[Split, tuple[int, int]]
"""Split -> its first row, and the first row behind it, counted from 0."""
SplitBy = Literal["paper", "stratified"] | Rows

PAPER: Rows = {"train": (0, 200), "test": (200, 400)}
STRATIFIED: Mapping[Split, tuple[float, float]] = {
    "train": (0.0, 0.4),
    "selection": (0.4, 0.5),
    "test": (0.5, 1.0),
}


def divided(
    tasks: Sequence[Task], split_by: SplitBy, split: Split, name: str = ""
) -> tuple[Task, ...]:
    """The tasks of one split, in the order of the file.

    Args:
        tasks: all of them, in the order of the file.
        split_by: how they are divided.
        split: which part.
        name: of the suite, for messages.

    Raises:
        BadInput: if there is no such part, its rows are not all there, it is empty, or parts
            overlap.
    """
    if split_by == "stratified":
        chosen = _stratified(tasks, split)
    else:
        chosen = _rows(tasks, PAPER if split_by == "paper" else split_by, split, name)
    if not chosen:
        raise BadInput(f"suite {name!r}: the split {split!r} of {len(tasks)} tasks is empty")
    return chosen


def _rows(tasks: Sequence[Task], rows: Rows, split: Split, name: str) -> tuple[Task, ...]:
    if split not in rows:
        raise BadInput(f"suite {name!r} has no split {split!r}, only {list(rows)}")
    ordered = sorted(rows.values())
    if any(end > begin for (_, end), (begin, _) in pairwise(ordered)):
        raise BadInput(f"suite {name!r}: expected splits that share no row, found {rows!r}")
    first, end = rows[split]
    if not 0 <= first <= end <= len(tasks):
        raise BadInput(
            f"suite {name!r}: split {split!r} is rows {first} to {end - 1}, and there are "
            f"{len(tasks)} tasks"
        )
    return tuple(tasks[first:end])


def _stratified(tasks: Sequence[Task], split: Split) -> tuple[Task, ...]:
    """The split's share of each stratum, drawn by the digests of the ids: adding tasks of one
    stratum moves none of another, and the order of the file does not matter."""
    strata: dict[str, list[Task]] = {}
    for task in tasks:
        strata.setdefault(str(task.meta.get("stratum", "")), []).append(task)
    low, high = STRATIFIED[split]
    chosen: set[str] = set()
    for members in strata.values():
        drawn = sorted(members, key=lambda task: digest(["stratified", task.id]))
        count = len(drawn)
        chosen |= {task.id for task in drawn[round(low * count) : round(high * count)]}
    return tuple(task for task in tasks if task.id in chosen)
