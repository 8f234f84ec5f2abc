"""An HTTP transport whose far end speaks chat completions only: a back end here, or a server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator

import httpx

from harness.core import limit_reply, mapping
from harness.models import (
    Answer,
    Backend,
    Body,
    Format,
    Layer,
    Refused,
    layered,
    refusal_of,
    respond,
)
from harness.models.responding import CHAT
from harness.record.wires.events import Splitter, data_of, is_stream
from harness.record.wires.formats import MESSAGES, RESPONSES
from harness.record.wires.translation import error_of

PATH = "/chat/completions"
_FORMATS: dict[str, Format] = {"/messages": MESSAGES, "/responses": RESPONSES, PATH: CHAT}
_KEPT = ("x-request-id", "retry-after", "retry-after-ms", "x-should-retry")


class ChatTransport(httpx.AsyncBaseTransport):
    """Answers requests of all formats by what speaks chat completions only.

    Args:
        backend: in this process; None where `inner` reaches a server, to which requests that need
            no translation go as they are.
        inner: reaches the server.
        layer: stands in front of both; requests that it does not know are not passed on.
    """

    def __init__(
        self,
        backend: Backend | None,
        inner: httpx.AsyncBaseTransport | None = None,
        layer: Layer | None = None,
    ) -> None:
        self._backend, self._inner, self._layer = backend, inner, layer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Translate there and back.

        Raises:
            httpx.HTTPError: as the transport that is behind it.
        """
        path, inner = request.url.path, self._inner
        suffix = next((tail for tail in _FORMATS if path.endswith(tail)), None)
        tail = suffix if request.method == "POST" else None
        if self._layer is not None:
            passed_on = tail is None and request.method in ("GET", "HEAD")
        else:
            passed_on = tail in (None, PATH)
        if inner is not None and passed_on:
            return await inner.handle_async_request(request)
        if tail is None:
            missing = Answer.of_json(CHAT.error(f"nothing answers at {path}", 404), 404)
            return httpx.Response(404, headers=missing.headers, stream=_Pieces(missing))

        async def ask(body: Body) -> Body | AsyncGenerator[Body]:
            assert inner is not None
            return await _over_http(inner, request, path.removesuffix(tail) + PATH, body)

        backend = self._backend or ask
        if self._layer is not None:
            backend = layered(backend, self._layer)
        answer = await respond(_FORMATS[tail], await request.aread(), backend)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Pieces(answer))

    async def aclose(self) -> None:
        """Close the other transport."""
        if self._inner is not None:
            await self._inner.aclose()


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer.pieces

    async def aclose(self) -> None:
        await self._answer.pieces.aclose()


async def _over_http(
    inner: httpx.AsyncBaseTransport, request: httpx.Request, path: str, body: Body
) -> Body | AsyncGenerator[Body]:
    """A chat request with the headers of `request`, answered by a server.

    Raises:
        Refused: if it answers with an error, or no chat completion.
        httpx.HTTPError: if it does not answer.
    """
    dropped = ("content-length", "anthropic-version", "anthropic-beta")
    response = await inner.handle_async_request(
        httpx.Request(
            "POST",
            request.url.copy_with(path=path, query=None),
            headers={name: text for name, text in request.headers.items() if name not in dropped},
            content=json.dumps(body, ensure_ascii=False).encode(),
            extensions=request.extensions,
        )
    )
    response.request = request  # the client sets it later
    limit_reply(response)
    if response.status_code < 400 and is_stream(response.headers.get("content-type", "")):
        return _chunks(response)
    try:
        content = b"".join([piece async for piece in response.aiter_bytes()])
    finally:
        await response.aclose()
    try:
        answer = mapping(json.loads(content))
    except (ValueError, RecursionError):
        answer = {}
    if response.status_code >= 400:
        reason = error_of(answer) or content.decode("utf-8", "replace")[:500]
        headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
        raise Refused(response.status_code, reason, headers=headers)
    if refusal := refusal_of(answer):
        raise refusal
    if not answer.get("choices"):
        raise Refused(502, f"expected a chat completion, the upstream said {content[:200]!r}")
    return answer


async def _chunks(response: httpx.Response) -> AsyncGenerator[Body]:
    splitter = Splitter()
    try:
        async for piece in response.aiter_bytes():
            for event in splitter.feed(piece):
                if chunk := data_of(event):
                    yield chunk
    finally:
        await response.aclose()
