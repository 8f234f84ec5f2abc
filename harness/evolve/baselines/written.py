"""Baselines that a model writes: a skill from what it knows, and one edited step by step."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal

from harness.core import Patch, Usage, render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.baselines.run import Baseline, Ground
from harness.skills import Skill, apply_patch, header_text, new_skill, validate
from harness.trajectories import fence_untrusted

# Example tasks of a parametric skill, and characters of each: they fit a window of 32,000 tokens.
EXAMPLES, PROMPT_CHARACTERS = 20, 2_000


async def parametric(ground: Ground) -> Baseline:
    """The paper's parametric skill: the model sees tasks, and no run of any.

    It is the seed, with a loss, where no reply could be used.

    Raises:
        BadInput: without a model.
        Unreachable, LimitReached: from the model.
    """
    start, tasks = ground.start, list(ground.prompts.values())
    examples = random.Random(ground.seed).sample(tasks, min(EXAMPLES, len(tasks)))
    prompt = render(
        "parametric_skill",
        name=start.name.replace("-", " "),
        tasks=[fence_untrusted(task[:PROMPT_CHARACTERS]) for task in examples],
    )

    def read(data: dict[str, Any]) -> Skill:
        description, body = data.get("description"), data.get("body")
        if not isinstance(description, str) or not isinstance(body, str) or not body.strip():
            raise ValueError('expected {"description": "...", "body": "..."}, both texts')
        skill = new_skill(start.name, header_text(description), f"\n{body.strip()}\n")
        if errors := [problem for problem in validate(skill) if problem.level == "error"]:
            raise ValueError(f"not a valid skill: {errors[0]}")
        return skill

    skill, reason, usage = await ask_json(ground.needed("parametric"), prompt, read)
    return Baseline(
        name="parametric",
        skill=skill or start,
        usage=usage,
        losses=() if skill else (reason,),
        note=f"written from {len(examples)} task prompts" if skill else "the seed: no usable reply",
    )


async def sequential(ground: Ground, name: Literal["sequential-1", "sequential-4"]) -> Baseline:
    """The paper's sequential editing with one or four records a step.

    Each step sees the skill that the step before left. A step whose reply cannot be used, or
    whose patch does not apply whole, keeps the skill.

    Raises:
        BadInput: without a model.
        Unreachable, LimitReached: from the model.
    """

    def read(data: dict[str, Any]) -> Patch:
        if not isinstance(data.get("edits"), list):  # none says that there is nothing new
            raise ValueError('expected {"edits": [...]}')
        return Patch.model_validate(data)

    model, skill = ground.needed(name), ground.start
    records = [record.model_dump_json(exclude={"edits", "proof"}) for record in ground.records]
    batch = int(name[-1])
    parts = [records[start : start + batch] for start in range(0, len(records), batch)]
    usage, losses = Usage(), list[str]()
    for step, part in enumerate(parts, start=1):
        prompt = render("skill_refine", records=part, skill=skill.text)
        patch, reason, used = await ask_json(model, prompt, read)
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


def refined(skill: Skill, patch: Patch) -> tuple[Skill, str]:
    """(the skill with the whole patch and "", or the skill as it was and why)."""
    result = apply_patch(skill, patch)
    if not result.withheld:
        return replace(result.skill, warnings=()), ""
    edit, reason = result.withheld[0]
    count = f"{len(result.withheld)} of {len(patch.edits)} edits withheld"
    return skill, f"{count}, {edit.op}: {result.rolled_back or reason}"
