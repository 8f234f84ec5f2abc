"""An HTTP client and a proxy in this process: for tests that look at single requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from harness.core.redaction import Redactor
from harness.models import Budget
from harness.record import Plan, Settings, find_upstream, open_proxy
from harness.record.proxy import Proxy


@dataclass
class Open:
    """A proxy that runs."""

    proxy: Proxy
    client: httpx.AsyncClient
    url: str

    async def post(self, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        return await self.client.post(f"{self.url}{path}", json=body, headers=headers)


@asynccontextmanager
async def proxied(
    folder: Path,
    upstream: str | None,
    settings: Settings | None = None,
    budget: Budget | None = None,
) -> AsyncGenerator[Open]:
    """A proxy on its port: recording into `folder`, or replaying it without an upstream."""
    found = find_upstream(upstream) if upstream is not None else None
    plan = Plan(folder, found, budget or Budget(), context=settings)
    async with (
        open_proxy(plan, Redactor(), ["test"]) as (proxy, url, _),
        httpx.AsyncClient(timeout=30) as client,
    ):
        yield Open(proxy, client, url)


def ask(
    folder: Path,
    upstream: str | None,
    work: Callable[[Open], Awaitable[Any]],
    settings: Settings | None = None,
    budget: Budget | None = None,
) -> Any:
    """Run `work` with an open proxy."""

    async def all_of_it() -> Any:
        async with proxied(folder, upstream, settings, budget) as opened:
            return await work(opened)

    return asyncio.run(all_of_it())
