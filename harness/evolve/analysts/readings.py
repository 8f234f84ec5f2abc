"""An analyst's reading of one trajectory, and all readings once the model has had two tries."""

from __future__ import annotations

from typing import Any

from harness.core import Unreachable
from harness.evolve.analysts.records import lost
from harness.evolve.analysts.single import write_patch
from harness.evolve.artifacts import Runs
from harness.evolve.evolution import Evolution, detached
from harness.evolve.types import Reading

MOST_UNANSWERED = 8
"""Analysts in a row without an answer after which the model is taken to be down."""


async def read_run(evolution: Evolution, runs: str, number: int) -> Reading:
    """The record and the patch of one trajectory; without an answer of the model, why not."""
    run = evolution.store.hold(runs, Runs).runs[number]
    if evolution.unanswered >= MOST_UNANSWERED:  # it is down: nothing is gained by asking on
        return Reading(unanswered="it was not asked: the model had stopped answering")
    (trajectory,) = evolution.store.load([run])
    kind = evolution.options.teaches(run.outcome)
    assert evolution.read is not None and kind is not None, "the fleet holds runs that teach"
    try:
        reading = await detached(evolution.read(trajectory, kind))
        record, losses, patch, usage = reading.record, reading.losses, reading.patch, reading.usage
        if record is not None and evolution.mapper is not None:
            mapped = await write_patch(record, number + 1, evolution.mapper, evolution.seed.text)
            patch, losses, usage = mapped.patch, losses + mapped.losses, usage + mapped.usage
    except Unreachable as error:
        evolution.unanswered += 1
        loss = lost(trajectory.trajectory_id, f"the model did not answer: {error}")
        return Reading(unanswered=str(error), losses=(loss,))
    evolution.unanswered = 0
    return Reading(record=record, patch=patch, losses=losses, usage=usage)


async def answered(evolution: Evolution, runs: str, readings: list[list[Any]]) -> list[Reading]:
    """All readings; those without an answer are tried once more, now that the others have theirs.

    Args:
        evolution: whose analysts read.
        runs: key of the trajectories that they read.
        readings: number of a trajectory and key of what its analyst wrote, of each.

    Raises:
        Unreachable: if more than half have none. A resumed evolution begins here, and asks again.
    """
    complete: list[Reading] = []
    evolution.unanswered = 0
    for number, key in sorted(readings):
        reading = evolution.store.get(key, Reading)
        if reading.unanswered:
            reading = await read_run(evolution, runs, number)
        complete.append(reading)
    silent = [reading.unanswered for reading in complete if reading.unanswered]
    if 2 * len(silent) > len(complete):
        raise Unreachable(
            f"{len(silent)} of {len(complete)} analysts got no answer: {silent[0]}; resumed, "
            "these are asked again, and no other"
        )
    return complete
