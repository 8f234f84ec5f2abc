"""What a model call takes and gives. Every room speaks to models through these."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, JsonValue

from harness.core import Usage, Value, listing, mapping, string

Role = Literal["agent", "analyst", "merger", "proposer", "checker", "judge"]
Message = dict[str, Any]
"""A chat message in the form of the OpenAI API."""
Body = dict[str, Any]
"""A request or a response of `/chat/completions`, or a chunk of a streamed one, as JSON."""

Backend = Callable[[Body], Awaitable["Body | AsyncGenerator[Body]"]]
"""Answers chat requests in this process: the embedded engine, a script, a recording.

It takes the body of a request and gives the whole completion; where the body asks for a stream, it
may give a generator of chunks instead, to be closed. It raises :class:`Refused` for what it does
not answer.
"""


class Refused(Exception):
    """A back end does not answer a request.

    Attributes:
        status: HTTP status; below 500 the request is at fault.
        param: the parameter at fault, as the client wrote it.
        headers: to send along.
    """

    def __init__(
        self,
        status: int,
        message: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.headers = status, param, dict(headers or {})


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
    whole = answer if answer.get("object") == "error" else None
    error = answer.get("error") or choice.get("error") or message.get("error") or whole
    finish = choice.get("finish_reason")
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
        status = next((code for code, name, said in patterns if name.search(said)), status)
    headers = mapping(mapping(fields.get("metadata")).get("headers"))
    return Refused(status, text, headers={name.lower(): str(headers[name]) for name in headers})


Limit = Annotated[int, Field(lt=2**31)] | None
"""Of tokens of one reply; the call store has no room for larger numbers."""


class Sampling(Value):
    """Sampling parameters; every one that is set goes on the wire.

    `extra` is merged into the request body (`top_k`, `min_p`, `chat_template_kwargs`, ...).
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: Limit = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    timeout_s: float = 600.0
    extra: dict[str, JsonValue] = {}


class ModelCall(Value):
    """A tool call that the model asked for; `arguments` is the raw JSON text it wrote."""

    id: str
    name: str
    arguments: str


class Reply(Value):
    """One completed call.

    Attributes:
        call_id: digest of the request: the key in the request cache.
        text: the assistant's text, without reasoning.
        reasoning: reasoning text, where the server separates it.
        tool_calls: native tool calls, in order.
        finish_reason: as the server said (`stop`, `length`, `tool_calls`, ...).
        model: the model name that the server reported.
        usage: of this call; all zero tokens are still counted when it came from the cache.
        cached: whether it was answered from the request cache (nothing was paid).
    """

    call_id: str
    text: str
    reasoning: str | None = None
    tool_calls: tuple[ModelCall, ...] = ()
    finish_reason: str
    model: str
    usage: Usage
    cached: bool = False


Layer = Callable[["Model"], "Model"]
"""What stands between an agent and its model at the gateway, such as a guard."""


class Model(Protocol):
    """A model that answers chat requests.

    The client implements it, whatever the back end. The limits of an attempt and a worker's
    connection to the driver wrap one.

    Attributes:
        spec: the spec string.
        simulated: whether a simulated model answers.
        constrains: whether its server holds replies to a JSON schema (`response_format`).
    """

    spec: str
    simulated: bool
    constrains: bool

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """Answer one request, from the cache if the same request was answered before.

        Raises:
            Unreachable: if the endpoint does not answer or refuses the key.
            LimitReached: if the budget cannot hold the worst case of this call.
            BadInput: if the endpoint rejects the request (HTTP 400, 404, 422).
        """
        ...
