"""`/v1/messages`: Anthropic's format of content blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core import count, listing, mapping, string
from harness.models import Piece
from harness.record.wires.base import Body, Reading, Rounds, Tokens
from harness.record.wires.translation import (
    Translated,
    Writer,
    chat_message,
    chat_tokens,
    copied,
    image,
    refuse,
    untranslatable,
)
from harness.trajectories.messages import Turn, arguments_of, message_turns, text_of

_COPIED = {
    "model": "model", "max_tokens": "max_tokens", "temperature": "temperature", "top_p": "top_p",
    "top_k": "top_k", "stop_sequences": "stop",
}  # fmt: skip
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_STOPS = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use",
    "content_filter": "refusal",
}  # fmt: skip
_SPOKEN = ("text", "tool_use", "thinking", "redacted_thinking")
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
           429: "rate_limit_error"}  # fmt: skip
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature",
           "input_json_delta": "partial_json"}  # fmt: skip


class MessageWriter(Writer):
    """A chat answer as a message of content blocks."""

    def begin(self) -> list[Body]:
        """The first event of the stream."""
        message: Body = {
            "id": f"msg_{self.head.id}",
            "type": "message",
            "role": "assistant",
            "model": self.head.model or self.request.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return [{"type": "message_start", "message": message}]

    def end(self) -> list[Body]:
        """The last events: why it stopped, and the tokens."""
        finish = _STOPS.get(self.head.finish or "", "end_turn")
        tokens = chat_tokens(self.head.usage)
        reason = "stop_sequence" if self.head.stop else finish
        usage = {"input_tokens": 0, "output_tokens": 0}
        if tokens is not None:
            usage = {
                "input_tokens": tokens.prompt - tokens.cached,
                "cache_read_input_tokens": tokens.cached,
                "output_tokens": tokens.completion,
            }
        delta = {"stop_reason": reason, "stop_sequence": self.head.stop}
        ended = {"type": "message_delta", "delta": delta, "usage": usage}
        return [*self.close(), ended, {"type": "message_stop"}]

    def write(self, piece: Piece) -> list[Body]:
        """The events that a piece becomes."""
        if piece.kind == "call":
            self.calls[piece.call] = len(self.blocks)
            call_id = piece.id or f"call_{self.head.id}_{piece.call}"
            block: Body = {"type": "tool_use", "id": call_id, "name": piece.text, "input": {}}
            return self.open("call", block)
        if piece.kind == "arguments":
            delta = {"type": "input_json_delta", "partial_json": piece.text}
            return [self._delta(self.calls[piece.call], delta)]
        kind = "text" if piece.kind == "text" else "thinking"
        signature = {} if kind == "text" else {"signature": ""}
        opened = self.open(kind, {"type": kind, kind: "", **signature})
        delta = {"type": f"{kind}_delta", kind: piece.text}
        return [*opened, self._delta(len(self.blocks) - 1, delta)]

    def _delta(self, index: int, delta: Body) -> Body:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    def opened(self, index: int, block: Body) -> Body:
        """The event that opens a block."""
        return {"type": "content_block_start", "index": index, "content_block": block}

    def closed(self, index: int, kind: str) -> list[Body]:
        """The event that closes a block."""
        return [{"type": "content_block_stop", "index": index}]


class MessagesRounds(Rounds):
    """Content blocks: ours are left out, the others counted anew over all legs."""

    ends = ("delta", "stop")

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event, with the number that its block has for the client; the end is held back."""
        kind = event.get("type")
        if kind == "message_start":
            return [raw] if self.leg == 1 else []
        if kind == "message_delta":
            self._end["delta"] = {**event, "usage": self._count(event.get("usage"))}
            return []
        if kind == "message_stop":
            self._end["stop"] = event
            return []
        if "index" not in event:
            return [raw]
        block = mapping(event.get("content_block"))
        hidden = block.get("type") == "tool_use" and block.get("name") == self.tool
        number = self._place(count(event["index"]), hidden)
        return [] if number is None else [{**event, "index": number}]

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The assistant's message, and a user's with the results: they go upstream again."""
        message = {"role": "assistant", "content": answer.get("content")}
        tool_results = [
            {"type": "tool_result", "tool_use_id": id_, "content": text}
            for id_, text in results.items()
        ]
        return [message, {"role": "user", "content": tool_results}] if tool_results else [message]


class Messages(Reading, Translated):
    """The format of messages."""

    name = "messages"
    path = "/messages"
    limits = ("max_tokens",)
    rounds = MessagesRounds
    writer = MessageWriter

    def turns(self, body: Body) -> list[Turn]:
        """System prompt and messages; results of calls are turns of their own."""
        system = text_of(body.get("system"))
        messages = map(mapping, listing(body.get("messages")))
        spoken = [turn for message in messages for turn in message_turns(message)]
        return [Turn("system", system), *spoken] if system else spoken

    def reply(self, response: Body) -> Turn:
        """The content blocks of a response."""
        return message_turns({"role": "assistant", "content": response.get("content")})[0]

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; its prompt counts are apart by cache, here they are one."""
        usage = mapping(response.get("usage"))
        if not usage:
            return None
        cached = count(usage.get("cache_read_input_tokens"))
        written = count(usage.get("cache_creation_input_tokens"))
        prompt = count(usage.get("input_tokens")) + cached + written
        return Tokens(prompt, count(usage.get("output_tokens")), cached)

    def events_of(self, response: Body) -> list[Body]:
        """A whole message as the events of a stream."""
        delta = {name: value for name, value in response.items() if name.startswith("stop_")}
        return [
            {"type": "message_start", "message": {**response, "content": []}},
            *(
                {"type": "content_block_start", "index": index, "content_block": block}
                for index, block in enumerate(listing(response.get("content")))
            ),
            {"type": "message_delta", "delta": delta, "usage": response.get("usage")},
            {"type": "message_stop"},
        ]

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
                delta = mapping(event.get("delta"))
                block = blocks.setdefault(index, {"type": "text"})
                if name := _PIECES.get(string(delta.get("type"))):
                    block[name] = string(block.get(name)) + string(delta.get(name))
            elif kind == "message_delta":
                message |= mapping(event.get("delta"))
                usage = mapping(event.get("usage"))
                counts = {name: usage[name] for name in usage if usage[name] is not None}
                message["usage"] = {**mapping(message.get("usage")), **counts}
        for block in blocks.values():
            if (text := block.pop("partial_json", None)) is not None:
                block["input"] = arguments_of(text) if text else {}
        return {**message, "content": [blocks[index] for index in sorted(blocks)]}

    def tool(self, name: str, description: str, parameters: Body) -> Body:
        """A tool as a request offers it."""
        return {"name": name, "description": description, "input_schema": parameters}

    def error(self, message: str, status: int, param: str | None = None) -> Body:
        """An error as Anthropic's clients read it."""
        kind = _ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def request(self, body: Body) -> Body:
        """A request for messages as one for a chat completion.

        Raises:
            Refused: if it needs what chat completions do not have.
        """
        refuse(body, {"mcp_servers": "servers of tools", "container": "code that the server runs"})
        for message in map(mapping, listing(body.get("messages"))):
            for block in map(mapping, listing(message.get("content"))):
                if message.get("role") == "assistant" and block.get("type") not in _SPOKEN:
                    raise untranslatable(f"messages: a block of type {block.get('type')!r}")
        chat = copied(body, _COPIED)
        chat["messages"] = [chat_message(turn, _part) for turn in self.turns(body)]
        tools = [_tool(mapping(tool)) for tool in listing(body.get("tools"))]
        choice = mapping(body.get("tool_choice"))
        if tools:
            chat["tools"] = tools
            if choice.get("type") == "tool":
                function = {"name": choice.get("name")}
                chat["tool_choice"] = {"type": "function", "function": function}
            elif string(choice.get("type")) in _CHOICES:
                chat["tool_choice"] = _CHOICES[choice["type"]]
            if choice.get("disable_parallel_tool_use"):
                chat["parallel_tool_calls"] = False
        config = mapping(mapping(body.get("output_config")).get("format"))
        output_format = mapping(body.get("output_format")) or config
        if output_format.get("type") == "json_schema":
            schema = {"name": "answer", "schema": output_format.get("schema"), "strict": True}
            chat["response_format"] = {"type": "json_schema", "json_schema": schema}
        return chat


def _part(block: Body) -> Body:
    if block.get("type") == "text":
        return {"type": "text", "text": string(block.get("text"))}
    source = mapping(block.get("source"))
    if block.get("type") == "image" and source.get("type") == "base64":
        return image(f"data:{source.get('media_type')};base64,{source.get('data')}")
    if block.get("type") == "image" and source.get("type") == "url":
        return image(string(source.get("url")))
    raise untranslatable(f"messages: a block of type {block.get('type')!r}")


def _tool(tool: Body) -> Body:
    if tool.get("type") not in (None, "custom"):
        raise untranslatable(f"tools: {tool['type']!r} is a tool of Anthropic's servers")
    function = copied(tool, {"name": "name", "description": "description"})
    return {"type": "function", "function": {**function, "parameters": tool.get("input_schema")}}
