"""Budgets of a recording: the worst case of a request is set aside before it is sent."""

from __future__ import annotations

from harness.core import BadInput, Usage
from harness.models import (
    PRICES_VARIABLE,
    Budget,
    ModelSpec,
    Price,
    Reservation,
    Spend,
    price_of,
    prompt_bound,
)
from harness.models.client import DEFAULT_MAX_TOKENS
from harness.record.upstream import Upstream
from harness.record.wires import Body, Wire
from harness.trajectories.lenient import count, listing, mapping, string


class Purse:
    """Bounds, reserves and counts the requests of one recording.

    Args:
        budget: its limits.
        upstream: who charges.
    """

    def __init__(self, budget: Budget, upstream: Upstream) -> None:
        self._budget, self._upstream = budget, upstream

    def bounded(self, wire: Wire, body: Body) -> Body:
        """The request, with a bound on its completion where a budget needs one and it has none."""
        if not self._budget.bounds_tokens or _limit(wire, body):
            return body
        name = wire.limits[0] if self._upstream.official else wire.limits[-1]
        return {**body, name: DEFAULT_MAX_TOKENS}

    async def reserve(self, wire: Wire, body: Body) -> Reservation:
        """Set the worst case of a request aside.

        Raises:
            LimitReached: if the budget cannot hold it.
            BadInput: if money is limited and the model's price is unknown.
        """
        price = self._price(body)
        if price is None and self._budget.usd is not None:
            raise BadInput(
                f"a money budget cannot hold for the model {body.get('model')!r}: its price is "
                f"unknown; add it to a table named by {PRICES_VARIABLE}, or use --budget-tokens"
            )
        prompt = _prompt(wire, body)
        completion = _limit(wire, body)
        usd = price.cost(prompt, completion) if price else 0.0
        return await self._budget.reserve(Spend(usd, prompt + completion, 1))

    def usage(self, wire: Wire, body: Body, response: Body, seconds: float) -> Usage | None:
        """What a response used; None if it does not say."""
        tokens = wire.tokens(response)
        if tokens is None:
            return None
        price = self._price(body)
        cached = min(tokens.cached, tokens.prompt)
        return Usage(
            calls=1,
            prompt_tokens=tokens.prompt,
            completion_tokens=tokens.completion,
            cached_tokens=cached,
            cost_usd=price.cost(tokens.prompt, tokens.completion, cached) if price else None,
            seconds=seconds,
        )

    def _price(self, body: Body) -> Price | None:
        spec = self._upstream.spec or ModelSpec(kind="openai", name=string(body.get("model")))
        return price_of(spec, official=self._upstream.official)


def settle(reservation: Reservation, usage: Usage | None) -> None:
    """Count what was used; unknown tokens stay charged with the worst case."""
    if usage is None:
        reservation.forfeit()
    else:
        reservation.settle(Spend(usage.cost_usd or 0.0, usage.tokens, 1))


def _limit(wire: Wire, body: Body) -> int:
    return next((count(body[name]) for name in wire.limits if count(body.get(name))), 0)


def _prompt(wire: Wire, body: Body) -> int:
    """Upper bound on the prompt tokens, by bytes (see :func:`harness.models.wire.prompt_bound`)."""
    messages = body.get(wire.listing)
    items = (
        [{"content": messages}]
        if isinstance(messages, str)
        else [mapping(o) for o in listing(messages)]
    )
    before = [{"content": body[name]} for name in ("system", "instructions") if body.get(name)]
    others_than_messages = {
        name: body[name] for name in ("tools", "response_format") if name in body
    }
    return prompt_bound({"messages": [*before, *items], **others_than_messages})
