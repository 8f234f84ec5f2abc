"""A paired comparison that looks at the results in batches and stops as soon as they suffice.

Method: group sequential test with error spending (Lan and DeMets 1983). Given how much each task
changed, the signs of the changes are fair coins under the null hypothesis, so boundaries and
p-values are exact binomial (several attempts per task: sign-flip) probabilities, whatever share of
the tasks changes. Both errors are spent in proportion to the tasks seen. The rule for giving up
costs power, never validity: who goes on regardless keeps the promised false acceptance.
"""

from __future__ import annotations

import math
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pydantic import Field

from harness.core import Value
from harness.evals.walk import exits, spending_boundaries

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SMALLEST_LOOK = 10
"""Tasks that a look adds at least: fewer decide nothing and leave workers idle."""
PATHS = 1000
"""Simulated sequences of discordant counts behind the figures of a plan."""
FUTILITY_SHARE = 0.45
"""Part of 1 - power that giving up may cost; the rest is lost for want of tasks. With it the
plan's default, 200 tasks, keeps 80 % power."""
MOST_UNITS = 60
"""Changes are counted in units of 1/60 at the finest; up to six attempts that is exact."""
NEVER = -(2**40)


class Operating(Value):
    """What a plan does on average, at its discordance.

    Attributes:
        power: probability of accepting a candidate whose true lift is the plan's.
        false_acceptance: probability of accepting a candidate without effect.
        tasks_null: tasks run on average without effect.
        tasks_lift: tasks run on average at the plan's lift.
    """

    power: float
    false_acceptance: float
    tasks_null: float
    tasks_lift: float


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
        """Power and average size, exact given the discordant counts, which are simulated."""
        import numpy as np

        sizes = np.asarray(self.look_sizes)
        added = np.diff(sizes, prepend=0)
        psi = max(self.discordance, self.lift)
        rng = np.random.default_rng(20260325)
        counts = rng.binomial(added, psi, size=(PATHS, len(added)))[:, :, None]
        seen = np.broadcast_to(sizes, counts.shape[:2])
        upper, _, lower = boundaries(self, counts, seen, 1)
        found: list[float] = []
        for lift in (0.0, self.lift):
            out = exits(counts, upper, lower, np.full(PATHS, (1 + lift / psi) / 2))
            early = (out.up + out.down)[:, :-1]
            average = early @ sizes[:-1] + (1 - early.sum(axis=1)) * self.tasks
            found += [float(out.up.sum(axis=1).mean()), float(average.mean())]
        return Operating(
            false_acceptance=found[0], tasks_null=found[1], power=found[2], tasks_lift=found[3]
        )

    @cached_property
    def detectable(self) -> float | None:
        """Smallest lift found with the wanted power; None if even `discordance` is too small."""
        low, high = 0.0, self.discordance
        if self.at(lift=min(high, 0.999)).operating.power < self.power:
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
        """One sentence, for before anything is spent."""
        does, size = self.operating, len(self.look_sizes)
        many = "" if self.candidates == 1 else f" among {self.candidates} candidates"
        text = (
            f"{self.tasks} tasks in at most {size} {'look' if size == 1 else 'looks'} find "
            f"{100 * self.lift:+.0f} points with {does.power:.0%} power if "
            f"{self.discordance:.0%} of the results change, accept one without effect{many} with "
            f"at most {self.alpha:.0%}, and stop on average after {does.tasks_null:.0f} tasks "
            f"without effect and {does.tasks_lift:.0f} with it"
        )
        if does.power < self.power:
            text += f"; {self.power:.0%} power needs {self.required} tasks"
        return text


def boundaries(
    plan: SequentialPlan, sizes: Ints, seen: Ints, unit: int
) -> tuple[Ints, Floats, Floats]:
    """Boundaries of the summed change, in units, for many paths at once.

    Giving up needs two things: the planned lift is contradicted, and the trend so far, carried on
    to the last task, would not be significant.

    Args:
        plan: the plan.
        sizes: [paths, looks, unit]; tasks of each look that changed by s + 1 units.
        seen: [paths, looks]; valid tasks up to each look.
        unit: units of a whole change, from fail to pass.

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
    return upper, spent, lower
