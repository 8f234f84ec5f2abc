"""Judges without weights: models that answer by a function, and what they were asked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pydantic import JsonValue

from harness.models import Message, Sampling
from lab.worlds.models import ScriptedModel

T = TypeVar("T")
Decide = Callable[[str, dict[str, Any]], Any]
"""From the prompt and the members of the reply's schema to the reply: members, or a whole text."""


class FunctionModel(ScriptedModel):
    """Answers by a function; adds the request's key where the function gives members."""

    constrains = True

    def __init__(self, decide: Decide) -> None:
        super().__init__()
        self._decide = decide

    def text(
        self,
        messages: list[Message],
        sampling: Sampling | None,
        response_format: dict[str, JsonValue] | None,
    ) -> str | Exception:
        properties: dict[str, Any] = {}
        if response_format is not None:
            schema: Any = response_format["json_schema"]
            properties = schema["schema"]["properties"]
        answer = self._decide(str(messages[-1]["content"]), properties)
        if isinstance(answer, dict):
            return json.dumps({"key": properties["key"]["const"], **answer})
        return answer


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
