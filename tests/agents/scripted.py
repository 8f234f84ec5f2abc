"""A scripted endpoint on loopback, and attempts against it through the real client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.agents import Agent, AgentContext, AgentRun, Sample, open_agent
from harness.models import Sampling, open_model
from harness.sandbox import select
from tests.models.http_server import Answer, Served, completion, serve

Script = Callable[[list[dict[str, Any]]], Answer]


def action(name: str, arguments: str) -> Answer:
    """A reply in the text protocol."""
    return completion(f'Thought: go on.\nAction:\n{{"name": "{name}", "arguments": {arguments}}}')


def native(name: str, arguments: str) -> Answer:
    """A reply with a native tool call."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return completion("", tool_calls=[call])


def in_order(*answers: Answer) -> Script:
    """Give the answers one after the other, by the number of assistant messages so far."""

    def answer(messages: list[dict[str, Any]]) -> Answer:
        return answers[sum(message["role"] == "assistant" for message in messages)]

    return answer


def attempt(
    script: Script,
    workdir: Path,
    *,
    spec: str | Agent = "graph:react",
    prompt: str = "Do it.",
    answer_schema: dict[str, Any] | None = None,
    base: Path | None = None,
    **settings: Any,
) -> tuple[AgentRun, Served]:
    """One attempt of an agent; settings are fields of AgentContext."""
    with serve(lambda body: script(body["messages"])) as served:

        async def run() -> AgentRun:
            model = open_model("openai/scripted", base_url=served.url)
            context = AgentContext(model=model, sandbox=select("auto"), **settings)
            agent = open_agent(spec, base=base, trusted=True) if isinstance(spec, str) else spec
            sample = Sample(
                id="s", task_id="s", prompt=prompt, workdir=workdir, answer_schema=answer_schema
            )
            try:
                return await agent.run(sample, context)
            finally:
                await model.aclose()

        return asyncio.run(run()), served


GREEDY = Sampling(temperature=0.0, max_tokens=100)
