"""An application on a loopback port while a block runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Generator
from typing import Any

from harness.models.serving import HOST, bind


@contextlib.asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncGenerator[str]:
    """Serve `app` on 127.0.0.1; gives the origin, such as `http://127.0.0.1:40123`.

    What is under way when the block ends has five seconds to finish.

    Raises:
        BadInput: if the port cannot be had.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield  # Ctrl-C belongs to the command that is recorded

    with bind(port) as listener:
        listener.listen(256)
        config = uvicorn.Config(
            app,
            log_level="critical",
            lifespan="off",
            access_log=False,
            timeout_graceful_shutdown=5,
        )
        server = Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
