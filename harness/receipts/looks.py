"""What an audit decides between its looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.receipts.plan import AuditPlan
from harness.receipts.records import Row
from harness.stats import EffectData, chances, fit_effects, settled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


class Look(NamedTuple):
    """What one look says: whether to stop, and why."""

    stop: bool
    why: str


def data_of(rows: Sequence[Row], units: int, values: Sequence[float] | None = None) -> EffectData:
    """Rows as arrays; passes are explained, unless other values are given."""
    import numpy as np

    ids = {task: number for number, task in enumerate(dict.fromkeys(row.task for row in rows))}
    passed = [float(row.outcome == "pass") for row in rows] if values is None else values
    present = [[int(char) for char in row.units] for row in rows]
    return EffectData(
        np.array([ids[row.task] for row in rows], dtype=np.int64),
        np.array(present, dtype=np.int64).reshape(len(rows), units),
        np.asarray(passed, dtype=np.float64),
    )


def look_at(plan: AuditPlan, look: int, rows: Sequence[Row]) -> Look:
    """Whether to stop after this look: every unit decided, or its interval narrow enough, or
    without the planned chance of a decision."""
    if look == len(plan.looks) - 1:
        return Look(True, "all planned rollouts were run")
    valid = [row for row in rows if row.outcome != "invalid"]
    if len(valid) <= plan.units + len({row.task for row in valid}) + 1:
        return Look(False, "")
    fitted = fit_effects(data_of(valid, plan.units))
    decided, narrow_enough = settled(fitted, plan.values[look], plan.width)
    open_units = ~(decided | narrow_enough)
    if open_units.any():
        if not plan.futility:
            return Look(False, "")
        likely = chances(plan.looks, plan.values, look, fitted)[open_units]
        if likely.max() >= plan.futility:
            return Look(False, "")
        return Look(
            True,
            f"{int(decided.sum())} of {plan.units} units are decided; none of the "
            f"{int(open_units.sum())} open ones has a chance of {100 * plan.futility:g} % to be, "
            "if its effect is what it seems",
        )
    narrow = f", the others are within +-{100 * plan.width:.1f} points" if plan.width else ""
    return Look(True, f"{int(decided.sum())} of {plan.units} units are decided{narrow}")
