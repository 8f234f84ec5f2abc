"""A paired comparison that looks at the results in batches and stops as soon as they suffice.

Method: group sequential test with error spending (Lan and DeMets 1983). Given how much each task
changed, the signs of the changes are fair coins under the null hypothesis, so boundaries and
p-values are exact binomial (several attempts per task: sign-flip) probabilities, whatever share of
the tasks changes. Both errors are spent in proportion to the tasks seen. The rule for giving up
costs power, never validity: who goes on regardless keeps the promised false acceptance.

Signs are fair coins if the candidate changes nothing. One that helps many tasks a little and
breaks a few has no effect on average either, but gains that are likelier than losses as long as no
broken task was seen; so with several attempts a task boundaries are raised by what skewness adds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from harness.core import BadInput, Value
from harness.stats.intervals import change_interval, product_interval, wilson
from harness.stats.walk import (
    Operating,
    Stopped,
    exits,
    more_extreme,
    skewness,
    spending_boundaries,
    walk_quantile,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SMALLEST_LOOK = 10
"""Tasks that a look adds at least: fewer decide nothing and leave workers idle."""
PATHS, FEW_PATHS = 1000, 30
"""Simulated sequences of discordant counts for up to 200 tasks, and for many: they vary less."""
FUTILITY_SHARE = 0.45
"""Part of 1 - power that giving up may cost; the rest is lost for want of tasks. With it the
plan's default, 200 tasks, keeps 80 % power."""
MOST_UNITS = 60
"""Changes are counted in units of 1/60 at the finest; up to six attempts that is exact."""
NEVER = -(2**40)
REPEATS = 4
"""Attempts a task that small suites are advised to make."""
SKEW_WEIGHT = 1.5
"""Of the correction for skewed changes: from few tasks their skewness is estimated too small."""

Verdict = Literal["accept", "reject", "need more", "not gated"]
Why = Literal["", "better", "worse", "futile", "end"]


