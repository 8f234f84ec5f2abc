"""One evolution: what it was asked, what it works with, and how far it has come."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from harness.core import Trajectory, Usage, Value
from harness.evals import ItemRecord, Tally
from harness.evolve.analysts.single import Reading
from harness.evolve.artifacts import Shelf
from harness.evolve.gate import gate_plan
from harness.evolve.merge.contrast import Contrast
from harness.evolve.merge.similarity import warm
from harness.evolve.runs import Runs
from harness.evolve.types import AnalystType, EvolveOptions
from harness.models import Model
from harness.skills import Execute, Skill
from harness.stats import SequentialPlan

Evaluate = Callable[[Path | None, tuple[str, ...]], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs the gate's tasks of these ids with a skill directory, or with none."""
Rollouts = Callable[[], Coroutine[Any, Any, tuple[Path, Usage]]]
Read = Callable[[Trajectory, AnalystType], Coroutine[Any, Any, Reading]]
Trials = Callable[[Path | None, str], Coroutine[Any, Any, list[ItemRecord]]]
"""Runs the trial tasks of a selection with a skill directory, or with none, under a label."""
ResultT = TypeVar("ResultT")
State = Mapping[str, Any]
"""What a stage is given: the graph's state, JSON only."""
Update = dict[str, Any]


class Event(Value):
    """Progress: `done` of `total` units of a stage (0 of 0 for a message alone)."""

    stage: str
    message: str = ""
    done: int = 0
    total: int = 0


def tally_event(label: str, tally: Tally) -> Event:
    """The state of an eval run as an event of the evolution."""
    state = f"{tally.failed} failed, {tally.invalid} invalid, {tally.usage.tokens:,} tokens"
    return Event(stage=label, done=tally.done, total=tally.total, message=state)


async def detached(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Await `work` outside of the graph that is running.

    A graph that is started inside a node counts as a part of it and would write its checkpoints
    among those of the evolution. Agents and analysts are graphs of their own.
    """
    return await asyncio.create_task(work, context=contextvars.Context())


@dataclass
class Evolution:
    """The runtime context of `graphs/trace2skill.py`: what the stages work with.

    What they make lies on the shelf, so that another process can go on from a checkpoint.

    Attributes:
        options: what was asked for.
        seed: the frozen skill that every analyst reads and the result starts from.
        shelf: values that the state names by digest.
        rollouts: makes the trajectories; None where they are given.
        read: the analyst; None where none is needed.
        mapper: writes patches from records; None for the records' own lessons.
        merger: merges patches; None for the deterministic merge.
        trial: runs the tasks that sets of lessons are selected on.
        evaluate: runs tasks of the gate.
        execute: runs a command in a sandbox, to try the scripts of a skill.
        gate_tasks: ids of the tasks that the gate has at hand.
        simulated: whether a model that is asked is a simulated one.
        sample: of failed and passed runs, once :meth:`contrast` was called.
        done: analysts that have finished, of `total`, for the progress.
    """

    options: EvolveOptions
    seed: Skill
    shelf: Shelf = field(default_factory=Shelf)
    rollouts: Rollouts | None = None
    read: Read | None = None
    mapper: Model | None = None
    merger: Model | None = None
    trial: Trials | None = None
    evaluate: Evaluate | None = None
    execute: Execute | None = None
    gate_tasks: tuple[str, ...] = ()
    simulated: bool = False
    progress: Callable[[Event], None] = lambda event: None
    done: int = 0
    total: int = 0
    sample: Contrast | None = None
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def contrast(self, state: State) -> Contrast:
        """What failed and passed runs show, to judge evidence by."""
        with self._reading:
            if self.sample is None:
                self.sample = Contrast.of(self.runs(state).runs, self.shelf)
            return self.sample

    def runs(self, state: State) -> Runs:
        """The trajectories that the state names."""
        return self.shelf.hold(state["runs"], Runs)

    def read_so_far(self) -> None:
        """Say that one more analyst has finished; the first one leaves time for imports."""
        if not self.done:
            threading.Thread(target=warm, name="imports", daemon=True).start()
        self.done += 1
        self.progress(Event(stage="analysts", done=self.done, total=max(self.done, self.total)))

    @property
    def plan(self) -> SequentialPlan | None:
        """How the gate will decide; None where nothing is gated."""
        if self.evaluate is None or not self.gate_tasks:
            return None
        return gate_plan(self.options, len(self.gate_tasks))

    @property
    def exemplar(self) -> bool:
        """Whether worked examples are made instead of lessons."""
        return self.options.analyst == "exemplar" and self.options.patches is None

    @property
    def skill_dir(self) -> Path:
        """Where the evolved skill is written."""
        return self.options.out / "skill" / self.seed.name
