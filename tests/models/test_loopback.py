"""Serving inside a process that is not ours leaves its logging alone."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from harness.models import serving


class Closing(logging.Handler):
    closed = False

    def close(self) -> None:
        self.closed = True
        super().close()


async def _empty(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


def test_serving_closes_no_handler_of_the_process() -> None:
    handler = Closing()
    logging.getLogger("somebody.else").addHandler(handler)

    async def serve() -> None:
        async with serving(_empty):
            pass

    asyncio.run(serve())
    assert not handler.closed
    logging.getLogger("somebody.else").removeHandler(handler)
