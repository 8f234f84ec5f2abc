"""A layer, such as a guard, in front of a back end that is served to clients of any format."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING

from harness.models.gateway import FINAL, Account
from harness.models.types import Backend, Body, Layer, Message, Refused, Reply, Sampling
from harness.models.wire import read_reply, refusal_of, usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic import JsonValue
    from starlette.types import Message as Event

SPENT = "x-harness-spent"
"""Header of a refusal behind an answer, which the model's server was paid for."""
_KEPT = ("id", "object", "created", "model", "usage")


def layered(backend: Backend, layer: Layer) -> Backend:
    """A back end behind a layer.

    Nothing is streamed: the layer sees a whole answer before its client has any of it. Of an answer
    only text, reasoning and calls of tools go on, which are what a layer sees.

    Args:
        backend: answers.
        layer: its model may change messages, tools and the form of the reply; sampling parameters
            are the client's.
    """

    async def answer(body: Body) -> Body | AsyncGenerator[Body]:
        model = BackendModel(backend, body)
        account = Account(layer(model), None, copy_context())
        try:
            completion = await account.answer({**body, "stream": None}, _no_event)
        except Refused as error:
            if model.completion is not None:
                error.headers |= {**FINAL, SPENT: "true"}
            raise
        assert isinstance(completion, dict) and model.completion is not None
        head = {name: model.completion[name] for name in _KEPT if name in model.completion}
        return {**completion, **head}

    return answer


class BackendModel:
    """A back end as a model that answers one request.

    Args:
        backend: answers.
        body: the request; what the model is asked takes the place of its parts.

    Attributes:
        completion: what it answered; None before.
    """

    def __init__(self, backend: Backend, body: Body) -> None:
        self.spec, self.simulated, self.constrains = str(body.get("model")), False, False
        self._backend, self._body = backend, body
        self.completion: Body | None = None

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.Model.complete`; `sampling` is that of the request already.

        Raises:
            Refused: from the back end, or if it gives several answers: a layer looks at one.
        """
        fields = {"messages": messages, "tools": tools, "response_format": response_format}
        removed = ("stream", "stream_options", *fields)
        body = {name: value for name, value in self._body.items() if name not in removed}
        body |= {name: value for name, value in fields.items() if value is not None}
        completion = await self._backend(body)
        assert isinstance(completion, dict)  # no stream was asked for
        if refusal := refusal_of(completion):
            raise refusal
        self.completion = completion
        if len(completion["choices"]) != 1:
            raise Refused(502, f"expected one answer, found {len(completion['choices'])}")
        usage = usage_of(completion, None, 0.0)
        return read_reply(str(completion.get("id")), completion, usage, cached=False)


async def _no_event() -> Event:
    raise AssertionError("an answer that is no stream waits for nothing")
