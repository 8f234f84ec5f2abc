"""Responses of the proxy itself, and recorded ones given again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

import anyio
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from harness.record.exchange import Exchange
from harness.record.sse import is_stream

_HOP = (
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "set-cookie",
    "transfer-encoding",
)


class Cut(Exception):
    """The stream broke where the recorded one did; the client sees its connection close."""


class Stream(StreamingResponse):
    """A stream whose source is closed when the client is gone, and not when it is collected."""

    def __init__(self, events: AsyncGenerator[bytes], status: int, headers: Mapping[str, str]):
        super().__init__(events, status, headers)
        self._source = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._source.aclose()


def refusal(status: int, message: str, kind: str = "invalid_request_error") -> Response:
    """An error in a form that the clients of all formats read; they do not try again."""
    inner = {"type": kind, "message": message, "param": None, "code": None}
    return JSONResponse(
        {"type": "error", "error": inner}, status_code=status, headers={"x-should-retry": "false"}
    )


def failure(message: str) -> Response:
    """The upstream did not answer: clients may try again."""
    inner = {"type": "api_error", "message": message, "param": None, "code": None}
    return JSONResponse({"type": "error", "error": inner}, status_code=502)


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers that hold for the client's connection too."""
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}


def replayed(exchange: Exchange) -> Response:
    """A recorded response: the same status, headers and bytes, and the same end."""
    if exchange.status is None:
        return failure(str(exchange.facts.get("error", "the recorder was stopped here")))
    if is_stream(exchange.headers.get("content-type", "")):
        return Stream(_events(exchange), exchange.status, exchange.headers)
    if exchange.outcome != "complete":
        return failure(str(exchange.facts.get("error", "the recorder was stopped here")))
    return Response(b"".join(exchange.data), exchange.status, exchange.headers)


async def _events(exchange: Exchange) -> AsyncGenerator[bytes]:
    for event in exchange.data:
        yield event
    if exchange.outcome != "complete":
        raise Cut(f"the recorded stream {exchange.number} ended here ({exchange.outcome})")
