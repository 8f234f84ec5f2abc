"""What a finished evolution made, put together again from its last state."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core import Patch, Usage
from harness.evolve.analysts.fan_out import Collected, Patches
from harness.evolve.apply import Final, applied
from harness.evolve.evolution import Evolution, State
from harness.evolve.merge.by_model import merged, steps_of
from harness.evolve.runs import Runs
from harness.evolve.select import Selection
from harness.evolve.types import Discarded, GateResult, Loss, Merge
from harness.skills import ApplyResult


@dataclass(frozen=True)
class Finished:
    """All that the report is written from.

    Attributes:
        evolution: what was asked for.
        runs: the trajectories.
        collected: the analysts' records.
        levels: patches of every merge level; level 0 is one a record.
        merge: the merged patch, with contradictions.
        final: the patch as it was applied.
        selection: the sets of lessons that were tried; None where all were taken.
        applied: the skill, and what happened to each edit.
        discarded: everything that is not in the skill, with reasons.
        losses: records and merges that gave nothing, with reasons.
        problems: warnings of the validator.
        gate: the verdict.
        usage: of everything.
    """

    evolution: Evolution
    runs: Runs
    collected: Collected
    levels: tuple[tuple[Patch, ...], ...]
    merge: Merge
    final: Patch
    selection: Selection | None
    applied: ApplyResult
    discarded: tuple[Discarded, ...]
    losses: tuple[Loss, ...]
    problems: tuple[str, ...]
    gate: GateResult
    usage: Usage


def finished(evolution: Evolution, state: State) -> Finished:
    """Read the stages' results from the shelf."""
    shelf = evolution.shelf
    collected = shelf.get(state["collected"], Collected)
    steps, merge = steps_of(evolution, state), merged(evolution, state)
    final, result = shelf.get(state["final"], Final), applied(evolution, state)
    withheld = tuple(
        Discarded(content=edit.content, reason=reason, sources=edit.sources, support=edit.support)
        for edit, reason in result.withheld
    )
    spent = [Usage.model_validate(one) for one in state["spent"]]
    return Finished(
        evolution=evolution,
        runs=evolution.runs(state),
        collected=collected,
        levels=tuple(shelf.get(key, Patches).patches for key in state["levels"]),
        merge=merge,
        final=final.patch,
        selection=shelf.get(state["selection"], Selection) if state.get("selection") else None,
        applied=result,
        discarded=(*merge.discarded, *final.discarded, *withheld),
        losses=(*collected.losses, *(loss for step in steps for loss in step.losses)),
        problems=tuple(state["problems"]),
        gate=GateResult.model_validate(state["gate"]),
        usage=sum((step.usage for step in steps), sum(spent, collected.usage)),
    )