class SequentialPlan(Value):
    """How a candidate will be compared with its seed; decided before anything is run.

    Attributes:
        tasks: tasks at hand, the most that are run.
        looks: looks at most; a look adds at least ten tasks.
        alpha: probability of accepting any of the candidates if none is better (one-sided).
        candidates: candidates that are or may be tested; each gets alpha / candidates (Bonferroni,
            because they are decided one after another).
        power: power wanted at `lift`.
        lift: true gain that is worth finding.
        discordance: expected share of tasks whose result changes; validity does not depend on it.
        epochs: attempts per task.
    """

    tasks: int = Field(ge=1)
    looks: int = Field(default=10, ge=1)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    candidates: int = Field(default=1, ge=1)
    power: float = Field(default=0.8, gt=0, lt=1)
    lift: float = Field(default=0.10, gt=0, lt=1)
    discordance: float = Field(default=0.25, gt=0, le=1)
    epochs: int = Field(default=1, ge=1)

    @cached_property
    def look_sizes(self) -> tuple[int, ...]:
        """Tasks seen at each look, cumulative."""
        looks = max(1, min(self.looks, self.tasks // SMALLEST_LOOK))
        return tuple(round(self.tasks * (look + 1) / looks) for look in range(looks))

    @property
    def unit(self) -> int:
        """Smallest change of a task is 1 / unit; invalid attempts leave fewer than `epochs`."""
        return min(MOST_UNITS, math.lcm(*range(1, min(self.epochs, 6) + 1)))

    @cached_property
    def futility_levels(self) -> tuple[float, ...]:
        """Standard deviations below the planned lift at which a look gives up.

        The levels are those of a walk of 400 fair coins.
        """
        import numpy as np

        ends = np.rint(400 * np.asarray(self.look_sizes) / self.tasks).astype(np.int64)
        steps = np.diff(ends, prepend=0)[None, :, None]
        bounds, _ = spending_boundaries(steps, FUTILITY_SHARE * (1 - self.power) * ends / 400)
        # The boundary is the first sum outside; sums lie two apart.
        return tuple(((bounds[0] - 1) / np.sqrt(ends)).tolist())

    @cached_property
    def operating(self) -> Operating:
        """Power and average size, exact given the discordant counts, which are simulated.

        With several attempts a task it is the power at best: they differ from one another as the
        results of different tasks do.
        """
        import numpy as np

        if self.epochs > 1:
            from harness.stats.repeats import operating

            return operating(self)

        sizes = np.asarray(self.look_sizes)
        added = np.diff(sizes, prepend=0)
        psi = max(self.discordance, self.lift)
        rng = np.random.default_rng(20260325)
        paths = min(PATHS, max(FEW_PATHS, round(PATHS * (200 / self.tasks) ** 2)))
        counts = rng.binomial(added, psi, size=(paths, len(added)))[:, :, None]
        seen = np.broadcast_to(sizes, counts.shape[:2])
        upper, _, lower = walk_boundaries(self, counts, seen, 1)
        figures: list[float] = []
        for lift in (0.0, self.lift):
            out = exits(counts, upper, lower, np.full(paths, (1 + lift / psi) / 2))
            early = (out.up + out.down)[:, :-1]
            average = early @ sizes[:-1] + (1 - early.sum(axis=1)) * self.tasks
            figures += [float(out.up.sum(axis=1).mean()), float(average.mean())]
        false_acceptance, tasks_null, power, tasks_lift = figures
        return Operating(
            false_acceptance=false_acceptance, tasks_null=tasks_null,
            power=power, tasks_lift=tasks_lift,
        )  # fmt: skip

    @cached_property
    def detectable(self) -> float | None:
        """Smallest lift found with the wanted power; None if none is. Above `discordance`, as many
        results change as the lift takes."""
        low, high = 0.0, 0.999
        if self.at(lift=high).operating.power < self.power:
            return None
        while high - low > 0.001:
            middle = (low + high) / 2
            low, high = (
                (low, middle)
                if self.at(lift=middle).operating.power >= self.power
                else (middle, high)
            )
        return high

    @cached_property
    def required(self) -> int:
        """Tasks that the same plan needs for the wanted power at `lift` (to about 2 %)."""
        low, high = 0, self.tasks
        while self.at(tasks=high).operating.power < self.power:
            low, high = high, 2 * high
        while high - low > max(1, high // 50):
            middle = (low + high) // 2
            low, high = (
                (low, middle)
                if self.at(tasks=middle).operating.power >= self.power
                else (middle, high)
            )
        return high

    def at(self, **changed: Any) -> SequentialPlan:
        """The plan with other values; figures are computed anew."""
        # model_copy would keep the cached ones.
        return SequentialPlan.model_validate({**self.model_dump(), **changed})

    def __str__(self) -> str:
        """A few sentences, for before anything is spent."""
        does, size = self.operating, len(self.look_sizes)
        points, few = f"{100 * self.lift:+.0f} points", does.power < self.power
        among = "" if self.candidates == 1 else f" among {self.candidates} candidates"
        each, best = (f", {self.epochs} attempts each,", "up to ") if self.epochs > 1 else ("", "")
        looks = f"in at most {size} looks" if size > 1 else "in 1 look"
        text = f"{self.tasks} tasks{each} {looks} find "
        lift, power = (self.detectable, self.power) if few else (self.lift, does.power)
        if lift is None:
            text += f"no gain with {power:.0%} power"
        else:
            gain = f"a gain of {100 * lift:.0f} points" if few else points
            share = max(self.discordance, lift)
            text += f"{gain} with {best}{power:.0%} power, if {share:.0%} of the results change"
        text += f". A skill without effect{among} is accepted with at most {self.alpha:.0%}"
        if size > 1:
            text += f". The gate stops on average after {does.tasks_null:.0f} tasks without an "
            text += f"effect, after {does.tasks_lift:.0f} with one{f' of {points}' if few else ''}"
        if few and self.epochs == 1:
            often = self.at(epochs=REPEATS)
            if often.operating.power >= self.power:
                text += f". {REPEATS} attempts each would find {points}"
            elif (less := often.detectable or 1.0) < (lift or 1.0):
                text += f". {REPEATS} attempts each would find a gain of {100 * less:.0f} points"
            text += f". To find {points}, {self.power:.0%} power needs {self.required} tasks"
        return text


def walk_boundaries(
    plan: SequentialPlan, sizes: Ints, seen: Ints, unit: int, net: Ints | None = None
) -> tuple[Ints, Floats, Floats]:
    """Boundaries of the summed change, in units, for many paths at once.

    Giving up needs two things: the planned lift is contradicted, and the trend so far, carried on
    to the last task, would not be significant.

    Args:
        plan: the plan.
        sizes: [paths, looks, unit]; tasks of each look that changed by s + 1 units.
        seen: [paths, looks]; valid tasks up to each look.
        unit: units of a whole change, from fail to pass.
        net: [paths, looks, unit]; those of `sizes` that went up less those that went down. Without
            it, and with one attempt a task, changes are taken to be symmetric without effect.

    Returns:
        Accept at or above the first [paths, looks]; probability spent so far [paths, looks]; give
        up at or below the last (none at the last look).
    """
    import numpy as np

    looks = sizes.shape[1]
    share = np.asarray(plan.look_sizes[:looks]) / plan.tasks
    level = plan.alpha / plan.candidates
    upper, spent = spending_boundaries(sizes, level * share)
    steps = np.arange(1, sizes.shape[2] + 1, dtype=np.int64)
    squares: Ints = np.cumsum(sizes @ steps**2, axis=1)
    lift = plan.lift * unit
    # A mean change of L units needs a mean square of at least L (no change is below one unit)
    # and of at least L squared.
    square: Floats = np.maximum(squares / np.maximum(seen, 1), max(lift, lift**2))
    spread: Floats = np.sqrt(seen * (square - lift**2))
    lower = lift * seen - np.asarray(plan.futility_levels[:looks]) * spread
    trend: Floats = NormalDist().inv_cdf(1 - level) * np.sqrt(share * squares)
    lower = np.minimum(lower, np.nextafter(trend, -np.inf))
    if looks == len(plan.look_sizes):
        lower[:, -1] = NEVER
    if net is not None and plan.epochs > 1:
        spreads: Floats = np.sqrt(squares)
        heights: Floats = upper / np.maximum(spreads, 1)
        added = skewness(squares, net, seen, unit) * (2 * heights**2 + 1) / 6 * spreads
        upper = upper + np.ceil(SKEW_WEIGHT * added).astype(np.int64)
    return upper, spent, lower


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
        ci95: 95 % interval of the lift in the same ordering; None while it goes on. With a single
            look, which cannot stop early, `difference` and its interval as of any two runs.
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
        moved = walk.sizes.sum() / max(1, n)
        actual = plan.at(tasks=max(1, n), discordance=min(1.0, max(moved, plan.lift)))
        powerful = n > 0 and actual.operating.power >= plan.power
        verdict, why = "reject" if powerful else "not gated", "end"
    if n == 0:
        return decision.model_copy(update={"verdict": verdict, "why": why})
    # The walks are mirror images: as improbable a loss as the gain that would be accepted.
    if why != "better" and -total >= upper[0, look]:
        why = "worse"
    stop = Stopped(walk.sizes, upper, lower, np.asarray([look]), np.asarray([total]))
    estimates = _estimates(plan, walk, stop, why)
    if looks == 1:
        ci95 = change_interval([change for change in changes if change is not None])
        estimates |= {"adjusted": decision.difference, "ci95": ci95}
    return decision.model_copy(update={"verdict": verdict, "why": why, **estimates})


class _Walk(NamedTuple):
    """The changes of one comparison in whole units: of `unit` to a change from fail to pass.

    Attributes:
        unit: units of a whole change.
        sizes: tasks that changed by s + 1 units at each look [1, looks, unit].
        net: of them, those that went up less those that went down [1, looks, unit].
        sums: summed change up to each look [looks].
        tasks: valid tasks up to each look [looks].
    """

    unit: int
    sizes: Ints
    net: Ints
    sums: Ints
    tasks: Ints


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
    sizes, net = np.zeros((2, 1, len(ends), unit), dtype=np.int64)
    sums, tasks = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends), dtype=np.int64)
    for index, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
        for step in steps[start:end]:
            tasks[index] += step is not None
            if step:
                sums[index] += step // shared
                sizes[0, index, abs(step) // shared - 1] += 1
                net[0, index, abs(step) // shared - 1] += 1 if step > 0 else -1
    return _Walk(unit, sizes, net, sums.cumsum(), tasks.cumsum())


def _estimates(plan: SequentialPlan, walk: _Walk, stop: Stopped, why: Why) -> dict[str, object]:
    import numpy as np

    p = float(more_extreme(stop, np.full(1, 0.5), binding=False)[0][0])
    if why != "better":
        # Going on could still have spent the rest, and so would changes without skew.
        p = max(p, plan.alpha / plan.candidates)
    n = int(walk.tasks[-1])
    moved = walk.sizes.sum(axis=(0, 1))
    count = int(moved.sum())
    if count == 0:
        return {"p": 1.0, "adjusted": 0.0}
    size = float(moved @ np.arange(1, walk.unit + 1)) / walk.unit / count
    middle, low, high = (
        2 * float(walk_quantile(stop, probability, weight)[0]) - 1
        for probability, weight in ((0.5, 0.5), (0.025, 1.0), (0.975, 0.0))
    )
    share = wilson(count, n) or (0.0, 1.0)
    return {
        "p": min(1.0, p),
        "adjusted": middle * size * count / n,
        "ci95": product_interval((middle, low, high), (count / n, *share), size),
    }
