"""The page in a browser, on loopback: a graph under control, and finished runs to look at."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from harness.debug.engine.session import Debugger
from harness.debug.web.app import Desks, app
from harness.debug.web.browse import Browsing, Library
from harness.debug.web.desk import Desk
from harness.debug.web.guard import Guard
from harness.models import serving

RUNS = Path("runs")
"""Where runs lie unless one says otherwise."""


@asynccontextmanager
async def open_page(
    debugger: Debugger,
    title: str,
    *,
    port: int = 0,
    reload: Callable[[], Any] | None = None,
    library: Library | None = None,
    root: Path | None = None,
    folders: Sequence[Path] = (),
) -> AsyncGenerator[str]:
    """Serve the page while a block runs; gives its address with the token.

    Args:
        debugger: with or without a run.
        title: what is debugged.
        port: TCP port of 127.0.0.1; 0 takes a free one.
        reload: loads the graph anew.
        library: the runs that can be looked at; by default those in `runs`.
        root: folder of the graph's file: the page may edit the functions of nodes there.
        folders: where workbooks that the state names may lie, besides the working folder.

    Raises:
        BadInput: if the port cannot be had.
    """
    desk = Desk(debugger, title, reload, root=root, folders=folders)
    async with _opened(desk, library or Library(RUNS), port) as address:
        yield address("")


@asynccontextmanager
async def open_view(library: Library, *, port: int = 0) -> AsyncGenerator[str]:
    """Serve runs and evolutions, read-only, while a block runs; gives the address.

    Args:
        library: what can be looked at.
        port: TCP port of 127.0.0.1; 0 takes a free one.

    Raises:
        BadInput: if the port cannot be had.
    """
    async with _opened(None, library, port) as address:
        yield address("runs.html")


@asynccontextmanager
async def _opened(
    desk: Desk | None, library: Library, port: int
) -> AsyncGenerator[Callable[[str], str]]:
    guard, desks = Guard(), Desks(desk, library)
    async with serving(app(desks, Browsing(library), guard), port, grace=1) as origin:
        guard.open(int(origin.rpartition(":")[2]))
        try:
            yield lambda file: f"{origin}/{file}?token={guard.token}"
        finally:
            await asyncio.to_thread(desks.close)


def serve_page(
    debugger: Debugger,
    title: str,
    *,
    port: int = 0,
    reload: Callable[[], Any] | None = None,
    root: Path | None = None,
    folders: Sequence[Path] = (),
    ready: Callable[[str], None],
) -> None:
    """Serve :func:`open_page` until SIGINT or SIGTERM; `ready` is called with its address."""
    page = open_page(debugger, title, port=port, reload=reload, root=root, folders=folders)
    asyncio.run(_until_signal(page, ready))


def serve_view(library: Library, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve runs and evolutions until SIGINT or SIGTERM; `ready` is called with the address."""
    asyncio.run(_until_signal(open_view(library, port=port), ready))


async def _until_signal(
    page: AbstractAsyncContextManager[str], ready: Callable[[str], None]
) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, ended.set)
    async with page as url:
        ready(url)
        await ended.wait()
