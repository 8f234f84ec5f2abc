"""Half of the patches at random, merged as the evolution merges all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.core import Patch, Usage
from harness.evolve import apply as finish
from harness.evolve.analysts.fan_out import Patches
from harness.evolve.artifacts import Shelf
from harness.evolve.baselines.types import Baseline, Ground
from harness.evolve.evolution import Event, Evolution
from harness.evolve.merge import by_model as reduce
from harness.evolve.merge_model import MergeStep
from harness.evolve.select import select
from harness.skills import ApplyResult


async def random_half(ground: Ground) -> Baseline:
    """The skill of a seeded half (rounded up) of the patches, by the evolution's own stages.

    Raises:
        Unreachable, LimitReached: from the merger.
    """
    done = ground.done
    patches = done.levels[0]
    count = (len(patches) + 1) // 2
    kept = sorted(random.Random(ground.seed).sample(range(len(patches)), count))
    result, steps, used = await merged_skill(ground, [patches[one] for one in kept])
    return Baseline(
        name="random-half",
        skill=result.skill,
        usage=used,
        shared_tokens=done.collected.usage.tokens * count // max(1, len(patches)),
        losses=(
            *(loss.reason for step in steps for loss in step.losses),
            *(reason for _, reason in result.withheld),
        ),
        note=f"{count} of {len(patches)} patches",
    )


async def merged_skill(
    ground: Ground, patches: Sequence[Patch]
) -> tuple[ApplyResult, list[MergeStep], Usage]:
    """The skill that the evolution would have made of these patches, on a shelf in memory.

    Raises:
        Unreachable, LimitReached: from the merger.
    """
    evolution = ground.done.evolution
    options = evolution.options.model_copy(update={"select": "all"})
    again = replace(evolution, options=options, shelf=Shelf(), progress=_silent)
    try:
        state = await _reduced(again, _start(again, ground, patches))
        result, steps = finish.applied(again, state), reduce.steps_of(again, state)
    finally:
        again.shelf.close()
    spent = [Usage.model_validate(one) for one in state["spent"]]
    return result, steps, sum((step.usage for step in steps), sum(spent, Usage()))


def _silent(event: Event) -> None:
    """The evolution's progress has ended."""


def _start(again: Evolution, ground: Ground, patches: Sequence[Patch]) -> dict[str, Any]:
    """The state in which the evolution would stand if it had these patches only."""
    shelf = again.shelf
    return {
        "runs": shelf.put(ground.done.runs),
        "collected": shelf.put(ground.done.collected),
        "levels": [shelf.put(Patches(patches=tuple(patches)))],
        "merged": [],
        "spent": [],
        "stuck": False,
    }


async def _reduced(again: Evolution, state: dict[str, Any]) -> dict[str, Any]:
    """Level by level to one patch, and that patch as edits: `graphs/trace2skill.py` in a loop."""
    while True:
        state |= reduce.deal(again, state)
        count = reduce.open_batches(again, state)
        if not count:
            state |= await finish.to_edits(again, state)
            return {**state, **await select(again, state), "spent": state["spent"]}
        for number in range(count):
            state["merged"] += (await reduce.merge_one(again, state, number))["merged"]
