"""The chat side of a translation: pieces of a stream, and whole answers as the same pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.record.wires import Body, Tokens, wire_of
from harness.trajectories.lenient import count, listing, mapping, string

PATH = "/chat/completions"
CHAT = wire_of("POST", PATH)
Kind = Literal["reasoning", "text", "call", "arguments"]


class Untranslatable(Exception):
    """The request holds what chat completions cannot say; the message names it."""


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
class _Call:
    """A call as far as it came; `waiting` are arguments that came before its name."""

    number: int
    id: str = ""
    name: str = ""
    waiting: str = ""


@dataclass
class Head:
    """What is known of an answer besides its content.

    Attributes:
        id: as the server named it.
        model: that answered.
        finish: `stop`, `length`, `tool_calls` or `content_filter`; None before the end.
        stop: the stop sequence that was met, where the server tells it.
        tokens: None until the server has counted.
    """

    id: str = ""
    model: str = ""
    finish: str | None = None
    stop: str | None = None
    tokens: Tokens | None = None
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call], repr=False)
    _begun: int = field(default=0, repr=False)

    def name(self, event: Body) -> None:
        """Take the names that a chunk, or a whole answer, has for itself and its model."""
        self.id = string(event.get("id")) or self.id
        self.model = string(event.get("model")) or self.model

    def read(self, event: Body) -> Iterator[Piece]:
        """The pieces of a chunk, or of a whole answer; what else it says is noted here."""
        self.name(event)
        if CHAT is not None:
            self.tokens = CHAT.tokens(event) or self.tokens
        for raw in listing(event.get("choices"))[:1]:
            choice = mapping(raw)
            delta = mapping(choice.get("delta")) or mapping(choice.get("message"))
            yield from _pieces(delta)
            for number, call in enumerate(listing(delta.get("tool_calls"))):
                yield from self._part(number, mapping(call))
            self.finish = string(choice.get("finish_reason")) or self.finish
            self.stop = string(choice.get("stop_reason")) or self.stop

    def _part(self, number: int, part: Body) -> Iterator[Piece]:
        """The pieces of a part of a call.

        Servers number parallel calls, or give all of them the number 0, or none: another id on a
        known number is another call, and so is another name where there are no numbers.
        """
        function = mapping(part.get("function"))
        name, text = string(function.get("name")), string(function.get("arguments"))
        own, numbered = string(part.get("id")), part.get("index") is not None
        index = count(part["index"]) if numbered else number
        call = self._calls.get(index)
        renamed = call is not None and not numbered and bool(name) and call.name not in ("", name)
        if call is None or renamed or (own and call.id not in ("", own)):
            call = self._calls[index] = _Call(self._begun)
            self._begun += 1
        call.id = call.id or own
        if name and not call.name:
            call.name = name
            yield Piece("call", name, call.number, call.id)
            text, call.waiting = call.waiting + text, ""
        if not call.name:
            call.waiting += text
        elif text:
            yield Piece("arguments", text, call.number)


def _pieces(delta: Body) -> Iterator[Piece]:
    thoughts = string(delta.get("reasoning_content")) or string(delta.get("reasoning"))
    if thoughts:
        yield Piece("reasoning", thoughts)
    text = string(delta.get("content")) or string(delta.get("refusal"))
    if text:
        yield Piece("text", text)


def error_of(event: Body) -> str | None:
    """What a server says went wrong, in a stream or in place of an answer."""
    problem = event.get("error")
    if problem is None:
        return None
    return string(mapping(problem).get("message")) or json.dumps(problem, ensure_ascii=False)


def refuse(fields: Body, reasons: dict[str, str]) -> None:
    """Raise for the first of these fields that says something.

    Raises:
        Untranslatable: with the field and the reason.
    """
    for name, reason in reasons.items():
        if fields.get(name):
            raise Untranslatable(f"{name}: {reason}")


def image(url: str) -> dict[str, Any]:
    """An image as a part of a message."""
    return {"type": "image_url", "image_url": {"url": url}}


def content_of(parts: list[Any]) -> Any:
    """Parts as a message's content: a text where all are texts, because not every server takes
    parts."""
    if all(part.get("type") == "text" for part in parts):
        return "\n\n".join(string(part.get("text")) for part in parts)
    return parts


def copied(body: Body, names: dict[str, str]) -> Body:
    """The fields that only change their name, or nothing."""
    return {new: body[old] for old, new in names.items() if body.get(old) is not None}


def streamed(body: Body) -> Body:
    """What asks for a stream that ends with the number of tokens."""
    if not body.get("stream"):
        return {}
    return {"stream": True, "stream_options": {"include_usage": True}}
