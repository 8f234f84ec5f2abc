"""A paired comparison that looks at the results in batches and stops as soon as they suffice.

Method: group sequential test with error spending (Lan and DeMets 1983). Given how much each task
changed, the signs of the changes are fair coins under the null hypothesis, so boundaries and
p-values are exact binomial (several attempts per task: sign-flip) probabilities, whatever share of
the tasks changes. Both errors are spent in proportion to the tasks seen. The rule for giving up
costs power, never validity: who goes on regardless keeps the promised false acceptance.

Tasks of a group pass and fail together: then whole groups are run one after another, a look ends
with a group, and the walk takes one step a group, the sum of its changes.

Signs are fair coins if the candidate changes nothing. One that helps many tasks a little and
breaks a few has no effect on average either, but gains that are likelier than losses as long as no
broken task was seen; so with several attempts a task boundaries are raised by what skewness adds.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache, cached_property
from itertools import accumulate, cycle, pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from harness.core import Value
from harness.stats.walk import (
    Operating,
    exits,
    skewness,
    spending_boundaries,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Tasks, and groups, that a look adds at least: fewer decide nothing and leave workers idle.
SMALLEST_LOOK, FEWEST_GROUPS = 10, 4
# Simulated sequences of discordant counts for up to 200 tasks, and for many: they vary less.
PATHS, FEW_PATHS = 1000, 30
# Simulated comparisons behind a figure of several attempts a task, or of groups: its standard error
# is 2.5 points at most.
COMPARISONS = 400
# Part of 1 - power that giving up may cost; the rest is lost for want of tasks. With it the plan's
# default, 200 tasks, keeps 80 % power.
FUTILITY_SHARE = 0.45
# Changes are counted in units of 1/60 at the finest; up to six attempts that is exact.
MOST_UNITS = 60
NEVER = -(2**40)
# Attempts a task that small suites are advised to make.
REPEATS = 4
# Correlation of the changes of two tasks of a group that a plan expects.
LIKENESS = 0.2
# Share of a group of usual size that is counted as lost beside those seen; of a task, all.
LOST = 0.5
# Of the correction for skewed changes: from few tasks their skewness is estimated too small.
SKEW_WEIGHT = 1.5


class SequentialPlan(Value):
    """Plan of a comparison of a candidate with its seed, made before anything is run.

    Attributes:
        tasks: tasks at hand, the most that are run.
        groups: number of tasks of each group, in the order in which groups are run; nothing where
            tasks are independent.
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
    groups: tuple[int, ...] = ()
    looks: int = Field(default=10, ge=1)
    alpha: float = Field(default=0.025, gt=0, lt=0.5)
    candidates: int = Field(default=1, ge=1)
    power: float = Field(default=0.8, gt=0, lt=1)
    lift: float = Field(default=0.10, gt=0, lt=1)
    discordance: float = Field(default=0.25, gt=0, le=1)
    epochs: int = Field(default=1, ge=1)

    @cached_property
    def look_sizes(self) -> tuple[int, ...]:
        """Tasks seen at each look, cumulative."""
        most = min(self.looks, self.tasks // SMALLEST_LOOK)
        if self.groups:
            most = min(most, len(self.groups) // FEWEST_GROUPS)
        looks = max(1, most)
        sizes = [round(self.tasks * (look + 1) / looks) for look in range(looks)]
        ends = list(accumulate(self.groups))
        whole_groups = (
            next(end for end in ends if end >= size) if ends else size for size in sizes
        )
        return tuple(dict.fromkeys(whole_groups))

    @model_validator(mode="after")
    def _groups_hold_the_tasks(self) -> SequentialPlan:
        if self.groups and (sum(self.groups) != self.tasks or min(self.groups) < 1):
            raise ValueError(f"expected groups of {self.tasks} tasks in all, got {self.groups!r}")
        return self

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
    @cache  # noqa: B019  # plans are values: equal ones, of which there are few, are simulated once
    def operating(self) -> Operating:
        """Power and average size, exact given the discordant counts, which are simulated.

        With several attempts a task it is the power at best: they differ from one another as the
        results of different tasks do.
        """
        import numpy as np

        if self.epochs > 1 or self.groups:
            # Every attempt changes as the only one would: with the plan's discordance, up or down
            # by its lift, whatever the other attempts at the task do. Tasks whose attempts are
            # alike gain less. Tasks of a group do the same as another one of it with a probability
            # that makes their changes as alike as the plan expects.
            power, size = _decided(self, self.lift)
            by_chance, size_null = _decided(self, 0.0)
            return Operating(
                power=power, false_acceptance=by_chance, tasks_null=size_null, tasks_lift=size
            )

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
        if self.groups and (tasks := changed.get("tasks")):  # more or fewer groups of these sizes
            ends = [0]
            for size in cycle(self.groups):
                if ends[-1] == tasks:
                    break
                ends.append(min(tasks, ends[-1] + size))
            changed["groups"] = tuple(b - a for a, b in pairwise(ends))
        return SequentialPlan.model_validate({**self.model_dump(), **changed})

    def __str__(self) -> str:
        """A few sentences, for before anything is spent."""
        does, size = self.operating, len(self.look_sizes)
        points, few = f"{100 * self.lift:+.0f} points", does.power < self.power
        among = "" if self.candidates == 1 else f" among {self.candidates} candidates"
        attempts, best = (
            (f", {self.epochs} attempts each,", "up to ") if self.epochs > 1 else ("", "")
        )
        looks = f"in at most {size} looks" if size > 1 else "in 1 look"
        kinds = f" of {len(self.groups)} groups" if self.groups else ""
        text = f"{self.tasks} tasks{kinds}{attempts} {looks} find "
        lift, power = (self.detectable, self.power) if few else (self.lift, does.power)
        if lift is None:
            text += f"no gain with {power:.0%} power"
        else:
            gain = f"a gain of {100 * lift:.0f} points" if few else points
            share = max(self.discordance, lift)
            text += f"{gain} with {best}{power:.0%} power, if {share:.0%} of the results change"
            text += f" and those of a group are alike by {LIKENESS:g}" if self.groups else ""
        text += f". A skill without effect{among} is accepted with at most {100 * self.alpha:g}%"
        if size > 1:
            text += f". The gate stops on average after {does.tasks_null:.0f} tasks without an "
            text += f"effect, after {does.tasks_lift:.0f} with one{f' of {points}' if few else ''}"
        if few and self.groups:
            text += f". To find {points}, {self.power:.0%} power needs {self.required} tasks of "
            text += "more groups"
        elif few and self.epochs == 1:
            often = self.at(epochs=REPEATS)
            if often.operating.power >= self.power:
                text += f". {REPEATS} attempts each would find {points}"
            elif (less := often.detectable or 1.0) < (lift or 1.0):
                text += f". {REPEATS} attempts each would find a gain of {100 * less:.0f} points"
            text += f". To find {points}, {self.power:.0%} power needs {self.required} tasks"
        return text


def planned_size(sizes: Collection[int]) -> float:
    """Number of independent tasks that groups of these sizes count as, at :data:`LIKENESS`."""
    n = sum(sizes)
    return n / (1 + LIKENESS * (sum(size * size for size in sizes) / n - 1))


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
    if net is not None and (plan.epochs > 1 or plan.groups):
        spreads: Floats = np.sqrt(squares)
        heights: Floats = upper / np.maximum(spreads, 1)
        ends = np.searchsorted(np.cumsum(plan.groups), plan.look_sizes[:looks]) + 1
        count = np.broadcast_to(ends, seen.shape) if plan.groups else seen
        lost: Floats = (LOST if plan.groups else 1.0) * unit * seen / count
        added = skewness(squares, net, count, lost) * (2 * heights**2 + 1) / 6 * spreads
        upper = upper + np.ceil(SKEW_WEIGHT * added).astype(np.int64)
    return upper, spent, lower


def _decided(plan: SequentialPlan, lift: float) -> tuple[float, float]:
    """Share of comparisons that are accepted at a true lift, and tasks that they run on average."""
    import numpy as np

    psi = max(plan.discordance, plan.lift)
    up, down = (psi + lift) / 2, (psi - lift) / 2
    rng = np.random.default_rng(20260325)
    draws = rng.random((COMPARISONS, plan.tasks, plan.epochs))
    if plan.groups:
        index = np.repeat(np.arange(len(plan.groups)), plan.groups)
        shared = rng.random((COMPARISONS, len(plan.groups), plan.epochs))[:, index]
        draws = np.where(rng.random((COMPARISONS, plan.tasks, 1)) < LIKENESS**0.5, shared, draws)
    accepted, size = stopped(plan, (draws < up).sum(axis=2) - (draws > 1 - down).sum(axis=2))
    return float(accepted.mean()), float(size.mean())


def stopped(plan: SequentialPlan, differences: Ints) -> tuple[Bools, Ints]:
    """Run the plan on many comparisons; return which are accepted, and their tasks [comparisons].

    Args:
        plan: of all of them.
        each: attempts by which a task changes, in the order of the run [comparisons, tasks].
    """
    import numpy as np

    ends, paths = (0, *plan.look_sizes), np.arange(len(differences), dtype=np.int64)
    borders = np.cumsum((0, *(plan.groups or (1,) * plan.tasks)[:-1]))  # first task of a step
    moved: Ints = np.add.reduceat(differences, borders, axis=1)
    values = range(1, max(plan.epochs, int(np.abs(moved).max())) + 1)
    steps = np.searchsorted(borders, ends)
    gains, losses = (
        np.stack(
            [
                np.stack([(sign * moved[:, a:b] == value).sum(axis=1) for value in values], axis=1)
                for a, b in pairwise(steps)
            ],
            axis=1,
        )
        for sign in (1, -1)
    )
    sums = differences.cumsum(axis=1)[:, np.asarray(plan.look_sizes) - 1]
    seen = np.broadcast_to(np.asarray(plan.look_sizes), sums.shape)
    upper, _, lower = walk_boundaries(plan, gains + losses, seen, plan.epochs, gains - losses)
    above, out = sums >= upper, (sums >= upper) | (sums <= lower)
    out[:, -1] = True
    stop = out.argmax(axis=1)
    return above[paths, stop], np.asarray(plan.look_sizes)[stop]
