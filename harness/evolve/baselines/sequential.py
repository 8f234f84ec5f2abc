"""A skill edited step by step: each step sees the skill that the step before left."""

from __future__ import annotations

from typing import Any, Literal

from harness.core import Patch, Usage, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.baselines.types import Baseline, Ground, refined

Name = Literal["sequential-1", "sequential-4"]
BATCHES: dict[Name, int] = {"sequential-1": 1, "sequential-4": 4}


async def sequential(ground: Ground, name: Name) -> Baseline:
    """The paper's sequential editing with one or four records a step.

    A step whose reply cannot be used, or whose patch does not apply whole, keeps the skill.

    Raises:
        BadInput: without a model.
        Unreachable, LimitReached: from the model.
    """
    model, skill = ground.needed(name), ground.start
    records = [one.model_dump_json(exclude={"edits", "proof"}) for one in ground.records]
    batch = BATCHES[name]
    parts = [records[at : at + batch] for at in range(0, len(records), batch)]
    usage, losses = Usage(), list[str]()
    for step, part in enumerate(parts, start=1):
        prompt = render("skill_refine", records=part, skill=skill.text)
        patch, reason, used = await ask_json(model, prompt, _patch)
        usage += used
        if patch is not None:
            skill, reason = refined(skill, patch)
        if reason:
            losses.append(f"step {step}: {reason}")
    return Baseline(
        name=name,
        skill=skill,
        usage=usage,
        shared_tokens=ground.done.collected.usage.tokens,
        losses=tuple(losses),
        note=f"{len(parts)} steps of {batch} records, {len(losses)} kept the skill as it was",
    )


def _patch(data: dict[str, Any]) -> Patch:
    """The patch of a reply; one without edits says that there is nothing new."""
    if not isinstance(data.get("edits"), list):
        raise ValueError('expected {"edits": [...]}')
    return Patch.model_validate(data)
