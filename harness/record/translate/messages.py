"""Anthropic's messages as chat completions, and back."""

from __future__ import annotations

import json
from typing import Any

from harness.record.translate.chat import (
    Head,
    Piece,
    Untranslatable,
    content_of,
    copied,
    image,
    refuse,
    streamed,
)
from harness.record.wires import Body
from harness.trajectories.building import text_of
from harness.trajectories.lenient import listing, mapping, string

_SAME = {
    "model": "model", "max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p",
    "top_k": "top_k", "stop_sequences": "stop",
}  # fmt: skip
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_STOPS = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
    "content_filter": "refusal",
}  # fmt: skip
_DROPPED = ("thinking", "redacted_thinking")


def request(body: Body) -> Body:
    """A request for messages as one for a chat completion.

    Raises:
        Untranslatable: if it needs what chat completions do not have.
    """
    refuse(body, {"mcp_servers": "servers of tools", "container": "code that the server runs"})
    chat = copied(body, _SAME) | streamed(body)
    system = text_of(body.get("system"))
    messages: list[Body] = [{"role": "system", "content": system}] if system else []
    for raw in listing(body.get("messages")):
        message = mapping(raw)
        blocks = _blocks(message.get("content"))
        messages += _assistant(blocks) if message.get("role") == "assistant" else _user(blocks)
    chat["messages"] = messages
    tools = [_tool(mapping(tool)) for tool in listing(body.get("tools"))]
    if tools:
        chat["tools"] = tools
        chat |= _choice(mapping(body.get("tool_choice")))
    output_format = mapping(body.get("output_format")) or mapping(
        mapping(body.get("output_config")).get("format")
    )
    if output_format.get("type") == "json_schema":
        schema = {"name": "answer", "schema": output_format.get("schema"), "strict": True}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    return chat


def _blocks(content: Any) -> list[Body]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [mapping(block) for block in listing(content)]


def _assistant(blocks: list[Body]) -> list[Body]:
    texts: list[str] = []
    calls: list[Body] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "tool_use":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            function = {"name": block.get("name"), "arguments": arguments}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind == "text":
            texts.append(string(block.get("text")))
        elif kind not in _DROPPED:
            raise Untranslatable(f"messages: a block of type {kind!r}")
    message: Body = {"role": "assistant", "content": "\n\n".join(texts)}
    return [message | ({"tool_calls": calls} if calls else {})]


def _user(blocks: list[Body]) -> list[Body]:
    messages: list[Body] = []
    parts: list[Body] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            content = content_of([_part(part) for part in _blocks(block.get("content"))])
            place = {"role": "tool", "tool_call_id": block.get("tool_use_id")}
            messages.append({**place, "content": content})
        else:
            parts.append(_part(block))
    return [*messages, {"role": "user", "content": content_of(parts)}] if parts else messages


def _part(block: Body) -> Body:
    if block.get("type") == "text":
        return {"type": "text", "text": string(block.get("text"))}
    source = mapping(block.get("source"))
    if block.get("type") == "image" and source.get("type") == "base64":
        return image(f"data:{source.get('media_type')};base64,{source.get('data')}")
    if block.get("type") == "image" and source.get("type") == "url":
        return image(string(source.get("url")))
    raise Untranslatable(f"messages: a block of type {block.get('type')!r}")


def _tool(tool: Body) -> Body:
    if tool.get("type") not in (None, "custom"):
        raise Untranslatable(f"tools: {tool['type']!r} is a tool of Anthropic's servers")
    function = copied(tool, {"name": "name", "description": "description"})
    return {"type": "function", "function": {**function, "parameters": tool.get("input_schema")}}


