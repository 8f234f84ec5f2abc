"""Tools that a reply called, run one after the other; what fails is told to the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.agents.protocol import FormatError, read_arguments
from harness.agents.react import ReactContext
from harness.models import ModelCall
from harness.tools import Tool, ToolArgumentError, truncate


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
        context: of the attempt; it is told of every call and every result.
        calls: `id`, `name` and `arguments` (JSON text) of each.
        tools: that may be called now.
    """
    known = {tool.name: tool for tool in tools}
    messages: list[dict[str, Any]] = []
    for call in calls:
        try:
            arguments = read_arguments(call["name"], call["arguments"])
            context.tell({"type": "tool", **call, "arguments": arguments})
            if call["name"] not in known:
                raise ToolArgumentError(f"no tool {call['name']!r}; there are {', '.join(known)}")
            tool = known[call["name"]]
            found = truncate(await tool.call(arguments, context.bench, call["id"]))
        except (ToolArgumentError, FormatError) as error:
            found = f"[Error: {error}]"
        context.tell({"type": "observation", "id": call["id"], "text": found})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": found})
    return messages
