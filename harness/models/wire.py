"""The body of a chat request, its digest, the bound on what it may use, and how a reply is read:
whole, or from the chunks of a stream.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, cast

from pydantic import JsonValue

from harness.core import (
    BadInput,
    Unreachable,
    Usage,
    count,
    digest,
    listing,
    mapping,
    split_thoughts,
    string,
)
from harness.models.budget import Price
from harness.models.types import (
    Body,
    Message,
    ModelCall,
    Refused,
    Reply,
    Sampling,
)

_MOST_TOKENS = 10**9
"""Of one call; what claims more is no count."""
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks for the chunks of an answer, the last of which counts the tokens."""
_RESERVED = ("model", "messages", "tools", "response_format", "stream", "stream_options", "n")


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, JsonValue]] | None,
    sampling: Sampling,
    response_format: Mapping[str, JsonValue] | None,
) -> Body:
    """Build the body for `/chat/completions`, with every parameter that is set.

    Raises:
        BadInput: if `sampling.extra` sets what has a parameter of its own, or asks for a stream or
            several choices.
    """
    body: Body = {"model": model, "messages": [dict(message) for message in messages]}
    if tools:
        body["tools"] = [dict(tool) for tool in tools]
    if response_format is not None:
        body["response_format"] = dict(response_format)
    values = sampling.model_dump(mode="json", exclude={"extra", "timeout_s"}, exclude_none=True)
    for name, value in sampling.extra.items():
        if name in _RESERVED or name in values:
            raise BadInput(f"sampling: extra may not set {name!r} (set to {value!r})")
    return body | values | sampling.extra


def request_digest(kind: str, body: Body) -> str:
    """Key of a request in the cache: digest of the endpoint kind and of the whole body.

    Raises:
        BadInput: if the body is not JSON.
    """
    try:
        return digest({"kind": kind, "body": body})
    except (TypeError, ValueError) as error:
        raise BadInput(f"the request cannot be written as JSON: {error}") from error


