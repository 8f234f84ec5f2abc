"""Plan of an audit and its detectable effects, fixed before the first call."""

from __future__ import annotations

from pydantic import Field

from harness.core import BadInput, Value
from harness.stats import alone, critical, half_subsets, normal_boundaries, z_of

LOOKS = (0.5, 0.75, 1.0)
"""Shares of the rollouts at which an audit may stop."""
VARIANCE = 0.2
"""Assumed variance of a rollout's result within its task, where a coin has 0.25: tasks differ."""
SPREAD = 0.3
"""Standard deviation of a unit's effect between tasks, where these differ much."""
LEAST_TASKS = 8
"""Fewer say nothing about tasks like them."""
LEAST_OF_GROUP, ROLLOUTS = 5, 4
"""Tasks of a group, and rollouts a unit (less those of the intercepts). With fewer, standard errors
are far too small: up to 84 % of simulated units without any effect got a verdict."""


class AuditPlan(Value):
    """The plan of an audit.

    Attributes:
        units: how many units are judged.
        tasks: how many tasks are run.
        pairs: complementary pairs of rollouts in all.
        alpha: probability that any interval of any unit misses.
        width: half-width that is narrow enough to stop, in probability; 0 for never.
        futility: stop when no unit that is open has this chance of a verdict any more; 0 for
            never.
        power: wanted for `detectable`.
        variance: assumed, of a result within its task.
        groups: that the tasks are in; 0 where they have none.
    """

    units: int = Field(ge=1)
    tasks: int = Field(ge=2)
    pairs: int = Field(ge=2)
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    width: float = Field(default=0.0, ge=0, lt=1)
    # Left out of records where it is 0: those of before are still what they were.
    futility: float = Field(default=0.0, ge=0, lt=1, exclude_if=lambda value: value == 0)
    power: float = Field(default=0.8, gt=0, lt=1)
    variance: float = Field(default=VARIANCE, gt=0, le=0.25)
    groups: int = Field(default=0, ge=0, exclude_if=lambda value: value == 0)

    @property
    def rollouts(self) -> int:
        """Rollouts at most."""
        return 2 * self.pairs

    @property
    def looks(self) -> tuple[int, ...]:
        """Rollouts at each look, whole pairs."""
        ends = (2 * round(share * self.pairs) for share in LOOKS)
        enough = (end for end in ends if end - min(self.tasks, end // 2) >= ROLLOUTS * self.units)
        return tuple(dict.fromkeys(enough))

    @property
    def values(self) -> tuple[float, ...]:
        """Normal critical values of the looks."""
        shares = tuple(end / self.rollouts for end in self.looks)
        return normal_boundaries(shares, self.alpha, self.units)

    @property
    def degrees(self) -> int:
        """Degrees of freedom at the end, if every rollout is valid."""
        return min((self.groups or self.tasks) - 1, self.rollouts - self.tasks - self.units)

    @property
    def error(self) -> float:
        """Expected standard error of an effect at the end: 2 sigma / sqrt(rollouts), enlarged by
        what intercepts of tasks and the other units take."""
        spare = max(1, self.rollouts - self.tasks - self.units)
        lost = (self.rollouts - self.tasks) / spare
        return 2 * (self.variance / self.rollouts * lost) ** 0.5

    @property
    def half_width(self) -> float:
        """Expected half-width of the intervals at the end, in probability."""
        return critical(self.values[-1], self.degrees) * self.error

    @property
    def detectable(self) -> float:
        """Smallest true effect that one look at the end finds with the wanted power."""
        return self.half_width + z_of(self.power) * self.error

    def detectable_in(self, tasks: int, rollouts: int, pairs: int) -> float:
        """The same for one group of tasks, where so many pairs of unit and group are looked at."""
        part = self.model_copy(update={"tasks": tasks, "pairs": rollouts // 2})
        degrees = min(tasks, self.groups or tasks) - 1
        return part.error * (alone(self.alpha, pairs * len(self.looks), degrees) + z_of(self.power))

    @property
    def spread(self) -> str:
        """Describe what to expect where a unit does more at some tasks than at others."""
        error = (self.error**2 + SPREAD**2 / (self.groups or self.tasks)) ** 0.5
        width = critical(self.values[-1], self.degrees) * error
        kind = "group" if self.groups else "task"
        return (
            f"+-{100 * width:.1f} where the effect of a line differs from {kind} to {kind} (with a "
            f"standard deviation of {100 * SPREAD:.0f} points): more {kind}s narrow that, more "
            "rollouts do not"
        )

    def __str__(self) -> str:
        looks = ", ".join(map(str, self.looks))
        groups = f" in {self.groups} groups" if self.groups else ""
        return (
            f"{self.units} units, {self.tasks} tasks{groups}, {self.rollouts} rollouts at most; "
            f"looks at {looks}; expected +-{100 * self.half_width:.1f} points for all units "
            f"together ({100 * (1 - self.alpha):.0f} %); an effect of {100 * self.detectable:.1f} "
            f"points is found with {100 * self.power:.0f} % power"
        )


def plan_audit(
    units: int,
    tasks: int,
    rollouts: int,
    *,
    width: float = 0.0,
    alpha: float = 0.05,
    futility: float = 0.0,
) -> AuditPlan:
    """Spread rollouts over tasks: as many tasks as possible, with two pairs each.

    Raises:
        BadInput: if that cannot tell the units apart.
    """
    pairs = rollouts // 2
    task_count = min(tasks, max(2, pairs // 2))
    if units < 1:
        raise BadInput("the skill has no unit to audit: nothing under its headings, no files")
    if tasks < LEAST_TASKS:
        raise BadInput(f"expected a suite of {LEAST_TASKS} tasks or more, got {tasks}")
    needed = max(2 * (units + LEAST_TASKS), -(-ROLLOUTS * units * 4 // 3))
    if rollouts < needed:
        raise BadInput(
            f"{rollouts} rollouts cannot tell {units} units apart: expected {needed} or more"
        )
    return AuditPlan(
        units=units, tasks=task_count, pairs=pairs, alpha=alpha, width=width, futility=futility
    )


class Rollout(Value):
    """One rollout of the design.

    Attributes:
        task: id of the task.
        pair: number of the pair at this task, from 0; both of a pair get the same seed.
        side: 0 or 1; the units of side 1 are those that side 0 lacks.
        units: numbers of the units that are in the skill.
    """

    task: str
    pair: int
    side: int
    units: tuple[int, ...]

    @property
    def epoch(self) -> int:
        """Number of the rollout at its task, from 0."""
        return 2 * self.pair + self.side

    @property
    def id(self) -> str:
        """Return the id in a run directory: `<task>` or `<task>@<epoch>`."""
        return self.task if self.epoch == 0 else f"{self.task}@{self.epoch}"


def design(tasks: tuple[str, ...], units: int, pairs: int, seed: int) -> tuple[Rollout, ...]:
    """The rollouts in the order in which they are run: round after round over all tasks.

    Args:
        tasks: ids, in the order of a round.
        units: how many units the skill has.
        pairs: pairs of rollouts in all; the last round may be cut short.
        seed: of the subsets.
    """
    rows = half_subsets(units, pairs, seed)
    rollouts: list[Rollout] = []
    for number, row in enumerate(rows.tolist()):
        pair, task = divmod(number, len(tasks))
        for side, present in enumerate((True, False)):
            numbers = tuple(unit for unit in range(units) if row[unit] is present)
            rollouts.append(Rollout(task=tasks[task], pair=pair, side=side, units=numbers))
    return tuple(rollouts)
