"""The decision at a look of a gate, with an estimate and an interval that agree with it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from harness.core import BadInput, Value
from harness.stats.intervals import change_interval, product_interval, wilson
from harness.stats.sequential import SequentialPlan, walk_boundaries
from harness.stats.walk import Stopped, more_extreme, walk_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Verdict = Literal["accept", "reject", "need more", "not gated"]
Why = Literal["", "better", "worse", "futile", "end"]


class Decision(Value):
    """Decision after one look.

    Attributes:
        verdict: accept, reject, need more (tasks), or not gated (too few tasks to say anything).
        why: `better`, `worse` (than the seed, at the same level or by the interval), `futile` (the
            planned lift is contradicted), `end` (no task left), or "" while it goes on.
        look: 0 for the first.
        tasks: tasks with a valid pair so far.
        difference: mean change so far, not corrected for stopping early.
        adjusted: median-unbiased lift in the stagewise ordering; None while it goes on.
        ci95: 95 % interval of the lift in the same ordering, above 0 if and only if the verdict is
            `accept`; None while it goes on. Wider where alpha is divided among candidates.
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
    """Decide after a look at which no earlier look had decided.

    Args:
        plan: the plan, fixed before the first result.
        look: 0 for the first.
        changes: mean change of each task so far in the order in which tasks were run, in [-1, 1];
            None where no pair is valid. As many as the plan's look has tasks.

    Raises:
        BadInput: if the look does not exist, or the number or a value of `changes` does not fit.
    """
    import numpy as np

    looks = len(plan.look_sizes)
    if not 0 <= look < looks:
        raise BadInput(f"expected a look of 0 to {looks - 1}, got {look!r}")
    if len(changes) != (size := plan.look_sizes[look]):
        raise BadInput(f"look {look} decides on {size} tasks, got {len(changes)} changes")
    for change in changes:
        if change is not None and not -1.0 <= change <= 1.0:
            raise BadInput(f"expected changes between -1 and 1, or None, got {change!r}")
    walk = _walk(plan, look, changes)
    upper, spent, lower = walk_boundaries(
        plan, walk.sizes, walk.tasks[None, :], walk.unit, walk.net
    )
    total, n = int(walk.sums[look]), int(walk.tasks[look])
    decision = Decision(
        verdict="need more", why="", look=look, tasks=n,
        difference=total / walk.unit / n if n else None,
        spent=float(spent[0, look]),
    )  # fmt: skip
    verdict: Verdict
    why: Why
    if total >= upper[0, look]:
        verdict, why = "accept", "better"
    elif total <= lower[0, look]:
        verdict, why = "reject", "futile"
    elif look < looks - 1:
        return decision
    else:
        # At the end: either the plan could have seen the lift, or the data contradict it.
        moved = sum(change not in (None, 0.0) for change in changes) / max(1, n)
        actual = plan.at(tasks=max(1, n), discordance=min(1.0, max(moved, plan.lift)))
        powerful = n > 0 and actual.operating.power >= plan.power
        verdict, why = "reject" if powerful else "not gated", "end"
    if n == 0:
        return decision.model_copy(update={"verdict": verdict, "why": why})
    # The walks are mirror images: as improbable a loss as the gain that would be accepted.
    if why != "better" and -total >= upper[0, look]:
        why = "worse"
    stop = Stopped(walk.sizes, upper, lower, np.asarray([look]), np.asarray([total]))
    estimates = _estimates(plan, walk, stop, why, changes)
    if looks == 1:
        estimates["adjusted"] = decision.difference
    decision = decision.model_copy(update={"verdict": verdict, "why": why, **estimates})
    if verdict == "not gated" and decision.ci95 and decision.ci95[1] < 0:
        # Too few tasks to show a gain; harm they have shown. Nothing is accepted by it.
        return decision.model_copy(update={"verdict": "reject", "why": "worse"})
    return decision


