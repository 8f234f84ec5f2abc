"""A model of the driver, asked by workers: embedded, simulated and recorded ones run only there."""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

from harness.fleet.channel import Channel, Methods
from harness.models.types import Message, Model, Reply, Sampling


def relay_service(model: Model) -> Methods:
    """What a driver answers: `complete`, by its own model, with the run's cache and budget."""

    async def complete(value: dict[str, Any]) -> dict[str, Any]:
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

    def resize(self, concurrency: int) -> None:
        """There are no slots here: the driver's model has them."""

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
        }
        return Reply.model_validate(await self._channel.ask("complete", asked))
