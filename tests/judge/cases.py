"""Judges without weights: models that answer by a function, and what they were asked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pydantic import JsonValue

from harness.core import Usage
from harness.models import Message, Reply, Sampling

T = TypeVar("T")
Decide = Callable[[str, dict[str, Any]], Any]
"""From the prompt and the members of the reply's schema to the reply: members, or a whole text."""


class FunctionModel:
    """Answers by a function; adds the request's key where the function gives members.

    Attributes:
        prompts: what was asked, in order.
        requests: all messages of all requests.
    """

    spec, simulated, constrains = "scripted/function", True, True

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self.prompts: list[str] = []
        self.requests: list[list[Message]] = []
        self.samplings: list[Sampling | None] = []

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        prompt = str(messages[-1]["content"])
        self.prompts.append(prompt)
        self.requests.append(messages)
        self.samplings.append(sampling)
        members: dict[str, Any] = {}
        if response_format is not None:
            schema: Any = response_format["json_schema"]
            members = schema["schema"]["properties"]
        answer = self._decide(prompt, members)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            answer = json.dumps({"key": members["key"]["const"], **answer})
        usage = Usage(calls=1, prompt_tokens=10, completion_tokens=5)
        return Reply(
            call_id=str(len(self.prompts)), text=answer, finish_reason="stop", model="f",
            usage=usage,
        )  # fmt: skip


def between(prompt: str, name: str) -> str:
    """The marked text of that name in a prompt."""
    match = re.search(rf"<{name}-(\w+)>\n(.*?)\n</{name}-\1>", prompt, re.DOTALL)
    assert match is not None, prompt
    return match[2]


def chooser(better: Callable[[str, str], int]) -> FunctionModel:
    """A judge of pairs; `better(first, second)` is above 0 where the first is, 0 for equal."""

    def decide(prompt: str, members: dict[str, Any]) -> Any:
        sign = better(between(prompt, "first"), between(prompt, "second"))
        return {"reason": "r", "better": "equal" if not sign else "first" if sign > 0 else "second"}

    return FunctionModel(decide)


def rater(passes: Callable[[str], bool]) -> FunctionModel:
    """A judge of single answers that says the same of every criterion."""

    def decide(prompt: str, members: dict[str, Any]) -> Any:
        word = "yes" if passes(between(prompt, "answer")) else "no"
        return {"reason": "r"} | {n: word for n in members if n.startswith("criterion")}

    return FunctionModel(decide)


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of asynchronous work."""
    return asyncio.run(work)