class _Walk(NamedTuple):
    """The changes of one comparison in whole units: of `unit` to a change from fail to pass.

    Attributes:
        unit: units of a whole change.
        sizes: tasks, or groups, that changed by s + 1 units at each look [1, looks, most].
        net: of them, those that went up less those that went down [1, looks, most].
        sums: summed change up to each look [looks].
        tasks: valid tasks up to each look [looks].
        independent: valid tasks in all, or groups with one.
    """

    unit: int
    sizes: Ints
    net: Ints
    sums: Ints
    tasks: Ints
    independent: int


def _walk(plan: SequentialPlan, look: int, changes: Sequence[float | None]) -> _Walk:
    import numpy as np

    # Rounded alike up and down, and never to nothing.
    steps = [
        None
        if change is None
        else int(math.copysign(max(1, round(abs(change) * plan.unit)), change))
        if change
        else 0
        for change in changes
    ]
    # A finer unit than the data need changes no probability, only the time it takes.
    shared = math.gcd(plan.unit, *(step for step in steps if step))
    unit, ends = plan.unit // shared, plan.look_sizes[: look + 1]
    borders = list(accumulate(plan.groups)) if plan.groups else range(1, len(steps) + 1)
    parts = [
        (bisect_left(ends, end), [step // shared for step in steps[start:end] if step is not None])
        for start, end in pairwise((0, *(border for border in borders if border <= ends[-1])))
    ]
    largest = max(unit, *(abs(sum(part)) for _, part in parts))
    sizes, net = np.zeros((2, 1, len(ends), largest), dtype=np.int64)
    sums, tasks = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=np.int64)
    for index, part in parts:
        tasks[index] += len(part)
        if total := sum(part):
            sums[index] += total
            sizes[0, index, abs(total) - 1] += 1
            net[0, index, abs(total) - 1] += 1 if total > 0 else -1
    valid = sum(bool(part) for _, part in parts)
    return _Walk(unit, sizes, net, sums.cumsum(), tasks.cumsum(), valid)


def _estimates(
    plan: SequentialPlan, walk: _Walk, stop: Stopped, why: Why, changes: Sequence[float | None]
) -> dict[str, object]:
    import numpy as np

    p = float(more_extreme(stop, np.full(1, 0.5), binding=False)[0][0])
    if why != "better":
        # Going on could still have spent the rest, and so would changes without skew.
        p = max(p, plan.alpha / plan.candidates)
    n, independent = int(walk.tasks[-1]), walk.independent
    moved = walk.sizes.sum(axis=(0, 1))
    count = int(moved.sum())
    if count == 0:
        return {"p": 1.0, "adjusted": 0.0, "ci95": change_interval([0.0] * independent)}
    size = float(moved @ np.arange(1, len(moved) + 1)) / walk.unit / count * independent / n
    tail = min(0.025, plan.alpha / plan.candidates)
    middle, low, high = (
        2 * float(walk_quantile(stop, probability, weight)[0]) - 1
        for probability, weight in ((0.5, 0.5), (tail, 1.0), (1 - tail, 0.0))
    )
    share = wilson(count, independent) or (0.0, 1.0)
    least, most = product_interval((middle, low, high), (count / independent, *share), size)
    early = len(plan.look_sizes) > 1
    if len(moved) > 1 or not early:  # the walk takes the sizes of its steps as given
        numbers = [str(number) for number, of in enumerate(plan.groups) for _ in range(of)]
        valid = [(index, change) for index, change in enumerate(changes) if change is not None]
        low_usual, high_usual = change_interval(
            [change for _, change in valid],
            groups=[numbers[index] for index, _ in valid if numbers],
        ) or (-1.0, 1.0)
        least = min(least, low_usual) if early else low_usual
        most = max(most, high_usual) if early else high_usual
    # The interval is on the side of 0 that the exact test of the signs is on.
    least = max(least, low * share[0] * size) if why == "better" else min(least, 0.0)
    if high < 0:
        most = min(most, high * share[0] * size)
    return {
        "p": min(1.0, p), "adjusted": middle * size * count / independent, "ci95": (least, most),
    }  # fmt: skip
