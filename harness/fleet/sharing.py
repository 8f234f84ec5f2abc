"""A worker's model: asks the endpoint itself, with the driver's cache and budget, or the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.core import Value
from harness.fleet.calls import SharedBudget, SharedCalls
from harness.fleet.processes import HOST
from harness.fleet.relay import RelayedModel
from harness.models import Sampling, parse_spec

if TYPE_CHECKING:
    from harness.fleet.channel import Channel, Methods
    from harness.models import Budget, ChatModel


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
    model: ChatModel, base_url: str | None, budget: Budget, concurrency: int, host: str = HOST
) -> SharedModelSpec:
    """How the workers reach a model of the driver's.

    Embedded engines, simulated and recorded models live in the driver: one engine, however many
    workers. An endpoint on loopback is asked by the driver, too, where workers are on other
    machines, which have a loopback of their own.

    Args:
        model: of the driver.
        base_url: that it was opened with.
        budget: of the run.
        concurrency: calls of one worker in flight, at most.
        host: where workers find the driver; one on loopback means that all are on this machine.
    """
    from harness.models import on_loopback, resolve

    parsed, urls = parse_spec(model.spec), ()
    if parsed.kind in ("openai", "vllm") or (parsed.kind == "local" and bool(base_url)):
        urls = resolve(parsed, base_url).urls
    here = on_loopback(f"http://{host}")
    direct = bool(urls) and (here or not any(on_loopback(url) for url in urls))
    return SharedModelSpec(
        spec=model.spec,
        simulated=model.simulated,
        urls=",".join(urls) if direct else None,
        concurrency=concurrency,
        **budget_terms(budget),
    )


def budget_terms(budget: Budget) -> dict[str, bool]:
    """What workers must know of a budget: `limited` and `bounds_tokens`."""
    limited = any(limit is not None for limit in (budget.usd, budget.tokens, budget.calls))
    return {"limited": limited, "bounds_tokens": budget.bounds_tokens}


def open_shared_model(
    channel: Channel, shared: SharedModelSpec
) -> tuple[ChatModel | RelayedModel, Methods]:
    """The model, in a worker, and what the driver may tell of it.

    That is `resize`, how many calls may be in flight, and `budget`, as :func:`budget_terms` has it.

    Raises:
        BadInput: if the worker has no key for the endpoint.
    """
    if shared.urls is None:
        relayed = RelayedModel(channel, shared.spec, shared.simulated)
        return relayed, {"resize": _no_matter, "budget": _no_matter}
    from harness.models import ChatModel, resolve

    parsed = parse_spec(shared.spec)
    allowance = SharedBudget(channel, limited=shared.limited, bounds_tokens=shared.bounds_tokens)
    model = ChatModel(
        parsed,
        resolve(parsed, shared.urls),
        SharedCalls(channel),
        allowance,
        Sampling(),
        shared.concurrency,
        "agent",
        hedge=False,
    )

    async def resize(concurrency: int) -> None:
        model.resize(concurrency)

    async def budget(terms: dict[str, bool]) -> None:
        allowance.change(**terms)

    return model, {"resize": resize, "budget": budget}


async def _no_matter(_: Any) -> None:
    """Slots and budget are those of the driver's model."""
