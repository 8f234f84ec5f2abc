"""What an audit decides between its looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.receipts.boundaries import critical
from harness.receipts.estimate import Data, Fit, fit
from harness.receipts.plan import AuditPlan
from harness.receipts.records import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


class Look(NamedTuple):
    """What one look says: whether to stop, and why."""

    stop: bool
    why: str


def data_of(rows: Sequence[Row], units: int, values: Sequence[float] | None = None) -> Data:
    """Rows as arrays; passes are explained, unless other values are given."""
    import numpy as np

    ids = {task: at for at, task in enumerate(dict.fromkeys(row.task for row in rows))}
    passed = [float(row.outcome == "pass") for row in rows] if values is None else values
    present = [[int(char) for char in row.units] for row in rows]
    return Data(
        np.array([ids[row.task] for row in rows], dtype=np.int64),
        np.array(present, dtype=np.int64).reshape(len(rows), units),
        np.asarray(passed, dtype=np.float64),
    )


def settled(fitted: Fit, value: float, width: float) -> tuple[Bools, Bools]:
    """Units whose effect is decided, and those whose interval is narrow enough [units].

    Args:
        fitted: of the rollouts so far.
        value: critical value of the look.
        width: half-width of an interval that is narrow enough.
    """
    import numpy as np

    half = critical(value, fitted.degrees) * fitted.errors
    return np.abs(fitted.effects) > half, half <= width


def chances(plan_looks: Sequence[int], values: Sequence[float], look: int, fitted: Fit) -> Floats:
    """Chance that a unit is decided at a later look, if its effect is what it now seems [units].

    Conditional power under the current trend (Lan, Simon and Halperin 1982). An estimate at a later
    look is normal around the present one, with the later look's variance times the share of it
    that is still to come. Chances of several looks are added up, which is never too little
    (the sum may pass 1).

    Stopping for want of a chance leaves the intervals as they are: their boundaries hold at all
    looks together, whatever the reason to stop at one (Jennison and Turnbull 2000, chapter 9).

    Args:
        plan_looks: rollouts at each look.
        values: critical values of the looks.
        look: the one at hand.
        fitted: its fit.
    """
    import numpy as np
    from scipy.special import ndtr

    total: Floats = np.zeros(len(fitted.effects))
    for end, value in zip(plan_looks[look + 1 :], values[look + 1 :], strict=True):
        seen = plan_looks[look] / end
        error = fitted.errors * seen**0.5
        needed = critical(value, fitted.degrees) * error
        spread = np.maximum(error * (1 - seen) ** 0.5, 1e-12)
        ends = np.stack([fitted.effects - needed, -fitted.effects - needed]) / spread
        total = total + np.asarray(ndtr(ends), dtype=np.float64).sum(axis=0)
    return total


def look_at(plan: AuditPlan, look: int, rows: Sequence[Row]) -> Look:
    """Whether to stop after this look: every unit decided, or its interval narrow enough, or
    without the planned chance of a decision."""
    if look == len(plan.looks) - 1:
        return Look(True, "all planned rollouts were run")
    valid = [row for row in rows if row.outcome != "invalid"]
    if len(valid) <= plan.units + len({row.task for row in valid}) + 1:
        return Look(False, "")
    fitted = fit(data_of(valid, plan.units))
    decided, narrow_enough = settled(fitted, plan.values[look], plan.width)
    open_units = ~(decided | narrow_enough)
    if open_units.any():
        if not plan.futility:
            return Look(False, "")
        left = chances(plan.looks, plan.values, look, fitted)[open_units]
        if left.max() >= plan.futility:
            return Look(False, "")
        return Look(
            True,
            f"{int(decided.sum())} of {plan.units} units are decided; none of the "
            f"{int(open_units.sum())} open ones has a chance of {100 * plan.futility:g} % to be, "
            "if its effect is what it seems",
        )
    narrow = f", the others are within +-{100 * plan.width:.1f} points" if plan.width else ""
    return Look(True, f"{int(decided.sum())} of {plan.units} units are decided{narrow}")
