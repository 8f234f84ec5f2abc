"""How other formats are spoken to a server of chat completions, and its answers given in them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from harness.models import Refused
from harness.record.wires.base import Body, Tokens
from harness.trajectories.lenient import count, listing, mapping, string
from harness.trajectories.messages import Turn, text_of

Kind = Literal["reasoning", "text", "call", "arguments"]


@dataclass(frozen=True)
class Piece:
    """What one step of an answer adds.

    Attributes:
        kind: text of the thoughts, of the answer, the beginning of a call, or of its arguments.
        text: what is added; of a call its name.
        call: number of the call, from 0; its beginning comes first, and once.
        id: of a call that begins.
    """

    kind: Kind
    text: str
    call: int = 0
    id: str = ""


@dataclass
class PartialCall:
    """A call as far as it came; `kind` is `function` or `custom`."""

    kind: str
    number: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Head:
    """Reads the chunks of a chat answer, or a whole one, and notes what is not its content.

    Attributes:
        id: as the server named it.
        model: that answered.
        finish: `stop`, `length`, `tool_calls` or `content_filter`; None before the end.
        stop: the stop sequence that was met, where the server tells it.
        tokens: None until the server has counted.
        calls: tool calls in the order in which they began.
    """

    def __init__(self) -> None:
        self.id = self.model = ""
        self.finish: str | None = None
        self.stop: str | None = None
        self.tokens: Tokens | None = None
        self.calls: list[PartialCall] = []
        self._numbered: dict[int, PartialCall] = {}

    def name(self, event: Body) -> None:
        """Take the names that a chunk, or a whole answer, has for itself and its model."""
        self.id = string(event.get("id")) or self.id
        self.model = string(event.get("model")) or self.model

    def read(self, event: Body) -> Iterator[Piece]:
        """The pieces of a chunk, or of a whole answer, of its first choice."""
        self.name(event)
        self.tokens = chat_tokens(event) or self.tokens
        for choice in map(mapping, listing(event.get("choices"))[:1]):
            if choice.get("index"):
                continue
            delta = mapping(choice.get("delta")) or mapping(choice.get("message"))
            thoughts = string(delta.get("reasoning_content")) or string(delta.get("reasoning"))
            if thoughts:
                yield Piece("reasoning", thoughts)
            text = string(delta.get("content")) or string(delta.get("refusal"))
            if text:
                yield Piece("text", text)
            for number, call in enumerate(listing(delta.get("tool_calls"))):
                yield from self._part(number, mapping(call))
            self.finish = string(choice.get("finish_reason")) or self.finish
            self.stop = string(choice.get("stop_reason")) or self.stop

    def _part(self, number: int, part: Body) -> Iterator[Piece]:
        """The pieces of a part of a call.

        Servers number parallel calls, or give all of them the number 0, or none: another id on a
        known number is another call, and so is another name where there are no numbers.
        """
        kind, field = ("custom", "input") if "custom" in part else ("function", "arguments")
        function = mapping(part.get(kind))
        name, text = string(function.get("name")), string(function.get(field))
        own = string(part.get("id"))
        numbered = part.get("index") is not None
        index = count(part["index"]) if numbered else number
        call = self._numbered.get(index)
        renamed = call is not None and not numbered and bool(name) and call.name not in ("", name)
        if call is None or renamed or (own and call.id not in ("", own)):
            call = self._numbered[index] = PartialCall(kind, len(self.calls))
            self.calls.append(call)
        call.id = call.id or own
        call.arguments += text
        if name and not call.name:
            call.name = name
            yield Piece("call", name, call.number, call.id)
            text = call.arguments  # also what came before the name
        if call.name and text:
            yield Piece("arguments", text, call.number)


def chat_tokens(response: Body) -> Tokens | None:
    """The `usage` of a chat completion; None if the server gives none."""
    usage = mapping(response.get("usage"))
    if not usage:
        return None
    cached = count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return Tokens(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")), cached)


class Writer(ABC):
    """Writes a chat answer in another format, as the events of a stream. Use once.

    Args:
        request: of the client.

    Attributes:
        head: what is known of the answer besides its content.
        blocks: that were opened, in order.
        calls: the place of each call among the blocks.
    """

    def __init__(self, request: Body) -> None:
        self.request = request
        self.head = Head()
        self.blocks: list[Body] = []
        self.calls: dict[int, int] = {}
        self._open: dict[int, str] = {}

    def feed(self, chunk: Body) -> list[Body]:
        """The events that a chunk, or a whole completion, becomes."""
        return [event for piece in self.head.read(chunk) for event in self.write(piece)]

    @abstractmethod
    def begin(self) -> list[Body]:
        """The first events of the stream."""

    @abstractmethod
    def end(self) -> list[Body]:
        """The last events."""

    @abstractmethod
    def write(self, piece: Piece) -> list[Body]:
        """The events that a piece becomes."""

    @abstractmethod
    def opened(self, index: int, block: Body) -> Body:
        """The event that opens a block."""

    @abstractmethod
    def closed(self, index: int, kind: str) -> list[Body]:
        """The events that close a block."""

    def open(self, kind: str, block: Body) -> list[Body]:
        """The events that open a block, unless it continues a text or thought that is open.

        Calls stay open beside each other: their arguments may come in turns.
        """
        kinds = set(self._open.values())
        if kind != "call" and kinds == {kind}:
            return []
        closing = [] if kind == "call" and kinds == {"call"} else self.close()
        index = len(self.blocks)
        self._open[index] = kind
        self.blocks.append(block)
        return [*closing, self.opened(index, block)]

    def close(self) -> list[Body]:
        """The events that close the blocks that are open."""
        events = [event for place in self._open.items() for event in self.closed(*place)]
        self._open.clear()
        return events


class Translated(ABC):
    """A format that is translated for whoever speaks chat completions only: `models.Format`."""

    writer: type[Writer]
    """Writes chat answers in this format."""

    @abstractmethod
    def assemble(self, events: Sequence[Body]) -> Body:
        """The whole response that a stream's events make."""

    def whole(self, body: Body, completion: Body) -> Body:
        """A completion as the response to the request `body`."""
        writer = self.writer(body)
        writer.head.name(completion)
        return self.assemble([*writer.begin(), *writer.feed(completion), *writer.end()])

    async def events(self, body: Body, chunks: AsyncIterator[Body]) -> AsyncGenerator[Body]:
        """The chunks of a completion as events of this format, each as soon as it has come.

        Raises:
            Refused: if the stream says so.
            httpx.RemoteProtocolError: if it ends before its `finish_reason`.
        """
        writer, begun = self.writer(body), False
        async for chunk in chunks:
            problem = error_of(chunk)
            if problem is not None:
                raise Refused(500, problem)
            if not begun:  # the first chunk names the answer
                writer.head.name(chunk)
                for event in writer.begin():
                    yield event
                begun = True
            for event in writer.feed(chunk):
                yield event
        if not begun or writer.head.finish is None:
            raise httpx.RemoteProtocolError("the chat stream ended before its finish_reason")
        for event in writer.end():
            yield event


