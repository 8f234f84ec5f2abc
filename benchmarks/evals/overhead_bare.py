"""The agent of eval_overhead.py by hand: LangGraph and the `openai` client, nothing kept.

Prints samples and seconds, imports and the first samples apart.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import openai

graphs: Any = import_module("langgraph.graph")

TOOL = {
    "type": "function",
    "function": {
        "name": "read_skill_file",
        "description": "Read a file of the skill.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


class State(TypedDict):
    """The conversation."""

    messages: Annotated[list[dict[str, Any]], add]


def graph(client: openai.AsyncOpenAI, skill: Path) -> Any:
    """Think and act until there is an answer."""
    system = {"role": "system", "content": (skill / "SKILL.md").read_text()}

    completions: Any = client.chat.completions

    async def think(state: State) -> dict[str, Any]:
        reply = await completions.create(
            model="mock", messages=[system, *state["messages"]], tools=[TOOL]
        )
        return {"messages": [reply.choices[0].message.model_dump(exclude_none=True)]}

    async def act(state: State) -> dict[str, Any]:
        results = [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": (skill / json.loads(call["function"]["arguments"])["path"]).read_text(),
            }
            for call in state["messages"][-1]["tool_calls"]
        ]
        return {"messages": results}

    def onward(state: State) -> str:
        return "act" if state["messages"][-1].get("tool_calls") else graphs.END

    builder = graphs.StateGraph(State)
    builder.add_node("think", think)
    builder.add_node("act", act)
    builder.add_edge(graphs.START, "think")
    builder.add_conditional_edges("think", onward)
    builder.add_edge("act", "think")
    return builder.compile()


async def main(url: str, skill: Path, samples: int, concurrency: int) -> None:
    """Run so many samples."""
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    app, slots, passed = graph(client, skill), asyncio.Semaphore(concurrency), 0

    async def attempt(number: int) -> None:
        nonlocal passed
        async with slots:
            message = {"role": "user", "content": f"What is 2 + 2? ({number})"}
            state = await app.ainvoke({"messages": [message]})
            passed += state["messages"][-1]["content"] == "4"

    await asyncio.gather(*(attempt(-number) for number in range(1, concurrency + 1)))
    passed, wall = 0, time.perf_counter()
    await asyncio.gather(*(attempt(number) for number in range(samples)))
    wall = time.perf_counter() - wall
    print(json.dumps({"samples": samples, "passed": passed, "wall": wall}))
    await client.close()


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
