"""A skill as the agent sees it: the whole body, or its description only."""

from __future__ import annotations

from pathlib import Path

from harness.agents.skill_once import skill_at
from harness.agents.types import SkillMode
from harness.core import render


def skill_block(skill: Path | None, mode: SkillMode, *, readable: bool) -> str:
    """The part of a system prompt that carries the skill; "" without one.

    Args:
        skill: skill directory.
        mode: preloaded, discovered or none.
        readable: whether the agent has a tool to read the skill's files.
    """
    if skill is None or mode == "none":
        return ""
    loaded = skill_at(skill).skill
    # A body that closes the tag early would let skill text pose as the rest of the prompt.
    body = loaded.body.strip().replace("</skill>", "&lt;/skill&gt;")
    return render(
        "skill_block",
        mode=mode,
        name=loaded.name,
        description=loaded.description,
        body=body,
        references=sorted(loaded.files),
        readable=readable,
    )