_BROKEN_ENDS = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""Values of `finish_reason` that servers give where generation failed."""
_BUSY = re.compile(r"rate.?limit|too.many.requests|overload", re.IGNORECASE)
_NO_KEY = re.compile(r"authentication|api.?key|permission", re.IGNORECASE)
_NO_REQUEST = re.compile(r"invalid|not.found|unsupported|context.length|content.filter", re.I)


def refusal_of(answer: Body) -> Refused | None:
    """Return the error that a body of HTTP 200, or a chunk of a stream, carries; None without one.

    Gateways to several providers send the status before they know the outcome. The error then
    stands at the top, in the choice or in its message, often beside `content: null`, or the
    `finish_reason` alone says it. Its status is its `code` or `status` where that is one of HTTP,
    else the one that its code, type or message names; where none does, 502: the server failed.
    """
    choice = mapping(next(iter(listing(answer.get("choices"))), None))
    message = mapping(choice.get("message")) or mapping(choice.get("delta"))
    error_object = answer if answer.get("object") == "error" else None
    error = answer.get("error") or choice.get("error") or message.get("error") or error_object
    finish = string(choice.get("finish_reason"))
    if not error and finish not in _BROKEN_ENDS:
        return None
    fields = mapping(error)
    text = string(fields.get("message")) or str(error or f"finish_reason {finish!r}")
    status = 502
    for code in (fields.get(name) for name in ("code", "status", "status_code")):
        with suppress(ValueError, TypeError, OverflowError):
            if 400 <= int(code or 0) < 600:
                status = int(code or 0)
                break
    else:
        names = " ".join(string(fields.get(name)) for name in ("code", "type"))
        patterns = (
            (429, _BUSY, f"{names} {text}"),
            (401, _NO_KEY, names),
            (400, _NO_REQUEST, names),
        )
        status = next((code for code, name, words in patterns if name.search(words)), status)
    headers = mapping(mapping(fields.get("metadata")).get("headers"))
    return Refused(status, text, headers={name.lower(): str(headers[name]) for name in headers})


def read_response(content: bytes, where: str) -> Body:
    """Decode the body of an HTTP 200.

    Raises:
        Refused: if it carries an error instead, with the error's status, or is no chat completion,
            as HTTP 502: it may have broken off. The message quotes it.
        Unreachable: if it is a web page: asking `where` again would bring the same.
    """
    try:
        text = content.decode("utf-8-sig")  # of bytes json.loads takes half characters, and UTF-16
        response: Any = json.loads(text)
        if refusal := refusal_of(mapping(response)):
            raise refusal
        finish = response["choices"][0]["finish_reason"]
        message = response["choices"][0]["message"]
        if isinstance(message, dict) and (finish is None or isinstance(finish, str)):
            fields = cast("Body", message)
            calls: list[Any] = fields.get("tool_calls") or []
            thoughts = (fields.get("reasoning_content"), fields.get("reasoning"))
            plain = isinstance(fields.get("content"), str) and not any(thoughts)
            if calls or not plain:
                read_reply("", response, Usage(), cached=False)
            if not all(call["function"]["name"] for call in calls):
                raise ValueError("a tool call without a name")
            if "\\ud" in text or "\\uD" in text:  # half a character has no form in UTF-8
                json.dumps(response, ensure_ascii=False).encode()
            return response
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    excerpt = content[:200].decode("utf-8", "replace")
    fault = (
        f"expected a chat completion as JSON, got {excerpt!r} ({len(content)} bytes); is this the "
        "base URL of an OpenAI-compatible server (it often ends in /v1)?"
    )
    if excerpt.lstrip().startswith("<"):
        from harness.core.redaction import redact

        raise Unreachable(f"{where}: {redact(fault)}")
    raise Refused(502, fault)


def usage_of(response: Body, price: Price | None, seconds: float) -> Usage:
    """Tokens and money of a response; unreported if the server gave no usage that can be true."""

    def count(fields: Any, name: str) -> int:
        """A count; -1 for what is none."""
        value: Any = mapping(fields).get(name)
        value = 0 if value is None else value
        return value if type(value) is int and 0 <= value <= _MOST_TOKENS else -1

    fields = mapping(response.get("usage"))
    prompt, completion = count(fields, "prompt_tokens"), count(fields, "completion_tokens")
    if min(prompt, completion) < 0 or not prompt + completion:  # no call is free of tokens
        free = price is not None and not (price.input or price.output)
        return Usage(calls=1, unreported=1, cost_usd=0.0 if free else None, seconds=seconds)
    cached = min(max(0, count(fields.get("prompt_tokens_details"), "cached_tokens")), prompt)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cost_usd=None if price is None else price.cost(prompt, completion, cached),
        seconds=seconds,
    )


def read_reply(call_id: str, response: Body, usage: Usage, *, cached: bool) -> Reply:
    """The reply that a stored or fresh response holds."""
    choice = response["choices"][0]
    message: dict[str, Any] = choice["message"]
    calls = tuple(
        ModelCall(
            id=str(call.get("id") or f"call_{index}"),
            name=str(call["function"]["name"]),
            arguments=str(call["function"].get("arguments") or "{}"),
        )
        for index, call in enumerate(message.get("tool_calls") or [])
        if call.get("function")
    )
    content: Any = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning") or None
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        content = "".join(str(part.get("text") or "") for part in parts)
    content = str(content or "")
    thoughts, text = split_thoughts(content)
    if thoughts:
        reasoning = "\n\n".join(filter(None, (reasoning, thoughts)))
    return Reply(
        call_id=call_id,
        text=text,
        reasoning=reasoning,
        raw_text=None if text == content else content,
        tool_calls=calls,
        finish_reason=choice["finish_reason"] or "stop",
        model=str(response.get("model") or ""),
        usage=usage,
        cached=cached,
    )


@dataclass(frozen=True)
class Piece:
    """Addition that one step of an answer makes.

    Attributes:
        kind: text of the thoughts, of the answer, the beginning of a call, or of its arguments.
        text: what is added; of a call its name.
        call: number of the call, from 0; its beginning comes first, and once.
        id: of a call that begins.
    """

    kind: Literal["reasoning", "text", "call", "arguments"]
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


class ChunkReader:
    """Reads the chunks of a chat answer, or a whole one, and notes what is not its content.

    Attributes:
        id: as the server named it.
        model: that answered.
        finish: `stop`, `length`, `tool_calls` or `content_filter`; None before the end.
        stop: the stop sequence that was met, where the server tells it.
        usage: tokens as the server counted them; empty before.
        calls: tool calls in the order in which they began.
    """

    def __init__(self) -> None:
        self.id = self.model = ""
        self.finish: str | None = None
        self.stop: str | None = None
        self.usage: Body = {}
        self.calls: list[PartialCall] = []
        self._numbered: dict[int, PartialCall] = {}

    def name(self, event: Body) -> None:
        """Take the names that a chunk, or a whole answer, has for itself and its model."""
        self.id = string(event.get("id")) or self.id
        self.model = string(event.get("model")) or self.model

    def read(self, event: Body) -> Iterator[Piece]:
        """The pieces of a chunk, or of a whole answer, of its first choice."""
        self.name(event)
        self.usage = mapping(event.get("usage")) or self.usage
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
        part_id = string(part.get("id"))
        numbered = part.get("index") is not None
        index = count(part["index"]) if numbered else number
        call = self._numbered.get(index)
        renamed = call is not None and not numbered and bool(name) and call.name not in ("", name)
        if call is None or renamed or (part_id and call.id not in ("", part_id)):
            call = self._numbered[index] = PartialCall(kind, len(self.calls))
            self.calls.append(call)
        call.id = call.id or part_id
        call.arguments += text
        if name and not call.name:
            call.name = name
            yield Piece("call", name, call.number, call.id)
            text = call.arguments  # also what came before the name
        if call.name and text:
            yield Piece("arguments", text, call.number)


def assembled(chunks: Iterable[Any]) -> Body:
    """The completion that the chunks of a stream make; of several choices, the first.

    What is not in the form of the OpenAI API is passed over; a stream that broke off leaves the
    `finish_reason` None.
    """
    reader, completion, message = ChunkReader(), Body(), Body(role="assistant", content="")
    choice, logprobs = Body(index=0, finish_reason=None), dict[str, list[Any]]()
    for chunk in map(mapping, chunks):
        deque(reader.read(chunk), maxlen=0)
        _update(completion, chunk)
        for part in map(mapping, listing(chunk.get("choices"))):
            if part.get("index"):
                continue
            _update(choice, part)
            for name, rows in mapping(part.get("logprobs")).items():
                logprobs.setdefault(name, []).extend(listing(rows))
            delta = mapping(part.get("delta")) or mapping(part.get("message"))
            for name, value in delta.items():
                if isinstance(value, str) and name != "role":
                    message[name] = string(message.get(name)) + value
                elif value is not None:
                    message[name] = value
    message.pop("tool_calls", None)
    if reader.calls:
        message["content"] = message["content"] or None
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": call.kind,
                call.kind: {
                    "name": call.name,
                    "arguments" if call.kind == "function" else "input": call.arguments,
                },
            }
            for call in reader.calls
        ]
    choice = {name: choice[name] for name in choice if name != "delta"} | {"message": message}
    choices = [choice | ({"logprobs": logprobs} if logprobs else {})]
    return {**completion, "object": "chat.completion", "choices": choices}


def _update(fields: Body, newer: Body) -> None:
    """Take what a later chunk says; nothing is unsaid by a null."""
    fields.update({name: newer[name] for name in newer if newer[name] or name not in fields})


class ChunkQueue(asyncio.Queue["Body | None"]):
    """The chunks of one answer, for whoever listens while it comes; None behind the last.

    They hold what is added to the answer. Its end is not among them: it is known from the reply,
    once that is recorded.

    Attributes:
        begun: whether a chunk with content was handed on, so that no other try can take its place.
        call_id: digest of the request, which names the chunks.
    """

    begun = False
    call_id = ""

    def begin(self, call_id: str) -> None:
        """Listen to a request; an opening without content that another try sent is forgotten."""
        self.call_id, self._opening = call_id, list[Body]()

    def add(self, chunk: Any) -> None:
        """Take what a chunk of the server adds to the first choice."""
        for part in map(mapping, listing(mapping(chunk).get("choices"))[:1]):
            delta = mapping(part.get("delta"))
            if delta and not part.get("index"):
                head = {"id": self.call_id, "object": "chat.completion.chunk", "created": 0}
                choices = [{**part, "finish_reason": None}]
                self._opening.append({**head, "model": chunk.get("model"), "choices": choices})
                self.begun |= any(value for name, value in delta.items() if name != "role")
                if self.begun:
                    for held in self._opening:
                        self.put_nowait(held)
                    self._opening.clear()


# Set around a call whose answer is to come piece by piece, where its server streams.
LISTENER: ContextVar[ChunkQueue | None] = ContextVar("who listens to a model call", default=None)
