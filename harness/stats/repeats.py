"""What a sequential plan does where every task is attempted several times: by simulation."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from harness.stats.sequential import SequentialPlan, walk_boundaries
from harness.stats.walk import Operating

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

PATHS = 400
"""Simulated comparisons behind a figure: its standard error is 2.5 points at most."""


def operating(plan: SequentialPlan) -> Operating:
    """Power and average size of a plan with several attempts a task.

    Every attempt changes as the only one would: with the plan's discordance, up or down by its
    lift, whatever the other attempts at the task do. Tasks whose attempts are alike gain less.
    """
    accepted, size = _decided(plan, plan.lift)
    by_chance, size_null = _decided(plan, 0.0)
    return Operating(
        power=accepted, false_acceptance=by_chance, tasks_null=size_null, tasks_lift=size
    )


def _decided(plan: SequentialPlan, lift: float) -> tuple[float, float]:
    """Share of comparisons that are accepted at a true lift, and tasks that they run on average."""
    import numpy as np

    psi, ends = max(plan.discordance, plan.lift), (0, *plan.look_sizes)
    up, down = (psi + lift) / 2, (psi - lift) / 2
    rng = np.random.default_rng(20260325)
    draws = rng.random((PATHS, plan.tasks, plan.epochs))
    moved: Ints = (draws < up).sum(axis=2) - (draws > 1 - down).sum(axis=2)
    values = range(1, plan.epochs + 1)
    gains, losses = (
        np.stack(
            [
                np.stack([(sign * moved[:, a:b] == value).sum(axis=1) for value in values], axis=1)
                for a, b in pairwise(ends)
            ],
            axis=1,
        )
        for sign in (1, -1)
    )
    sums = moved.cumsum(axis=1)[:, np.asarray(plan.look_sizes) - 1]
    seen = np.broadcast_to(np.asarray(plan.look_sizes), sums.shape)
    upper, _, lower = walk_boundaries(plan, gains + losses, seen, plan.epochs, gains - losses)
    above, out = sums >= upper, (sums >= upper) | (sums <= lower)
    out[:, -1] = True
    stop = out.argmax(axis=1)
    accepted = float(above[np.arange(PATHS), stop].mean())
    return accepted, float(np.asarray(plan.look_sizes)[stop].mean())
