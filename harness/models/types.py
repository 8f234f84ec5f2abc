"""Request and answer of a model call. Every room speaks to models through these."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, JsonValue

from harness.core import Usage, Value

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


Limit = Annotated[int, Field(lt=2**31)] | None
"""Of tokens of one reply; the call store has no room for larger numbers."""


class Sampling(Value):
    """Sampling parameters; every one that is set goes on the wire.

    Attributes:
        temperature: 0 takes the most likely token.
        top_p: least share of the probability that is sampled from.
        max_tokens: of one completion; default the server's.
        presence_penalty: on tokens that stand in the text already.
        frequency_penalty: the same, for every time that they do.
        stop: texts that end a completion.
        seed: sent with every call.
        timeout_s: seconds that a call may take.
        extra: merged into the request body (`top_k`, `min_p`, `chat_template_kwargs`, ...).
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
        reasoning: reasoning text, separated by the server or taken out of the text.
        raw_text: the text as it came, where reasoning was taken out of it; else None.
        tool_calls: native tool calls, in order.
        finish_reason: as the server said (`stop`, `length`, `tool_calls`, ...).
        model: the model name that the server reported.
        usage: of this call; all zero tokens are still counted when it came from the cache.
        cached: whether it was answered from the request cache (nothing was paid).
    """

    call_id: str
    text: str
    reasoning: str | None = None
    raw_text: str | None = None
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
