"""The debugger in a browser: one page on loopback, nothing fetched from elsewhere."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from harness.debug.session import Debugger
from harness.debug.web.app import app
from harness.debug.web.desk import Desk
from harness.debug.web.guard import Guard
from harness.models.serving import serving

__all__ = ["open_page", "serve_page"]


@asynccontextmanager
async def open_page(
    debugger: Debugger,
    title: str,
    *,
    port: int = 0,
    reload: Callable[[], Any] | None = None,
) -> AsyncGenerator[str]:
    """Serve the page while a block runs; gives its address with the token.

    Args:
        debugger: with or without a run.
        title: what is debugged.
        port: TCP port of 127.0.0.1; 0 takes a free one.
        reload: loads the graph anew.

    Raises:
        BadInput: if the port cannot be had.
    """
    guard = Guard()
    desk = Desk(debugger, title, reload)
    async with serving(app(desk, guard), port, grace=1) as origin:
        guard.open(int(origin.rpartition(":")[2]))
        try:
            yield f"{origin}/?token={guard.token}"
        finally:
            await asyncio.to_thread(desk.close)


def serve_page(
    debugger: Debugger,
    title: str,
    *,
    port: int = 0,
    reload: Callable[[], Any] | None = None,
    ready: Callable[[str], None],
) -> None:
    """Serve the page until SIGINT or SIGTERM; `ready` is told its address."""

    async def served() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(one, ended.set)
        async with open_page(debugger, title, port=port, reload=reload) as url:
            ready(url)
            await ended.wait()

    asyncio.run(served())
