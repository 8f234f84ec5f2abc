"""One world at one rate of analyst errors: what every method is shown, and what rivals may call."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness.core import Task, digest
from harness.evolve import AnalystRecord
from lab.worlds import (
    Attempt,
    Judge,
    World,
    WorldTask,
    analyse,
    attempt,
    hear,
    meaning,
    tasks,
    visible,
)


class BudgetSpent(Exception):
    """The method has made all calls that it was given."""


@dataclass(frozen=True)
class Case:
    """Case that is shown to every method.

    Attributes:
        world: what is planted.
        error: rate of analyst errors.
        train: number of tasks to learn from.
        held_out: number of tasks to be judged on.
        skills: of ours, by the signal that they were evolved from; filled as they are asked for.
    """

    world: World
    error: float
    train: int
    held_out: int
    skills: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def tasks(self) -> Sequence[WorldTask]:
        """The train tasks."""
        return tasks(self.world, self.train, "train")

    @cached_property
    def attempts(self) -> list[Attempt]:
        """The attempts at the train tasks without a skill."""
        return [attempt(self.world, task) for task in self.tasks]

    @cached_property
    def records(self) -> list[AnalystRecord]:
        """Return the analysts' records of the runs, one each."""
        return [analyse(self.world, run, self.error) for run in self.attempts]

    @cached_property
    def judge(self) -> Judge:
        """Judges skills on the held-out tasks."""
        held_out = tasks(self.world, self.held_out, "held-out")
        return Judge(self.world, held_out, visible(self.attempts))


@dataclass(frozen=True)
class Tried:
    """An attempt as a rival sees it."""

    task: Task
    passed: bool
    attempt: Attempt

    @property
    def answer(self) -> str:
        """The last that the agent wrote."""
        return self.attempt.lines[-1]


@dataclass
class Arena:
    """Attempts and analyses for a rival, with its calls counted.

    Attributes:
        case: the world, the rate of errors and the train tasks.
        budget: calls that a method may make; one more raises :class:`BudgetSpent`.
        calls: calls that it has made.
    """

    case: Case
    budget: int
    calls: int = 0
    _seen: dict[str, Tried] = field(default_factory=dict[str, Tried])

    @property
    def seed(self) -> int:
        """Seed of the rival's own draws."""
        return self.case.world.seed

    @cached_property
    def train(self) -> tuple[Task, ...]:
        """Tasks that a method may attempt."""
        return tuple(task.task for task in self.case.tasks)

    @cached_property
    def _tasks(self) -> dict[str, WorldTask]:
        return {task.task.id: task for task in self.case.tasks}

    def attempt(self, skill: str, task: Task) -> Tried:
        """One call of the agent; the same attempt again is answered from memory, uncounted."""
        key = digest([skill, task.id])
        if key not in self._seen:
            self._count()
            world = self.case.world
            run = attempt(world, self._tasks[task.id], hear(world, skill))
            self._seen[key] = Tried(task, run.passed, run)
        return self._seen[key]

    def lessons(self, tried: Tried) -> list[str]:
        """One call of the analyst: its lessons from an attempt, true or not."""
        self._count()
        record = analyse(self.case.world, tried.attempt, self.case.error)
        return [item.lesson for item in record.items]

    def meaning(self, line: str) -> Hashable:
        """Return one key for lines of one meaning, as a model that joins them would. Uncounted."""
        return meaning(self.case.world, line)

    def _count(self) -> None:
        if self.calls >= self.budget:
            raise BudgetSpent
        self.calls += 1
