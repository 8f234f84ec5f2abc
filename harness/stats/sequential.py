"""Decisions of a sequential paired comparison; the plan is in `sequential_plan`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from harness.core import BadInput, Value
from harness.stats.design import Operating, SequentialPlan, boundaries
from harness.stats.paired import required_tasks, wilson
from harness.stats.stopped_walk import Stopped, more_extreme, quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = [
    "Decision",
    "Operating",
    "SequentialPlan",
    "boundaries",
    "decide",
    "fixed_power",
    "fixed_tasks",
]

Verdict = Literal["accept", "reject", "need more", "not gated"]
Why = Literal["", "better", "worse", "futile", "end"]


class Decision(Value):
    """What one look says.

    Attributes:
        verdict: accept, reject, need more (tasks), or not gated (too few tasks to say anything).
        why: `better`, `worse` (than the seed, at the same level), `futile` (the planned lift is
            contradicted), `end` (no task left), or "" while it goes on.
        look: 0 for the first.
        tasks: tasks with a valid pair so far.
        difference: mean change so far, not corrected for stopping early.
        adjusted: median-unbiased lift in the stagewise ordering; None while it goes on.
        ci95: 95 % interval of the lift in the same ordering; None while it goes on.
        p: one-sided p-value of the stopped walk (stagewise ordering) before the division of alpha
            among candidates; 1 while it goes on.
        spent: false acceptance spent so far.
    """

    verdict: Verdict
    why: Why
    look: int
    tasks: int
    difference: float | None
    adjusted: float | None = None
    ci95: tuple[float, float] | None = None
    p: float = 1.0
    spent: float = 0.0


def decide(plan: SequentialPlan, look: int, changes: Sequence[float | None]) -> Decision:
    """What to do after a look at which no earlier look had decided.

    Args:
        plan: the plan, fixed before the first result.
        look: 0 for the first.
        changes: mean change of each task so far in the order in which tasks were run, in [-1, 1];
            None where no pair is valid. As many as the plan's look has tasks.

    Raises:
        BadInput: if the look does not exist, or the number or a value of `changes` does not fit.
    """
    _check(plan, look, changes)
    walk = _walk(plan, look, changes)
    tasks, sums, sizes = walk.tasks, walk.sums, walk.sizes
    upper, spent, lower = boundaries(plan, sizes, tasks[None, :], walk.unit)
    total, last = int(sums[look]), look == len(plan.look_sizes) - 1
    n = int(tasks[look])
    seen = Decision(
        verdict="need more",
        why="",
        look=look,
        tasks=n,
        difference=total / walk.unit / n if n else None,
        spent=float(spent[0, look]),
    )
    verdict, why = _judge(plan, walk, bool(total >= upper[0, look]), float(lower[0, look]), last)
    if why == "" or n == 0:
        return seen.model_copy(update={"verdict": verdict, "why": why})
    # The walks are mirror images: as improbable a loss as the gain that would be accepted.
    if why != "better" and -total >= upper[0, look]:
        why = "worse"
    stop = Stopped(sizes, upper, lower, *_single(look, total))
    return seen.model_copy(
        update={"verdict": verdict, "why": why, **_estimates(plan, walk, stop, why)}
    )


def fixed_power(tasks: int, lift: float, discordance: float, alpha: float) -> float:
    """Power of the one-sided exact McNemar test on a fixed number of tasks, exactly."""
    import numpy as np
    from scipy.stats import binom

    moved = np.arange(tasks + 1)
    critical = binom.isf(alpha, moved, 0.5)
    wins = (1 + lift / discordance) / 2
    reached = binom.sf(critical, moved, wins)
    return float((binom.pmf(moved, tasks, discordance) * reached).sum())


def fixed_tasks(lift: float, discordance: float, alpha: float, power: float) -> int:
    """Tasks that the one-sided exact McNemar test needs: from here on the power is kept.

    The exact power moves in teeth, so eight more sizes are looked at.
    """
    start = required_tasks(lift, discordance, power, 2 * alpha)
    tasks = max(2, int(0.8 * start))
    kept = 0
    while kept < 8:
        kept = kept + 1 if fixed_power(tasks, lift, discordance, alpha) >= power else 0
        tasks += 1
    return tasks - kept


class _Walk:
    """The changes of one comparison in whole units."""

    def __init__(self, unit: int, sizes: Ints, sums: Ints, tasks: Ints) -> None:
        self.unit, self.sizes, self.sums, self.tasks = unit, sizes, sums, tasks


def _check(plan: SequentialPlan, look: int, changes: Sequence[float | None]) -> None:
    looks = len(plan.look_sizes)
    if not 0 <= look < looks:
        raise BadInput(f"expected a look of 0 to {looks - 1}, got {look!r}")
    if len(changes) != plan.look_sizes[look]:
        wanted = plan.look_sizes[look]
        raise BadInput(f"look {look} decides on {wanted} tasks, got {len(changes)} changes")
    for change in changes:
        if change is not None and not -1.0 <= change <= 1.0:
            raise BadInput(f"expected changes between -1 and 1, or None, got {change!r}")


def _walk(plan: SequentialPlan, look: int, changes: Sequence[float | None]) -> _Walk:
    import numpy as np

    units = [None if change is None else _units(change, plan.unit) for change in changes]
    # A finer unit than the data need changes no probability, only the time it takes.
    shared = math.gcd(plan.unit, *(abs(units) for units in units if units))
    steps = [None if one is None else one // shared for one in units]
    unit = plan.unit // shared
    ends = plan.look_sizes[: look + 1]
    sizes = np.zeros((1, len(ends), unit), dtype=np.int64)
    sums, tasks = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=np.int64)
    for index, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
        for step in steps[start:end]:
            tasks[index] += step is not None
            if step:
                sums[index] += step
                sizes[0, index, abs(step) - 1] += 1
    return _Walk(unit, sizes, sums.cumsum(), tasks.cumsum())


def _units(change: float, unit: int) -> int:
    """A change in whole units: rounded alike up and down, and never to nothing."""
    size = round(abs(change) * unit)
    return int(math.copysign(max(1, size), change)) if change else 0


def _judge(
    plan: SequentialPlan, walk: _Walk, better: bool, lower: float, last: bool
) -> tuple[Verdict, Why]:
    if better:
        return "accept", "better"
    if walk.sums[-1] <= lower:
        return "reject", "futile"
    if not last:
        return "need more", ""
    # At the end: either the plan could have seen the lift, or the data contradict it.
    moved = walk.sizes.sum() / max(1, walk.tasks[-1])
    actual = plan.at(tasks=max(1, int(walk.tasks[-1])), discordance=min(1.0, max(moved, plan.lift)))
    if walk.tasks[-1] and actual.operating.power >= plan.power:
        return "reject", "end"
    return "not gated", "end"


def _single(look: int, total: int) -> tuple[Ints, Ints]:
    import numpy as np

    return np.asarray([look]), np.asarray([total])


def _estimates(plan: SequentialPlan, walk: _Walk, stop: Stopped, why: Why) -> dict[str, object]:
    import numpy as np

    p = float(more_extreme(stop, np.full(1, 0.5), binding=False)[0][0])
    if why in ("futile", "worse"):
        # Going on could still have spent the rest.
        p = max(p, plan.alpha / plan.candidates)
    n = int(walk.tasks[-1])
    moved = walk.sizes.sum(axis=(0, 1))
    count = int(moved.sum())
    if count == 0:
        return {"p": 1.0, "adjusted": 0.0}
    size = float(moved @ np.arange(1, walk.unit + 1)) / walk.unit / count
    middle, low, high = (
        2 * float(quantile(stop, probability, weight)[0]) - 1
        for probability, weight in ((0.5, 0.5), (0.025, 1.0), (0.975, 0.0))
    )
    share = wilson(count, n) or (0.0, 1.0)
    return {
        "p": min(1.0, p),
        "adjusted": middle * size * count / n,
        "ci95": product_interval((middle, low, high), (count / n, *share), size),
    }


def product_interval(
    sign: tuple[float, float, float], share: tuple[float, float, float], size: float
) -> tuple[float, float]:
    """Interval of sign * share * size from those of the first two (estimate, low, high).

    The distances of the limits are added as squares (MOVER, Zou and Donner 2008).
    """
    (mean, low, high), (moved, few, many) = sign, share
    far, near = (many, few) if mean >= 0 else (few, many)
    down = math.hypot(moved * (mean - low), mean * (moved - near))
    up = math.hypot(moved * (high - mean), mean * (far - moved))
    return max(-1.0, (mean * moved - down) * size), min(1.0, (mean * moved + up) * size)
