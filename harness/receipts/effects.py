"""Effects of units with their intervals, over all tasks and on each group of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput, Task, Value, grouped
from harness.receipts.plan import LEAST_OF_GROUP, ROLLOUTS
from harness.receipts.records import Records, Row
from harness.receipts.units import Cut, Unit
from harness.stats import EffectData, EffectFit, alone, cluster_names, fit_effects, with_ends

Verdict = Literal["helps", "hurts", "nothing detectable"]
MOST_GROUPS = 20
"""Of a column that is looked at without being asked for."""
_WORD = re.compile(r"\w+")


class Interval(Value):
    """An estimate with its interval; for passes in percentage points."""

    estimate: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    @property
    def verdict(self) -> Verdict:
        """Verdict of an effect: an interval that holds zero shows nothing."""
        if self.low > 0:
            return "helps"
        return "hurts" if self.high < 0 else "nothing detectable"


class GroupEffect(Value):
    """Effect of a unit on the tasks that have one value in a column.

    Attributes:
        unit: its id.
        group: value of the column.
        tasks: how many have it.
        effect: in points, as over all tasks; the intervals of all groups hold together, at every
            look (Bonferroni).
    """

    unit: str
    group: str
    tasks: int
    verdict: Verdict
    effect: Interval


def data_of(
    rows: Sequence[Row],
    units: int,
    groups: Mapping[str, str],
    values: Sequence[float] | None = None,
) -> EffectData:
    """Rows as arrays; passes are explained, unless other values are given."""
    tasks = [row.task for row in rows]
    names = cluster_names(tasks, groups)
    passed = [float(row.outcome == "pass") for row in rows] if values is None else values
    present = [[int(char) for char in row.units] for row in rows]
    return EffectData(
        np.unique(tasks, return_inverse=True)[1],
        np.array(present, dtype=np.int64).reshape(len(rows), units),
        np.asarray(passed, dtype=np.float64),
        np.unique(names, return_inverse=True)[1] if names else None,
    )


def intervals(ends: NDArray[np.float64], scale: float) -> list[Interval]:
    """Estimates and both ends [units, 3] as they are shown."""
    rows = [[round(scale * value, 2) for value in row] for row in ends.tolist()]
    return [Interval(estimate=estimate, low=low, high=high) for estimate, low, high in rows]


def group_effects(records: Records, parsed: Cut) -> tuple[GroupEffect, ...]:
    """Estimate the effects of units on each group of tasks that the records tell apart.

    A unit whose words name groups is tried on those, any other on all: a rule for one queue does
    little to all tasks together. Groups with too few tasks or rollouts for that are left out: where
    the fit has hardly a residual left, its standard errors are far too small.
    """
    header, plan = records.header, records.header.plan
    valid = [
        row for row in records.rows if row.outcome != "invalid" and row.task in header.by_values
    ]
    members = grouped((header.by_values[row.task], row) for row in valid)
    groups_of = {unit.number: named_groups(unit.text, members) for unit in parsed.units}
    fits, tasks_of = dict[str, EffectFit](), dict[str, int]()
    for group, rows in sorted(members.items()):
        tasks_of[group] = len({row.task for row in rows})
        if (
            tasks_of[group] >= LEAST_OF_GROUP
            and len(rows) - tasks_of[group] >= ROLLOUTS * plan.units
        ):
            with suppress(BadInput):  # of one group of tasks, or units that cannot be told apart
                fits[group] = fit_effects(data_of(rows, plan.units, header.groups))
    pairs = [
        (unit, group)
        for unit in parsed.units
        for group in fits
        if group in (groups_of[unit.number] or fits)
    ]
    looked = len(pairs) * len(plan.looks)
    effects = {
        group: intervals(
            with_ends(fit.effects, fit.errors, alone(plan.alpha, looked, fit.degrees)), 100
        )
        for group, fit in fits.items()
    }
    return tuple(
        GroupEffect(
            unit=unit.id, group=group, tasks=tasks_of[group],
            verdict=effects[group][unit.number].verdict, effect=effects[group][unit.number],
        )
        for unit, group in pairs
    )  # fmt: skip


def groups_by(
    tasks: Sequence[Task], units: Sequence[Unit], column: str | None
) -> tuple[str, dict[str, str]]:
    """The column whose groups are looked at one by one, and the tasks' values in it.

    Args:
        tasks: of the audit.
        units: of the skill.
        column: None takes the one whose values most units name, "" for none.

    Raises:
        BadInput: for a column that no task has.
    """
    from harness.evals import column_of  # a receipt is computed without it

    rows = {task.id: task.columns for task in tasks}
    if column is not None:
        return column, column_of(rows, column)
    best = 0, "", dict[str, str]()
    for name in sorted({name for task in tasks for name in task.meta}):
        values = column_of(rows, name)
        groups = {value for value in values.values() if len(value) > 2 and not value.isdigit()}
        if 1 < len(groups) <= MOST_GROUPS and len(values) == len(rows):
            count = sum(bool(named_groups(unit.text, groups)) for unit in units)
            best = max(best, (count, name, values), key=lambda candidate: candidate[0])
    return best[1:]


def named_groups(text: str, groups: Collection[str]) -> set[str]:
    """The groups whose names stand in a text, as words in a row."""
    words, *names = (f" {' '.join(_WORD.findall(t.casefold()))} " for t in (text, *groups))
    return {group for group, name in zip(groups, names, strict=True) if name in words}
