"""Tool calls: the text protocol of Trace2Skill rollouts, and native calls that are run in order.

The text protocol is `Thought: … Action: {json}` and its end signal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from harness.core import without_surrogates
from harness.models import LimitedModel, ModelCall
from harness.tools import Tool, ToolArgumentError, truncate

if TYPE_CHECKING:
    from harness.agents.react import ReactContext

END_SIGNAL = "ACTION: TASK_COMPLETE"
STOP = "Observation:"


@dataclass(frozen=True)
class Action:
    """A tool call that a reply asked for."""

    id: str
    name: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True)
class Final:
    """The reply that ends the attempt."""

    answer: str


class FormatError(Exception):
    """A reply that is neither an action nor an end; the message goes back to the model."""


def read_text_reply(text: str) -> Action | Final:
    """Read a reply in the text protocol.

    Raises:
        FormatError: if it holds no action and no end signal, or the action is no JSON object
            with a name and arguments.
    """
    if END_SIGNAL in text:
        return Final(text.split(END_SIGNAL)[0].strip())
    _, marker, text_of_action = text.rpartition("Action:")
    if not marker:
        raise FormatError(
            'Your reply has no action. Write `Action:` and then {"name": …, "arguments": …}, or '
            f"end with `{END_SIGNAL}`."
        )
    start = text_of_action.find("{")
    if start < 0:
        raise FormatError("There is no JSON object behind `Action:`.")
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text_of_action[start:])
        value = without_surrogates(value)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"The JSON behind `Action:` cannot be read: {_fault(error)}.") from error
    name, arguments = value.get("name"), value.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise FormatError('The action needs a text "name" and an object "arguments".')
    return Action("text", name, arguments)  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON


def read_arguments(name: str, raw: str) -> dict[str, JsonValue]:
    """The arguments of a native tool call.

    Raises:
        FormatError: if they are no JSON object.
    """
    try:
        value = without_surrogates(json.loads(raw or "{}"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"The arguments of {name!r} are no JSON: {_fault(error)}.") from error
    if not isinstance(value, dict):
        raise FormatError(f"The arguments of {name!r} must be a JSON object.")
    return value  # pyright: ignore[reportUnknownVariableType]  # parsed JSON


def _fault(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def fenced(text: str) -> str:
    """An observation in a fence that its own text cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"Observation:\n{fence}\n{text}\n{fence}"


def on_wire(call: ModelCall) -> dict[str, Any]:
    """A tool call as an assistant's message has it."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def held(call: ModelCall) -> dict[str, Any]:
    """A tool call as a state holds it, and :func:`run_calls` takes it."""
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


async def run_calls(
    context: ReactContext, calls: Sequence[dict[str, Any]], tools: Sequence[Tool]
) -> list[dict[str, Any]]:
    """The messages that answer tool calls, in their order.

    Args:
        context: of the attempt; its `on_event` is called with every call and every result.
        calls: `id`, `name` and `arguments` (JSON text, or what was read from it) of each.
        tools: that may be called now.

    Raises:
        SampleLimitReached: if the attempt meets a limit before the last of them.
    """
    by_name = {tool.name: tool for tool in tools}
    messages: list[dict[str, Any]] = []
    for call in calls:
        if isinstance(context.model, LimitedModel):
            context.model.check()
        try:
            arguments = call["arguments"]
            if isinstance(arguments, str):
                arguments = read_arguments(call["name"], arguments)
            context.tell({"type": "tool", **call, "arguments": arguments})
            tool = by_name.get(call["name"])
            if tool is None:
                names = ", ".join(by_name)
                raise ToolArgumentError(f"no tool {call['name']!r}; there are {names}")
            text = await tool.call(arguments, context.bench, call["id"])
        except (ToolArgumentError, FormatError) as error:
            text = f"[Error: {error}]"
        text = truncate(text)
        context.tell({"type": "observation", "id": call["id"], "text": text})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return messages
