"""A model of the driver, asked by workers: embedded, simulated and recorded ones run only there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

from pydantic import JsonValue

from harness.fleet.channel import Channel, Methods
from harness.fleet.telling import place
from harness.models import Message, Model, Reply, Sampling


def relay_service(
    model: Model, context: Callable[[dict[str, Any]], Context | None] | None = None
) -> Methods:
    """What a driver answers: `complete`, by its own model, with the run's cache and budget.

    Args:
        model: answers.
        context: to answer in, by the place in the worker: those who watch see the call there.
    """

    async def complete(value: dict[str, Any]) -> dict[str, Any]:
        asked_at = value["place"]
        found = None if context is None or asked_at is None else context(asked_at)
        if found is None:
            return await answer(value)
        return await asyncio.create_task(answer(value), context=found)

    async def answer(value: dict[str, Any]) -> dict[str, Any]:
        sampling = value["sampling"]
        reply = await model.complete(
            value["messages"],
            tools=value["tools"],
            sampling=None if sampling is None else Sampling.model_validate(sampling),
            response_format=value["response_format"],
        )
        return reply.model_dump(mode="json")

    return {"complete": complete}


class RelayedModel:
    """A worker's way to the driver's model.

    Args:
        channel: to the driver.
        spec: of the model.
        simulated: whether a simulated model answers.
    """

    def __init__(self, channel: Channel, spec: str, simulated: bool) -> None:
        self.spec, self.simulated = spec, simulated
        self._channel = channel

    async def aclose(self) -> None:
        """There is nothing to close: the model is the driver's."""

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """As :meth:`harness.models.types.Model.complete`."""
        asked = {
            "messages": messages,
            "tools": tools,
            "sampling": None if sampling is None else sampling.model_dump(mode="json"),
            "response_format": response_format,
            "place": place(),
        }
        return Reply.model_validate(await self._channel.ask("complete", asked))
