"""An app of this process behind an HTTP client, its stream piece by piece.

`httpx.ASGITransport` hands out a response when all of it is there; agents watch streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx


class InProcess(httpx.AsyncBaseTransport):
    """A transport to an ASGI app.

    Args:
        app: the app.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Run the app until it has said status and headers; its body follows as it comes."""
        call = _Call(await request.aread())
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.partition(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
        }
        task = asyncio.create_task(call.run(self._app, scope))
        head = await call.sent.get()
        if isinstance(head, BaseException):
            await task
            raise httpx.ConnectError(f"the app failed: {head}", request=request) from head
        return httpx.Response(head["status"], headers=head["headers"], stream=_Body(call, task))


class _Call:
    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self.sent: asyncio.Queue[Any] = asyncio.Queue()

    async def run(self, app: Any, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self.sent.put)
        except Exception as error:  # noqa: BLE001  # the client is told
            await self.sent.put(error)

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}


class _Body(httpx.AsyncByteStream):
    def __init__(self, call: _Call, task: asyncio.Task[None]) -> None:
        self._call, self._task = call, task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._call.sent.get()
            if isinstance(message, BaseException):
                raise httpx.ReadError(f"the app failed: {message}") from message
            yield message.get("body", b"")
            if not message.get("more_body"):
                return

    async def aclose(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
