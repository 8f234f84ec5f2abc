"""Simulation of a sequential plan where tasks have several attempts, or groups."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from harness.stats.sequential import LIKENESS, SequentialPlan, walk_boundaries
from harness.stats.walk import Operating

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools, Ints = NDArray[np.bool_], NDArray[np.int64]

PATHS = 400
"""Simulated comparisons behind a figure: its standard error is 2.5 points at most."""


def operating(plan: SequentialPlan) -> Operating:
    """Power and average size of a plan with several attempts a task.

    Every attempt changes as the only one would: with the plan's discordance, up or down by its
    lift, whatever the other attempts at the task do. Tasks whose attempts are alike gain less.
    Tasks of a group do the same as another one of it with a probability that makes their changes
    as alike as the plan expects.
    """
    accepted, size = _decided(plan, plan.lift)
    by_chance, size_null = _decided(plan, 0.0)
    return Operating(
        power=accepted, false_acceptance=by_chance, tasks_null=size_null, tasks_lift=size
    )


def _decided(plan: SequentialPlan, lift: float) -> tuple[float, float]:
    """Share of comparisons that are accepted at a true lift, and tasks that they run on average."""
    import numpy as np

    psi = max(plan.discordance, plan.lift)
    up, down = (psi + lift) / 2, (psi - lift) / 2
    rng = np.random.default_rng(20260325)
    draws = rng.random((PATHS, plan.tasks, plan.epochs))
    if plan.groups:
        index = np.repeat(np.arange(len(plan.groups)), plan.groups)
        shared = rng.random((PATHS, len(plan.groups), plan.epochs))[:, index]
        draws = np.where(rng.random((PATHS, plan.tasks, 1)) < LIKENESS**0.5, shared, draws)
    accepted, size = stopped(plan, (draws < up).sum(axis=2) - (draws > 1 - down).sum(axis=2))
    return float(accepted.mean()), float(size.mean())


def stopped(plan: SequentialPlan, each: Ints) -> tuple[Bools, Ints]:
    """Run the plan on many comparisons; return which are accepted, and their tasks [comparisons].

    Args:
        plan: of all of them.
        each: attempts by which a task changes, in the order of the run [comparisons, tasks].
    """
    import numpy as np

    ends, paths = (0, *plan.look_sizes), np.arange(len(each), dtype=np.int64)
    borders = np.cumsum((0, *(plan.groups or (1,) * plan.tasks)[:-1]))  # first task of a step
    moved: Ints = np.add.reduceat(each, borders, axis=1)
    values = range(1, max(plan.epochs, int(np.abs(moved).max())) + 1)
    places = np.searchsorted(borders, ends)
    gains, losses = (
        np.stack(
            [
                np.stack([(sign * moved[:, a:b] == value).sum(axis=1) for value in values], axis=1)
                for a, b in pairwise(places)
            ],
            axis=1,
        )
        for sign in (1, -1)
    )
    sums = each.cumsum(axis=1)[:, np.asarray(plan.look_sizes) - 1]
    seen = np.broadcast_to(np.asarray(plan.look_sizes), sums.shape)
    upper, _, lower = walk_boundaries(plan, gains + losses, seen, plan.epochs, gains - losses)
    above, out = sums >= upper, (sums >= upper) | (sums <= lower)
    out[:, -1] = True
    stop = out.argmax(axis=1)
    return above[paths, stop], np.asarray(plan.look_sizes)[stop]
