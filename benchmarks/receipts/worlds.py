"""Simulated skills with known effects for `audit_recovery.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNITS = 24
HARM = -0.10


class Tasks(NamedTuple):
    """Tasks of one audit: their log-odds without any unit's shift, and how units differ there.

    Attributes:
        odds: [tasks].
        slopes: added to the units' log-odds [tasks, units].
    """

    odds: Floats
    slopes: Floats


@dataclass(frozen=True)
class World:
    """A skill, a suite and a model, as probabilities.

    Attributes:
        number: of the world, for its seed.
        effects: wanted average effects of the units, in probability [units]; as log-odds they are
            scaled so that the first is exact.
        pairs: (unit, unit, added log-odds if both or neither are present, taken away if one is).
        tasks: number of tasks; each has `rollouts`.
        centre: mean log-odds of the tasks; `spread` is their standard deviation.
        slope: standard deviation over tasks of each unit's log-odds.
        invalid: share of rollouts that are invalid, at random.
    """

    name: str
    number: int
    effects: tuple[float, ...]
    pairs: tuple[tuple[int, int, float], ...] = ()
    tasks: int = 125
    rollouts: int = 12
    centre: float = 0.0
    spread: float = 1.0
    slope: float = 0.0
    invalid: float = 0.0

    @property
    def units(self) -> int:
        """Number of units of the skill."""
        return len(self.effects)

    @property
    def harmful(self) -> Ints:
        """Units of the largest planted harm."""
        return np.flatnonzero(np.asarray(self.effects) == min(self.effects)) if any(
            effect < 0 for effect in self.effects
        ) else np.zeros(0, dtype=np.int64)  # fmt: skip

    @property
    def inert(self) -> NDArray[np.bool_]:
        """Units without any effect, alone or with others [units]."""
        partners = {unit for a, b, _ in self.pairs for unit in (a, b)}
        return np.array([e == 0 and u not in partners for u, e in enumerate(self.effects)])

    def draw_tasks(self, rng: np.random.Generator, count: int | None = None) -> Tasks:
        """The tasks of one audit."""
        count = count or self.tasks
        odds = self.centre + self.spread * rng.standard_normal(count)
        return Tasks(odds, self.slope * rng.standard_normal((count, self.units)))

    def resized(self, tasks: int) -> World:
        """With as many tasks; rollouts as near to 12 a task."""
        return replace(self, name=f"{self.name}, {tasks} tasks", tasks=tasks)

    def scaled(self, scale: float) -> World:
        """With all effects so many times as large."""
        effects = tuple(scale * effect for effect in self.effects)
        return replace(self, name=f"{self.name}, {scale} x", effects=effects)

    def with_units(self, units: int) -> World:
        """With so many units: those without an effect are added or dropped first."""
        effects = (*self.effects, *(0.0 for _ in range(units)))[:units]
        return replace(self, name=f"{self.name}, {units} units", effects=effects)


def probabilities(world: World, drawn: Tasks, tasks: Ints, present: Ints) -> Floats:
    """Probability of a pass of each rollout."""
    signs = (2 * present - 1) / 2
    logits = _scale(world) * np.asarray(world.effects)
    odds = drawn.odds[tasks] + ((logits + drawn.slopes[tasks]) * signs).sum(axis=1)
    for first, second, size in world.pairs:
        odds = odds + size * 4 * signs[:, first] * signs[:, second]
    return 1 / (1 + np.exp(-odds))


@lru_cache(maxsize=64)
def truth(world: World) -> Floats:
    """Average effect of every unit over tasks and subsets of the others [units]."""
    rng = np.random.default_rng([7, world.number])
    draws: list[Floats] = []
    for _ in range(10):
        drawn = world.draw_tasks(rng, 4000)
        tasks = np.arange(4000)
        half = rng.integers(0, 2, (4000, world.units))
        # Complementary subsets take away what tasks and subsets vary in.
        for present in (half, 1 - half):
            changes = np.empty(world.units)
            for unit in range(world.units):
                with_it, without = present.copy(), present.copy()
                with_it[:, unit], without[:, unit] = 1, 0
                changes[unit] = float(
                    (
                        probabilities(world, drawn, tasks, with_it)
                        - probabilities(world, drawn, tasks, without)
                    ).mean()
                )
            draws.append(changes)
    mean = np.mean(draws, axis=0)
    mean[world.inert] = 0.0
    mean.flags.writeable = False
    return mean


@lru_cache(maxsize=64)
def _scale(world: World) -> float:
    """Log-odds for one unit of probability, so that the mean effect over tasks is as wanted."""
    rng = np.random.default_rng(11)
    odds = world.centre + world.spread * rng.standard_normal(20000)
    largest = max((abs(effect) for effect in world.effects), default=0.0)
    if not largest:
        return 1.0
    extra = np.asarray([e / largest for e in world.effects])
    low, high = 0.0, 60.0
    signs = rng.integers(0, 2, (20000, world.units)) - 0.5
    for _ in range(40):
        middle = (low + high) / 2
        shifts = middle * largest * extra
        log_odds = odds + signs @ shifts - signs[:, 0] * shifts[0]
        up, down = log_odds + abs(shifts[0]) / 2, log_odds - abs(shifts[0]) / 2
        gained = float((1 / (1 + np.exp(-up)) - 1 / (1 + np.exp(-down))).mean())
        low, high = (middle, high) if gained < abs(world.effects[0]) else (low, middle)
    return high


def worlds() -> dict[str, World]:
    """The worlds by name; 24 units, 125 tasks with 12 rollouts: 1,500 rollouts."""
    planted = (HARM, HARM, HARM, 0.10, 0.10, 0.10, -0.05, 0.05, *(0.0,) * 16)
    good = (0.10, 0.10, 0.10, 0.10, 0.05, 0.05, 0.05, 0.05, *(0.0,) * 16)
    clash = ((0, 3, 0.30), (8, 9, 0.45), (10, 11, -0.45))
    all_worlds = (
        World("nothing", 1, (0.0,) * UNITS),
        World("planted", 2, planted),
        World("interactions", 3, planted, pairs=clash),
        World("tasks differ", 4, planted, slope=0.6),
        World("hard suite", 5, planted, centre=-1.6, spread=0.7),
        World("one in ten invalid", 6, planted, invalid=0.1),
        World("40 tasks", 7, planted, tasks=40, rollouts=38, slope=0.3),
        World("375 tasks", 8, planted, tasks=375, rollouts=4),
        World("good skill", 9, good),
    )
    return {world.name: world for world in all_worlds}
