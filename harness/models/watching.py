"""What those who watch a model call are told: ids, settings and counts; its text apart."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from harness.core import tracing
from harness.models.endpoints import Endpoint
from harness.models.types import Reply, Role
from harness.models.wire import Body

_SETTINGS = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "seed",
)


def chatting(
    endpoint: Endpoint, body: Body, call_id: str, role: Role
) -> AbstractContextManager[tracing.Block]:
    """A model call as an operation, a block."""
    if not tracing.watched():
        return tracing.operation("chat", "")
    facts: dict[str, Any] = {name: body[name] for name in _SETTINGS if body.get(name) is not None}
    where = urlsplit(endpoint.urls[0])
    if endpoint.app is None and len(endpoint.urls) == 1 and where.hostname:
        facts |= {"host": where.hostname, "port": where.port or _port(where.scheme)}
    return tracing.operation(
        "chat", endpoint.model, call_id=call_id, role=role, provider=endpoint.kind, **facts
    )


def answered(chat: tracing.Block, body: Body, reply: Reply) -> Reply:
    """Tell what a call came back with."""
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


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80
