"""A worker's model: asks the endpoint itself, with the driver's cache and budget, or the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.core import Value
from harness.fleet.calls import SharedBudget, SharedCalls
from harness.fleet.relay import RelayedModel
from harness.models.specs import parse_spec
from harness.models.types import Sampling

if TYPE_CHECKING:
    from harness.fleet.channel import Channel
    from harness.models.budget import Budget
    from harness.models.client import ChatModel


class SharedModelSpec(Value):
    """What a worker needs to know of the run's model.

    Attributes:
        spec: the spec string.
        simulated: whether a simulated model answers.
        urls: base URLs with commas between them; None if only the driver can ask this model.
        concurrency: calls of one worker in flight, at most.
        limited: whether the budget has any limit.
        bounds_tokens: whether a call needs a bound on its completion tokens.
    """

    spec: str
    simulated: bool
    urls: str | None
    concurrency: int
    limited: bool
    bounds_tokens: bool


def shared_spec(
    model: ChatModel, base_url: str | None, budget: Budget, concurrency: int
) -> SharedModelSpec:
    """How the workers reach a model of the driver's.

    Embedded engines, simulated and recorded models live in the driver: one engine, however many
    workers.
    """
    from harness.models.endpoints import resolve

    parsed = parse_spec(model.spec)
    direct = parsed.kind in ("openai", "vllm") or (parsed.kind == "local" and bool(base_url))
    return SharedModelSpec(
        spec=model.spec,
        simulated=model.simulated,
        urls=",".join(resolve(parsed, base_url).urls) if direct else None,
        concurrency=concurrency,
        limited=any(limit is not None for limit in (budget.usd, budget.tokens, budget.calls)),
        bounds_tokens=budget.bounds_tokens,
    )


def open_shared_model(channel: Channel, shared: SharedModelSpec) -> ChatModel | RelayedModel:
    """The model, in a worker.

    Raises:
        BadInput: if the worker has no key for the endpoint.
    """
    if shared.urls is None:
        return RelayedModel(channel, shared.spec, shared.simulated)
    from harness.models.client import ChatModel
    from harness.models.endpoints import resolve

    parsed = parse_spec(shared.spec)
    return ChatModel(
        parsed,
        resolve(parsed, shared.urls),
        SharedCalls(channel),
        SharedBudget(channel, limited=shared.limited, bounds_tokens=shared.bounds_tokens),
        Sampling(),
        shared.concurrency,
        "agent",
        hedge=False,
    )
