"""A skill from what the model knows already: it sees tasks, and no run of any."""

from __future__ import annotations

import random
from typing import Any

from harness.core import render
from harness.evolve.analysts.json_reply import ask_json
from harness.evolve.baselines.types import Baseline, Ground
from harness.skills import Skill, new_skill, validate
from harness.trajectories import fence_untrusted

EXAMPLES = 20
PROMPT_CHARACTERS = 2_000
"""Of each example task: twenty of them fit a window of 32,000 tokens."""


async def parametric(ground: Ground) -> Baseline:
    """The paper's parametric skill; the seed, with a loss, where no reply could be used.

    Raises:
        BadInput: without a model.
        Unreachable, LimitReached: from the model.
    """
    start = ground.start
    tasks = list(ground.prompts.values())
    chosen = random.Random(ground.seed).sample(tasks, min(EXAMPLES, len(tasks)))
    prompt = render(
        "parametric_skill",
        name=start.name.replace("-", " "),
        tasks=[fence_untrusted(task[:PROMPT_CHARACTERS]) for task in chosen],
    )
    skill, reason, usage = await ask_json(
        ground.needed("parametric"), prompt, lambda data: _written(start.name, data)
    )
    return Baseline(
        name="parametric",
        skill=skill or start,
        usage=usage,
        losses=() if skill else (reason,),
        note=f"written from {len(chosen)} task prompts" if skill else "the seed: no usable reply",
    )


def _written(name: str, data: dict[str, Any]) -> Skill:
    """The skill of a reply.

    Raises:
        ValueError: if it is no valid skill.
    """
    description, body = data.get("description"), data.get("body")
    if not isinstance(description, str) or not isinstance(body, str) or not body.strip():
        raise ValueError('expected {"description": "...", "body": "..."}, both texts')
    skill = new_skill(name, " ".join(description.split()), f"\n{body.strip()}\n")
    errors = [str(one) for one in validate(skill) if one.level == "error"]
    if errors:
        raise ValueError(f"not a valid skill: {errors[0]}")
    return skill
