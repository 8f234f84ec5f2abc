"""Half of the patches at random, merged as the evolution merges all of them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from harness.core import Patch, Usage
from harness.evolve import finish, reduce
from harness.evolve.baselines.types import Baseline, Ground
from harness.evolve.evolution import Event, Evolution
from harness.evolve.fleet import Patches
from harness.evolve.shelf import Shelf


async def random_half(ground: Ground) -> Baseline:
    """The skill of a seeded half (rounded up) of the patches, by the evolution's own stages.

    Raises:
        Unreachable, LimitReached: from the merger.
    """
    done = ground.done
    patches = done.levels[0]
    count = (len(patches) + 1) // 2
    kept = sorted(random.Random(ground.seed).sample(range(len(patches)), count))
    half = replace(done.evolution, shelf=Shelf(), progress=_silent)
    try:
        state = await _reduced(half, _start(half, ground, [patches[one] for one in kept]))
        result = finish.applied(half, state)
        steps = reduce.steps_of(half, state)
    finally:
        half.shelf.close()
    spent = [Usage.model_validate(one) for one in state["spent"]]
    return Baseline(
        name="random-half",
        skill=result.skill,
        usage=sum((step.usage for step in steps), sum(spent, Usage())),
        shared_tokens=done.collected.usage.tokens * count // max(1, len(patches)),
        losses=(
            *(loss.reason for step in steps for loss in step.losses),
            *(reason for _, reason in result.withheld),
        ),
        note=f"{count} of {len(patches)} patches",
    )


def _silent(event: Event) -> None:
    """The evolution's progress has ended."""


def _start(half: Evolution, ground: Ground, patches: list[Patch]) -> dict[str, Any]:
    """The state in which the evolution would stand if it had these patches only."""
    shelf = half.shelf
    return {
        "runs": shelf.put(ground.done.runs),
        "collected": shelf.put(ground.done.collected),
        "levels": [shelf.put(Patches(patches=tuple(patches)))],
        "merged": [],
        "spent": [],
        "stuck": False,
    }


async def _reduced(half: Evolution, state: dict[str, Any]) -> dict[str, Any]:
    """Level by level to one patch, and that patch as edits: `graphs/trace2skill.py` in a loop."""
    while True:
        state |= reduce.deal(half, state)
        count = reduce.open_batches(half, state)
        if not count:
            return state | await finish.to_edits(half, state)
        for number in range(count):
            state["merged"] += (await reduce.merge_one(half, state, number))["merged"]
