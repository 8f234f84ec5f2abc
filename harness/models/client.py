"""The one way to a model: cache, budget, retries and record around the `openai` client."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from pydantic import JsonValue

from harness.core import BadInput, Unreachable, Usage, tracing
from harness.models import retry
from harness.models.budget import Budget, Reservation, Spend
from harness.models.calls import CallStore
from harness.models.endpoints import Endpoint, resolve
from harness.models.faults import Fault, classify
from harness.models.hedging import Patience, hedged
from harness.models.ports import Allowance, Calls
from harness.models.prices import PRICES_VARIABLE, Price, price_of
from harness.models.specs import ModelSpec, parse_spec
from harness.models.transport import Connections
from harness.models.types import Message, Reply, Role, Sampling
from harness.models.waiting import tried_in_vain, waiting
from harness.models.watching import answered, chatting
from harness.models.wire import (
    Body,
    completion_limit,
    prompt_bound,
    read_reply,
    read_response,
    request_body,
    request_digest,
    usage_of,
)

DEFAULT_MAX_TOKENS = 4096
"""Sent where a budget needs a bound on the completion and none is configured."""
LOCAL_MAX_TOKENS = 1024

_log = logging.getLogger("harness.models")


class ChatModel:
    """A model behind an OpenAI-compatible endpoint. Made by :func:`open_model`.

    Attributes:
        spec: the spec string.
        simulated: whether a simulated model answers, now or when the calls were recorded.
        role: who asks, in the record of calls.
    """

    def __init__(
        self,
        spec: ModelSpec,
        endpoint: Endpoint,
        calls: Calls,
        budget: Allowance,
        sampling: Sampling,
        concurrency: int,
        role: Role,
        hedge: bool,
    ) -> None:
        self.spec = str(spec)
        self.simulated = endpoint.simulated
        self.role: Role = role
        self._endpoint = endpoint
        self._price: Price | None = price_of(spec, official=endpoint.official)
        self._calls = calls
        self._budget = budget
        self._sampling = sampling
        self._connections = Connections(endpoint, concurrency)
        self._gate = retry.RateGate()
        self._rng = random.Random()
        self._told = False
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
        chosen = sampling or self._sampling
        body = request_body(self._endpoint.model, messages, tools, chosen, response_format)
        call_id = request_digest(self._endpoint.kind, body)
        with chatting(self._endpoint, body, call_id, self.role) as chat:
            reply = await self._calls.once(call_id, lambda: self._answer(call_id, body, chosen))
            return answered(chat, body, reply)

    @property
    def priced(self) -> bool:
        """Whether it is known what a call costs."""
        return self._price is not None

    def resize(self, concurrency: int) -> None:
        """Let so many calls be in flight from now on, at most; those under way go on."""
        self._connections.resize(concurrency)

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

        if self._patience is None:
            return await send()
        try:
            return await hedged(send, self._patience, lambda: not slots.locked())
        finally:
            self._answered.discard(call_id)

    def _bounded(self, body: Body) -> Body:
        """Add a bound on the completion where a budget needs one and none is configured."""
        kind = self._endpoint.kind
        if completion_limit(body) or kind == "replay" or not self._budget.bounds_tokens:
            return body
        limit = LOCAL_MAX_TOKENS if kind == "local" else DEFAULT_MAX_TOKENS
        if not self._told:
            self._told = True
            _log.warning(
                "%s: a budget needs a bound on each reply; max_tokens=%d is sent (set max_tokens "
                "to choose another)",
                self.spec,
                limit,
            )
        return {**body, "max_tokens": limit}

    async def _send(self, call_id: str, body: Body, timeout_s: float) -> Reply:
        """Send until there is an answer, a final refusal, or the attempts are used up."""
        worst = self._worst(body)
        route = self._endpoint.route(body)
        attempt = 1
        while True:
            with waiting():
                await self._gate.wait()
            reservation = await self._budget.reserve(worst)
            started = time.monotonic()
            try:
                outcome = await self._attempt(route.next(), call_id, body, timeout_s, reservation)
            finally:
                reservation.forfeit()  # does nothing once it is settled
            if isinstance(outcome, Reply):
                return outcome
            tried_in_vain(time.monotonic() - started)
            await self._pause(outcome, attempt)
            attempt += 1

    async def _pause(self, fault: Fault, attempt: int) -> None:
        """Wait before the next attempt.

        Raises:
            HarnessError: that of the fault, if there is to be no other attempt.
        """
        attempts = retry.CONNECT_ATTEMPTS if fault.unsent else retry.ATTEMPTS
        asked_s = fault.retry_after_s or 0.0
        if not fault.retried or attempt >= attempts or asked_s > retry.LONGEST_WAIT_S:
            raise fault.error
        if asked_s:
            self._gate.refused(asked_s)
        tracing.note("retry", attempt=attempt, error=type(fault.error).__name__, spec=self.spec)
        with waiting():
            await asyncio.sleep(max(asked_s, retry.backoff_s(attempt, self._rng)))

    async def _attempt(
        self, index: int, call_id: str, body: Body, timeout_s: float, reservation: Reservation
    ) -> Reply | Fault:
        """Send once; what the server may have done is settled and recorded either way."""
        import openai

        kind = self._endpoint.kind
        number = await self._calls.sent(call_id, self.role, kind, body, reservation.worst)
        started = time.monotonic()
        try:
            headers, content = await self._connections.post(index, body, timeout_s)
        except openai.APIError as error:
            fault = classify(error, self._endpoint, index)
            if fault.unsent:
                reservation.release()
            elif not fault.lost:
                reservation.refused()
            await self._calls.failed(number, str(fault.error), lost=fault.lost)
            if fault.busy:
                self._connections.slots.refused(started)
            self._gate.pause(fault.quota_pause_s)
            return fault
        except asyncio.CancelledError:
            if call_id in self._answered:
                late = "cancelled: another request was answered first"
                await self._calls.failed(number, late, lost=True)
            raise
        self._gate.answered()
        self._connections.slots.answered(started)
        self._gate.pause(retry.quota_pause_s(headers))
        try:
            response = read_response(content, self._endpoint.urls[index])
        except Unreachable as error:
            await self._calls.failed(number, str(error), lost=True)
            raise
        seconds = time.monotonic() - started
        usage = usage_of(response, self._price, seconds)
        if usage is None:  # unknown tokens stay charged with the worst case
            free = self._price is not None and not (self._price.input or self._price.output)
            usage = Usage(calls=1, cost_usd=0.0 if free else None, seconds=seconds)
        else:
            reservation.settle(Spend(usage.cost_usd or 0.0, usage.tokens, 1))
        await self._calls.done(number, response, usage)
        if self._patience is not None:
            self._patience.saw(seconds)
            self._answered.add(call_id)
        return read_reply(call_id, response, usage, cached=kind == "replay")

    def _worst(self, body: Body) -> Spend:
        prompt, completion = prompt_bound(body), completion_limit(body) or 0
        usd = self._price.cost(prompt, completion) if self._price else 0.0
        return Spend(usd, prompt + completion, 1)


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
            VLLM_BASE_URL; several of them separated by commas.
        calls: where calls are recorded and answered from; default in memory. What it says was
            spent before counts against the budget.
        budget: limits, which several models may share; default none.
        sampling: sampling parameters of calls that bring none of their own.
        concurrency: calls in flight at one time, at most; fewer where the server refuses them.
        role: who asks, for the record.
        hedge: send a request a second time when its answer is long overdue (see
            :mod:`harness.models.hedging`); for fleets that wait for their slowest member.

    Raises:
        BadInput: for a spec, file or profile that does not exist, a missing key, or a money
            budget for a model of unknown price.
    """
    if concurrency < 1:
        raise BadInput(f"concurrency: expected 1 or more, got {concurrency!r}")
    parsed = parse_spec(spec) if isinstance(spec, str) else spec
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
