"""Applications on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator
from typing import Any

from harness.core import BadInput

HOST = "127.0.0.1"


def bind(port: int) -> socket.socket:
    """A socket on loopback; port 0 takes a free one.

    Raises:
        BadInput: if the port is taken or not allowed.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(f"cannot listen on {HOST}:{port}: {error}; choose another --port") from error
    return listener


@contextlib.asynccontextmanager
async def serving(app: Any, port: int = 0, grace: int | None = None) -> AsyncGenerator[str]:
    """Serve an ASGI `app` on 127.0.0.1 while a block runs; gives `http://127.0.0.1:<port>`.

    Args:
        app: the application.
        port: TCP port; 0 takes a free one.
        grace: seconds that requests under way have when the block ends; None waits for them.

    Raises:
        BadInput: if the port cannot be had.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield  # Ctrl-C belongs to the run or the command that is served

    with bind(port) as listener:
        listener.listen(256)
        # Without log_config=None uvicorn sets logging up anew, for the whole process: handlers that
        # others registered are closed, and one of them (absl's) closes its stream with it.
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            lifespan="off",
            timeout_graceful_shutdown=grace,
        )
        server = Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
