"""What an audit decides between its looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from harness.evolve.audit.boundaries import critical
from harness.evolve.audit.estimate import Data, Fit, fit
from harness.evolve.audit.plan import AuditPlan
from harness.evolve.audit.records import Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]


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


def look_at(plan: AuditPlan, look: int, rows: Sequence[Row]) -> Look:
    """Whether to stop after this look: every unit decided, or its interval narrow enough."""
    if look == len(plan.looks) - 1:
        return Look(True, "all planned rollouts were run")
    valid = [row for row in rows if row.outcome != "invalid"]
    if len(valid) <= plan.units + len({row.task for row in valid}) + 1:
        return Look(False, "")
    fitted = fit(data_of(valid, plan.units))
    decided, narrow_enough = settled(fitted, plan.values[look], plan.width)
    if not (decided | narrow_enough).all():
        return Look(False, "")
    narrow = f", the others are within +-{100 * plan.width:.1f} points" if plan.width else ""
    return Look(True, f"{int(decided.sum())} of {plan.units} units are decided{narrow}")
