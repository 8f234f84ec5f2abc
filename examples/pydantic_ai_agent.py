"""A pydantic-ai agent with a tool: a function that the harness calls."""

import os
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

PRICES = {"desk lamp": 19, "notebook": 2.5, "office chair": 149}


def price(item: str) -> str:
    """The price of one item."""
    return str(PRICES.get(item.removesuffix("s"), "unknown"))


def answer(prompt: str, workdir: str, skill: str | None) -> str:
    """Answer one task; `skill` is the folder of a skill, or None."""
    instructions = Path(skill, "SKILL.md").read_text() if skill else None
    model = OpenAIChatModel(os.environ["OPENAI_MODEL"])
    return Agent(model, instructions=instructions, tools=[price]).run_sync(prompt).output
