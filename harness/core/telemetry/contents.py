"""Chat messages in the form that OpenTelemetry's conventions give them: roles and parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast


def input_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """`gen_ai.input.messages` of messages in the form of the OpenAI API; images are left out."""
    found: list[dict[str, Any]] = []
    for message in messages:
        parts = _texts(message.get("content"))
        if message["role"] == "tool":
            said = "\n".join(part.get("content", "") for part in parts)
            answer = {"type": "tool_call_response", "id": message.get("tool_call_id")}
            parts = [{**answer, "response": said}]
        parts += [
            _call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        found.append({"role": message["role"], "parts": parts})
    return found


def output_messages(reply: Any) -> list[dict[str, Any]]:
    """`gen_ai.output.messages` of a :class:`harness.models.types.Reply`."""
    parts: list[dict[str, Any]] = []
    if reply.reasoning:
        parts.append({"type": "reasoning", "content": reply.reasoning})
    if reply.text:
        parts.append({"type": "text", "content": reply.text})
    parts += [_call(call.id, call.name, call.arguments) for call in reply.tool_calls]
    return [{"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}]


def _texts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    parts: list[dict[str, Any]] = []
    for part in cast("list[dict[str, Any]]", content or []):
        if part.get("type") == "text":
            parts.append({"type": "text", "content": part["text"]})
        else:
            parts.append({"type": str(part.get("type")), "content": "[left out]"})
    return parts


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    try:
        read = json.loads(arguments)
    except ValueError:
        read = arguments
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": read}