def _choice(choice: Body) -> Body:
    settings: Body = {}
    kind = choice.get("type")
    if kind == "tool":
        settings["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
    elif kind in _CHOICES:
        settings["tool_choice"] = _CHOICES[kind]
    if choice.get("disable_parallel_tool_use"):
        settings["parallel_tool_calls"] = False
    return settings


def error(message: str, status: int) -> Body:
    """An error as Anthropic's clients read it."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
             429: "rate_limit_error"}  # fmt: skip
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


class Answer:
    """A chat answer as a message, piece by piece. Use once.

    Args:
        asked: the client's request.
    """

    def __init__(self, client_request: Body) -> None:
        self.head = Head()
        self._model = client_request.get("model")
        self._blocks: list[Body] = []
        self._calls: dict[int, int] = {}
        self._open: dict[int, str] = {}

    def begin(self) -> list[Body]:
        """The first event of the stream."""
        return [{"type": "message_start", "message": self._message()}]

    def feed(self, event: Body) -> list[Body]:
        """The events that a chunk, or a whole answer, becomes."""
        return [
            event_of_piece
            for piece in self.head.read(event)
            for event_of_piece in self._piece(piece)
        ]

    def end(self) -> list[Body]:
        """The last events."""
        delta = {"stop_reason": self._stop(), "stop_sequence": self.head.stop}
        last = {"type": "message_delta", "delta": delta, "usage": self._usage()}
        return [*self._close(), last, {"type": "message_stop"}]

    def whole(self) -> Body:
        """The message, after everything was fed."""
        for block in self._blocks:
            if block["type"] == "tool_use":
                block["input"] = _arguments(block["input"])
        ended = {"stop_reason": self._stop(), "stop_sequence": self.head.stop}
        return {**self._message(), "content": self._blocks, **ended, "usage": self._usage()}

    def _piece(self, piece: Piece) -> list[Body]:
        if piece.kind in ("text", "reasoning"):
            kind = "text" if piece.kind == "text" else "thinking"
            begun = self._begun(kind, {"type": kind, kind: ""})
            self._blocks[-1][kind] += piece.text
            delta = {"type": f"{kind}_delta", kind: piece.text}
            return [*begun, self._delta(delta, len(self._blocks) - 1)]
        if piece.kind == "call":
            name, number = piece.text, piece.call
            shown = piece.id or f"call_{self.head.id}_{number}"
            block: Body = {"type": "tool_use", "id": shown, "name": name, "input": {}}
            self._calls[number] = len(self._blocks)
            begun = self._begun("tool_use", block)
            self._blocks[-1]["input"] = ""
            return begun
        index = self._calls[piece.call]
        self._blocks[index]["input"] += piece.text
        return [self._delta({"type": "input_json_delta", "partial_json": piece.text}, index)]

    def _begun(self, kind: str, block: Body) -> list[Body]:
        """The events that open a block, unless it is a text that is open.

        Calls stay open beside each other: their arguments may come in turns.
        """
        kinds = set(self._open.values())
        if kind != "tool_use" and kinds == {kind}:
            return []
        closing = [] if kinds == {"tool_use"} and kind == "tool_use" else self._close()
        shown = {**block, "signature": ""} if kind == "thinking" else block
        index = len(self._blocks)
        self._open[index] = kind
        self._blocks.append(dict(shown))
        return [*closing, {"type": "content_block_start", "index": index, "content_block": shown}]

    def _delta(self, delta: Body, index: int) -> Body:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    def _close(self) -> list[Body]:
        events: list[Body] = [
            {"type": "content_block_stop", "index": index} for index in self._open
        ]
        self._open.clear()
        return events

    def _message(self) -> Body:
        return {
            "id": f"msg_{self.head.id}",
            "type": "message",
            "role": "assistant",
            "model": self.head.model or self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def _stop(self) -> str:
        return "stop_sequence" if self.head.stop else _STOPS.get(self.head.finish or "", "end_turn")

    def _usage(self) -> Body:
        used = self.head.tokens
        if used is None:
            return {"input_tokens": 0, "output_tokens": 0}
        return {
            "input_tokens": used.prompt - used.cached,
            "cache_read_input_tokens": used.cached,
            "output_tokens": used.completion,
        }


def _arguments(text: str) -> Body:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"input": text}  # pyright: ignore[reportUnknownVariableType]  # parsed JSON
