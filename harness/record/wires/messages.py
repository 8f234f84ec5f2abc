"""`/v1/messages`: Anthropic's format of content blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness.record.wires.types import Body, Call, Tokens, Turn
from harness.trajectories.building import text_of
from harness.trajectories.lenient import count, listing, mapping, string

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Messages:
    """The format of messages."""

    name = "messages"
    path = "/messages"
    listing = "messages"
    limits = ("max_tokens",)

    def turns(self, body: Body) -> list[Turn]:
        """System prompt and messages; results of calls are turns of their own."""
        system = text_of(body.get("system"))
        turns = [Turn("system", system)] if system else []
        for raw in listing(body.get("messages")):
            message = mapping(raw)
            if message.get("role") == "assistant":
                turns.append(_assistant(message.get("content")))
            else:
                turns += _user(message.get("content"))
        return turns

    def reply(self, response: Body) -> Turn:
        """The content blocks of a response."""
        return _assistant(response.get("content"))

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; its prompt counts are apart by cache, here they are one."""
        usage = mapping(response.get("usage"))
        if not usage:
            return None
        cached = count(usage.get("cache_read_input_tokens"))
        written = count(usage.get("cache_creation_input_tokens"))
        prompt = count(usage.get("input_tokens")) + cached + written
        return Tokens(prompt, count(usage.get("output_tokens")), cached)

    def assemble(self, events: Sequence[Body]) -> Body:
        """Events as one message."""
        message: Body = {}
        blocks: dict[int, dict[str, Any]] = {}
        for event in events:
            kind, index = event.get("type"), count(event.get("index"))
            if kind == "message_start":
                message = dict(mapping(event.get("message")))
            elif kind == "content_block_start":
                blocks[index] = dict(mapping(event.get("content_block")))
            elif kind == "content_block_delta":
                _add(blocks.setdefault(index, {"type": "text"}), mapping(event.get("delta")))
            elif kind == "message_delta":
                message |= mapping(event.get("delta"))
                message["usage"] = {**mapping(message.get("usage")), **_counts(event)}
        content = [_whole(blocks[index]) for index in sorted(blocks)]
        return {**message, "content": content}


def _counts(event: Body) -> Body:
    usage = mapping(event.get("usage"))
    return {name: value for name, value in usage.items() if value is not None}


def _add(block: dict[str, Any], delta: Body) -> None:
    kind = string(delta.get("type"))
    if kind == "input_json_delta":
        block["partial"] = string(block.get("partial")) + string(delta.get("partial_json"))
    elif kind in _PIECES:
        name = _PIECES[kind]
        block[name] = string(block.get(name)) + string(delta.get(name))


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    if "partial" not in block:
        return block
    text = block.pop("partial")
    try:
        block["input"] = json.loads(text)
    except ValueError:  # the stream was cut in the middle of the arguments
        block["input"] = {"input": text}
    return block


def _assistant(content: Any) -> Turn:
    if isinstance(content, str):
        return Turn("assistant", content)
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    for raw in listing(content):
        block = mapping(raw)
        kind = block.get("type")
        if kind == "tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            calls.append(Call(string(block.get("id")), string(block.get("name")), arguments))
        elif kind == "thinking":
            thoughts.append(string(block.get("thinking")))
        elif kind != "redacted_thinking":
            texts.append(text_of([block]))
    return Turn("assistant", "\n\n".join(texts), "\n\n".join(thoughts), tuple(calls))


def _user(content: Any) -> list[Turn]:
    if isinstance(content, str):
        return [Turn("user", content)]
    results: list[Turn] = []
    further: list[Any] = []
    for raw in listing(content):
        block = mapping(raw)
        if block.get("type") == "tool_result":
            text = text_of(block.get("content"))
            results.append(Turn("tool", text, call_id=string(block.get("tool_use_id"))))
        else:
            further.append(block)
    return [*results, Turn("user", text_of(further))] if further else results
