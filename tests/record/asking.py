"""An HTTP client and a proxy in this process: for tests that look at single requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from harness.core.redaction import Redactor
from harness.models import Budget, serving
from harness.rag.compress import Store
from harness.record.context import Compressions, Context, Settings
from harness.record.line import Line
from harness.record.log import LogWriter
from harness.record.money import Purse
from harness.record.proxy import Proxy, answers_of
from harness.record.recording import Recording
from harness.record.upstream import find_upstream


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
    async with AsyncExitStack() as stack:
        secrets, line = Redactor(), None
        if upstream is not None:
            log = LogWriter(folder)
            stack.callback(log.close)
            found = find_upstream(upstream)
            client = await stack.enter_async_context(found.client())
            context = None
            if settings:
                compressions = Compressions(settings, Store(folder / "left-out"), log.add)
                context = Context(compressions, secrets)
            purse = Purse(budget or Budget(), found)
            line = Line(found, client, log, purse, secrets, "session", context)
            await log.put({"event": "session", "session": "session", "agent": "test"})
        recording = Recording(folder, must=upstream is None)
        library = answers_of(recording.exchanges, replay=line is None)
        proxy = Proxy(library, line, secrets, token="token", first=recording.next)
        url = await stack.enter_async_context(serving(proxy.app()))
        asking = await stack.enter_async_context(httpx.AsyncClient(timeout=30))
        yield Open(proxy, asking, f"{url}/token")


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
