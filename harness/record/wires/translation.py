"""Translation of other formats for a server of chat completions, and of its answers back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

import httpx

from harness.core import count, listing, mapping, string
from harness.models import STREAMED, ChunkReader, Piece, Refused
from harness.record.wires.base import Body, Tokens
from harness.trajectories.messages import Turn, text_of


def chat_tokens(usage: Body) -> Tokens | None:
    """The `usage` of a chat completion; None if it is empty."""
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
        self.head = ChunkReader()
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
        events = [event for block in self._open.items() for event in self.closed(*block)]
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
    """Read an error of a server, in a stream or in place of an answer."""
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
        chat |= STREAMED
    return chat