def error_of(event: Body) -> str | None:
    """What a server says went wrong, in a stream or in place of an answer."""
    problem = event.get("error")
    if problem is None:
        return None
    return string(mapping(problem).get("message")) or json.dumps(problem, ensure_ascii=False)


def untranslatable(reason: str) -> Refused:
    """The error of a request that holds what chat completions cannot say."""
    return Refused(
        400, f"the upstream speaks chat completions only, which cannot say this: {reason}"
    )


def refuse(fields: Body, reasons: dict[str, str]) -> None:
    """Raise for the first of these fields that says something.

    Raises:
        Refused: with the field and the reason.
    """
    for name, reason in reasons.items():
        if fields.get(name):
            raise untranslatable(f"{name}: {reason}")


def chat_message(turn: Turn, part: Callable[[Body], Body]) -> Body:
    """A turn as a message of a chat.

    Args:
        turn: of a conversation.
        part: a block of its content as a part of a message.
    """
    if turn.role == "assistant":
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.json},
            }
            for call in turn.calls
        ]
        message: Body = {"role": "assistant", "content": text_of(turn.content)}
        return message | ({"tool_calls": calls} if calls else {})
    content: Any = turn.content
    if not isinstance(content, str):
        content = [part(mapping(block)) for block in listing(content)]
        # A text where all are texts: not every server takes parts.
        if all(block.get("type") == "text" for block in content):
            content = text_of(content)
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id, "content": content}
    return {"role": turn.role, "content": content}


def image(url: str) -> Body:
    """An image as a part of a message."""
    return {"type": "image_url", "image_url": {"url": url}}


def copied(body: Body, names: dict[str, str]) -> Body:
    """The fields that only change their name; a stream ends with the number of tokens."""
    chat = {new: body[old] for old, new in names.items() if body.get(old) is not None}
    if body.get("stream"):
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat
