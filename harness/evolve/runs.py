"""The trajectories of an evolution: read once, then one at a time by digest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.core import Trajectory, Value
from harness.evolve.artifacts import Shelf
from harness.evolve.evidence import outcome, task_id
from harness.evolve.merge.wording import TermCounter


class Run(Value):
    """What the stages need to know of a trajectory without reading it.

    Attributes:
        id: the trajectory's.
        task_id: its task; support is counted in these.
        outcome: pass, fail, invalid, or "" where nothing was scored.
        simulated: whether a simulated model made it.
        digest: of the whole trajectory, on the shelf.
    """

    id: str
    task_id: str
    outcome: str
    simulated: bool
    digest: str


class Runs(Value):
    """All trajectories of an evolution, by id.

    Attributes:
        runs: one entry a trajectory.
        terms: words of the benchmark that no rule may hold.
    """

    runs: tuple[Run, ...] = ()
    terms: tuple[str, ...] = ()

    @property
    def tasks(self) -> dict[str, str]:
        """Trajectory id -> task id."""
        return {run.id: run.task_id for run in self.runs}

    def load(self, shelf: Shelf) -> Iterator[Trajectory]:
        """The trajectories themselves, one at a time."""
        return load(self.runs, shelf)


def load(runs: Sequence[Run], shelf: Shelf) -> Iterator[Trajectory]:
    """The trajectories of `runs`, one at a time."""
    return (shelf.get(run.digest, Trajectory) for run in runs)


def take_in(trajectories: Iterable[Trajectory], shelf: Shelf) -> Runs:
    """Put trajectories on the shelf, holding one of them at a time.

    They are ordered by id: a concurrent run stores them as they end, differently every time.
    """
    runs: list[Run] = []
    terms = TermCounter()
    for one in trajectories:
        terms.add(one)
        run = Run(
            id=one.trajectory_id,
            task_id=task_id(one),
            outcome=outcome(one),
            simulated=bool(one.harness.get("simulated")),
            digest=shelf.put(one),
        )
        runs.append(run)
    return Runs(
        runs=tuple(sorted(runs, key=lambda run: run.id)), terms=tuple(sorted(terms.found()))
    )
