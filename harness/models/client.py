"""Every call of a model: cache, budget, retries and record around an endpoint."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from harness.core import BadInput, decoding, tracing
from harness.models import transport
from harness.models.budget import (
    PRICES_VARIABLE,
    Budget,
    Price,
    Reservation,
    Spend,
    completion_limit,
    price_of,
    prompt_bound,
)
from harness.models.calls import CallStore
from harness.models.concurrency import (
    LONGEST_WAIT_S,
    Patience,
    RateGate,
    hedged,
    tried_in_vain,
    waiting,
)
from harness.models.endpoints import Endpoint, ModelSpec, parse_spec, resolve
from harness.models.transport import Connections, Fault
from harness.models.types import Body, Message, Reply, Role, Sampling
from harness.models.wire import (
    LISTENER,
    read_reply,
    request_body,
    request_digest,
    usage_of,
)

DEFAULT_MAX_TOKENS = 4096
"""Sent where a budget needs a bound on the completion and none is configured."""
LOCAL_MAX_TOKENS = 1024

_SETTINGS = (
    "temperature", "top_p", "top_k", "max_tokens", "presence_penalty", "frequency_penalty",
    "stop", "seed",
)  # fmt: skip
_log = logging.getLogger("harness.models")


class ChatModel:
    """A model behind an endpoint. Made by :func:`open_model`.

    Attributes:
        spec: the spec string.
        simulated: whether a simulated model answers, now or when the calls were recorded.
        constrains: whether its server holds replies to a JSON schema.
        role: who asks, in the record of calls.
        price: of its tokens; None if that is unknown.
        slots: calls that its back end answers at one time; None where that is not known.
    """

    def __init__(
        self,
        spec: ModelSpec,
        endpoint: Endpoint,
        calls: CallStore,
        budget: Budget,
        sampling: Sampling,
        concurrency: int,
        role: Role,
        hedge: bool,
    ) -> None:
        self.spec = str(spec)
        self.simulated, self.constrains = endpoint.simulated, endpoint.constrains
        self.role: Role = role
        self._endpoint, self.slots = endpoint, endpoint.slots
        self.price: Price | None = price_of(spec, official=endpoint.official)
        self._calls = calls
        self._budget = budget
        self._sampling = sampling
        self._connections = Connections(endpoint, self._bearable(concurrency))
        self._gate = RateGate()
        self._rng = random.Random()
        self._warned = False
        self._patience = Patience() if hedge else None
        self._answered: set[str] = set()

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """Answer one request, from the cache if the same request was answered before.

        Args:
            messages: the conversation, in the form of the OpenAI API.
            tools: function tools that the model may call.
            sampling: in place of the sampling parameters that the model was opened with.
            response_format: as in the OpenAI API.

        Raises:
            Unreachable: if the endpoint does not answer, refuses the key or answers nonsense.
            LimitReached: if the budget cannot hold the worst case of this call.
            BadInput: if the endpoint rejects the request (HTTP 400, 404, 422).
        """
        settings = sampling or self._sampling
        body = request_body(self._endpoint.model, messages, tools, settings, response_format)
        call_id = request_digest(self._endpoint.kind, body)
        with chatting(self._endpoint, body, call_id, self.role) as chat:
            reply = await self._calls.once(call_id, lambda: self._answer(call_id, body, settings))
            if tracing.watched():
                usage = reply.usage
                chat.add(
                    input_tokens=usage.prompt_tokens,
                    output_tokens=usage.completion_tokens,
                    provider_cached_tokens=usage.cached_tokens,
                    cost_usd=usage.cost_usd,
                    cached=reply.cached,
                    finish_reason=reply.finish_reason,
                    response_model=reply.model,
                )
                chat.say(messages=body["messages"], tools=body.get("tools"), reply=reply)
            return reply

    def resize(self, concurrency: int) -> None:
        """Let so many calls be in flight from now on, at most; those under way go on."""
        self._connections.resize(self._bearable(concurrency))

    def _bearable(self, concurrency: int) -> int:
        """No more than the back end answers: the others wait here, where no clock runs."""
        return min(concurrency, self.slots or concurrency)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connections.aclose()

    async def _answer(self, call_id: str, body: Body, sampling: Sampling) -> Reply:
        stored = await self._calls.find(call_id)
        if stored is not None:
            return read_reply(call_id, stored.response, stored.usage, cached=True)
        slots, bounded = self._connections.slots, self._bounded(body)

        async def send() -> Reply:
            async with slots:
                return await self._send(call_id, bounded, sampling.timeout_s)

        try:
            if self._patience is None or LISTENER.get() is not None:
                return await send()  # chunks of two answers would not go together
            return await hedged(send, self._patience, lambda: not slots.locked())
        finally:
            self._answered.discard(call_id)

    def _bounded(self, body: Body) -> Body:
        """Add a bound on the completion where a budget needs one and none is configured."""
        kind = self._endpoint.kind
        if completion_limit(body) or kind == "replay" or not self._budget.bounds_tokens:
            return body
        limit = LOCAL_MAX_TOKENS if kind == "local" else DEFAULT_MAX_TOKENS
        if not self._warned:
            self._warned = True
            _log.warning(
                "%s: a budget needs a bound on each reply; max_tokens=%d is sent (set max_tokens "
                "to choose another)",
                self.spec,
                limit,
            )
        return {**body, "max_tokens": limit}

    async def _send(self, call_id: str, body: Body, timeout_s: float) -> Reply:
        """Send until there is an answer, a final refusal, or the attempts are used up."""
        prompt, completion = prompt_bound(body), completion_limit(body) or 0
        usd = self.price.cost(prompt, completion) if self.price else 0.0
        worst = Spend(usd, prompt + completion, 1)
        attempt = 1
        while True:
            with waiting():
                await self._gate.wait()
            reservation = await self._budget.reserve(worst)
            started = time.monotonic()
            try:
                return await self._attempt(call_id, body, timeout_s, reservation)
            except Fault as error:
                fault = error
            finally:
                reservation.forfeit()  # does nothing once it is settled
            tried_in_vain(time.monotonic() - started)
            attempts = transport.CONNECT_ATTEMPTS if fault.unsent else transport.ATTEMPTS
            asked_s = fault.retry_after_s or 0.0
            if not fault.retried or attempt >= attempts or asked_s > LONGEST_WAIT_S:
                raise fault.error from fault.__cause__
            if asked_s:
                self._gate.refused(asked_s)
            reason = type(fault.error).__name__
            tracing.note("retry", attempt=attempt, error=reason, spec=self.spec)
            with waiting():
                await asyncio.sleep(max(asked_s, transport.backoff_s(attempt, self._rng)))
            attempt += 1

    async def _attempt(
        self, call_id: str, body: Body, timeout_s: float, reservation: Reservation
    ) -> Reply:
        """Send once; what the server may have done is settled and recorded either way.

        Raises:
            Fault: if there is no answer.
        """
        kind, slots, listener = self._endpoint.kind, self._connections.slots, LISTENER.get()
        if listener is not None:
            listener.begin(call_id)
        number = await self._calls.sent(call_id, self.role, kind, body, reservation.worst)
        started = time.monotonic()
        try:
            headers, response = await self._connections.post(body, timeout_s, listener)
        except Fault as fault:
            begun = listener is not None and listener.begun
            fault.lost |= begun  # whatever the error says, tokens were made
            if fault.unsent:
                reservation.release()
            elif not fault.lost:
                reservation.refused()
            await self._calls.failed(number, str(fault.error), lost=fault.lost)
            if fault.busy:
                slots.refused(started)
            self._gate.pause(fault.quota_pause_s)
            fault.retried &= not begun
            raise
        except asyncio.CancelledError:
            if call_id in self._answered or listener is not None:
                late = "another request was answered first" if listener is None else "nobody waits"
                await self._calls.failed(number, f"cancelled: {late}", lost=True)
            raise
        self._gate.answered()
        slots.answered(started)
        self._gate.pause(transport.quota_pause_s(headers))
        seconds = time.monotonic() - started
        usage = usage_of(response, self.price, seconds)
        if not usage.unreported:  # unknown tokens stay charged with the worst case
            reservation.settle(Spend(usage.cost_usd or 0.0, usage.tokens, 1))
        await self._calls.done(number, response, usage)
        if self._patience is not None:
            self._patience.saw(seconds)
            self._answered.add(call_id)
        with decoding(f"the answer of {self.spec}"):  # a recording may hold anything
            return read_reply(call_id, response, usage, cached=kind == "replay")


def chatting(
    endpoint: Endpoint, body: Body, call_id: str, role: Role
) -> AbstractContextManager[tracing.Block]:
    """A model call as an operation for whoever watches, as a block."""
    if not tracing.watched():
        return tracing.operation("chat", "")
    attributes: dict[str, Any] = {
        name: body[name] for name in _SETTINGS if body.get(name) is not None
    }
    url = urlsplit(endpoint.url)
    if endpoint.backend is None and url.hostname:
        port = url.port or (443 if url.scheme == "https" else 80)
        attributes |= {"host": url.hostname, "port": port}
    return tracing.operation(
        "chat", endpoint.model, call_id=call_id, role=role, provider=endpoint.kind, **attributes
    )


def open_model(
    spec: ModelSpec | str,
    *,
    base_url: str | None = None,
    calls: CallStore | None = None,
    budget: Budget | None = None,
    sampling: Sampling | None = None,
    concurrency: int = 16,
    role: Role = "agent",
    hedge: bool = False,
) -> ChatModel:
    """Open a model.

    Args:
        spec: such as `openai/gpt-4.1-mini`; see :func:`harness.models.parse_spec`.
        base_url: endpoint of `openai/` and `vllm/` models, before OPENAI_BASE_URL and
            VLLM_BASE_URL.
        calls: where calls are recorded and answered from; default in memory. What it says was
            spent before counts against the budget.
        budget: limits, which several models may share; default none.
        sampling: sampling parameters of calls that bring none of their own.
        concurrency: calls in flight at one time, at most; fewer where the server refuses them, or
            the embedded engine has fewer slots.
        role: who asks, for the record.
        hedge: send a request a second time when its answer is long overdue (see
            :mod:`harness.models.concurrency`); for fleets that wait for their slowest member.

    Raises:
        BadInput: for a spec, file or profile that does not exist, a missing key, or a money
            budget for a model of unknown price.
    """
    if concurrency < 1:
        raise BadInput(f"concurrency: expected 1 or more, got {concurrency!r}")
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
    if parsed.kind == "none" and role != "agent":
        raise BadInput(f"a model is needed for the role {role!r}: expected another than 'none'")
    endpoint = resolve(parsed, base_url)
    store = calls or CallStore()
    limits = budget or Budget()
    if limits.usd is not None and price_of(parsed, official=endpoint.official) is None:
        raise BadInput(
            f"a money budget cannot hold for {parsed}: its price is unknown; add it to a table "
            f"named by {PRICES_VARIABLE}, or use --budget-tokens"
        )
    limits.adopt(store.name, store.spend())
    return ChatModel(
        parsed, endpoint, store, limits, sampling or Sampling(), concurrency, role, hedge
    )
