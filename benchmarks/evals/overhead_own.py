"""The agent of overhead_bare.py as a file of a user's own: a graph, and a function."""

from __future__ import annotations

import os
from pathlib import Path

import openai
import overhead_bare  # pyright: ignore[reportMissingImports]  # lies beside it, as a user's would

client = openai.AsyncOpenAI()
graph = overhead_bare.graph(client, Path(os.environ["OVERHEAD_SKILL"]))


async def answer(prompt: str, workdir: str, skill: str) -> str:
    """Answer a prompt with the graph."""
    agent = overhead_bare.graph(client, Path(skill))
    state = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
    return state["messages"][-1]["content"]
