"""`/v1/chat/completions`: OpenAI's first format, spoken by every server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.record.wires.types import Body, Call, Tokens, Turn, TurnRole
from harness.trajectories.building import text_of
from harness.trajectories.lenient import count, listing, mapping, string

_ROLES: dict[str, TurnRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


class Chat:
    """The format of chat completions."""

    name = "chat"
    path = "/chat/completions"
    listing = "messages"
    limits = ("max_completion_tokens", "max_tokens")

    def turns(self, body: Body) -> list[Turn]:
        """The conversation of a request."""
        return [_turn(mapping(message)) for message in listing(body.get("messages"))]

    def reply(self, response: Body) -> Turn:
        """The first choice's message."""
        choices = listing(response.get("choices"))
        message = mapping(mapping(choices[0]).get("message")) if choices else {}
        return _turn({**message, "role": "assistant"})

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; None if the server gives none."""
        usage = mapping(response.get("usage"))
        if not usage:
            return None
        details = mapping(usage.get("prompt_tokens_details"))
        return Tokens(
            count(usage.get("prompt_tokens")),
            count(usage.get("completion_tokens")),
            count(details.get("cached_tokens")),
        )

    def assemble(self, events: Sequence[Body]) -> Body:
        """Chunks as one completion."""
        completion: Body = {}
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        calls: dict[int, dict[str, Any]] = {}
        finish: Any = None
        for event in events:
            completion |= {key: value for key, value in event.items() if key != "choices" and value}
            for raw in listing(event.get("choices")):
                choice = mapping(raw)
                if choice.get("index"):
                    continue  # the first choice is the one that goes on
                finish = choice.get("finish_reason") or finish
                _add(message, calls, mapping(choice.get("delta")))
        if calls:
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {**completion, "object": "chat.completion", "choices": [choice]}


def _add(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: Body) -> None:
    message["content"] += string(delta.get("content"))
    for name in ("reasoning_content", "reasoning", "refusal"):
        if string(delta.get(name)):
            message[name] = string(message.get(name)) + delta[name]
    for raw in listing(delta.get("tool_calls")):
        piece = mapping(raw)
        function = mapping(piece.get("function"))
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(count(piece.get("index")), empty)
        call["id"] = string(piece.get("id")) or call["id"]
        call["function"]["name"] += string(function.get("name"))
        call["function"]["arguments"] += string(function.get("arguments"))


def _turn(message: Body) -> Turn:
    role = _ROLES.get(string(message.get("role")), "user")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    calls = tuple(_call(mapping(raw)) for raw in listing(message.get("tool_calls")))
    return Turn(
        role,
        text_of(message.get("content")) or string(message.get("refusal")),
        string(reasoning) if role == "assistant" else "",
        calls,
        string(message.get("tool_call_id")) or string(message.get("name"))
        if role == "tool"
        else "",
    )


def _call(raw: Body) -> Call:
    function = mapping(raw.get("function")) or mapping(raw.get("custom"))
    arguments = function.get("arguments") or function.get("input")
    return Call(string(raw.get("id")), string(function.get("name")), string(arguments))
