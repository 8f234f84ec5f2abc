"""Hostile clients of the addresses that the harness opens on this machine: agents and web pages."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from harness.models import CallStore, open_gateway, open_model
from tests.models.http_server import completion, serve

PRICED: list[dict[str, Any]] = [
    {"service_tier": "priority"}, {"best_of": 3}, {"n": 2}, {"web_search_options": {}},
    {"modalities": ["text", "audio"]}, {"models": ["dear/model"]}, {"plugins": [{"id": "web"}]},
]  # fmt: skip


def asked(content: bytes, headers: dict[str, str], times: int = 1) -> tuple[list[int], list[Any]]:
    """Requests to the gateway at one time: their statuses, and what reached the endpoint."""
    with serve(lambda _body: completion("ok"), delay_s=0.5) as served, CallStore() as calls:

        async def ask() -> list[int]:
            model = open_model("openai/m", base_url=served.url, calls=calls)
            async with aclosing(model), open_gateway(model) as gateway:
                key, _ = gateway.open_account()
                sent = {"authorization": f"Bearer {key}", **headers}
                async with httpx.AsyncClient(timeout=60) as client:
                    url = f"{gateway.origin}/v1/chat/completions"
                    posts = [client.post(url, content=content, headers=sent) for _ in range(times)]
                    return [reply.status_code for reply in await asyncio.gather(*posts)]

        return asyncio.run(ask()), served.bodies


def request_of(**fields: Any) -> bytes:
    messages = [{"role": "user", "content": "p"}]
    return json.dumps({"model": "m", "messages": messages, **fields}).encode()


@pytest.mark.parametrize("fields", PRICED, ids=lambda fields: next(iter(fields)))
def test_priced_parameter(fields: dict[str, Any]) -> None:
    """A request asks for what costs more than its tokens: another tier, a search."""
    statuses, bodies = asked(request_of(**fields), {})
    assert statuses == [400] and not bodies
    assert asked(request_of(service_tier="default", n=1), {})[0] == [200]


@pytest.mark.parametrize("headers", [
    {"host": "moved.example"}, {"host": "moved.example:80", "origin": "http://moved.example:80"},
    {"origin": "http://page.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"},
])  # fmt: skip
def test_page_of_another_origin(headers: dict[str, str]) -> None:
    """A page makes a model of this machine work, or reads its answers by a name that moves."""
    statuses, bodies = asked(request_of(), headers)
    assert statuses == [403] and not bodies


def test_long_requests_at_one_time() -> None:
    """Twelve requests of 30 MiB under one key are sent at one time."""
    content = request_of(pad="x" * (30 << 20))
    statuses, bodies = asked(content, {}, times=12)
    assert statuses.count(503) >= 8 and len(bodies) <= 2
