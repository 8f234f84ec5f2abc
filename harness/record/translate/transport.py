"""A transport in front of another one, whose server speaks chat completions only."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from types import ModuleType

import httpx

from harness.record.sse import Splitter, data_of, event_of, is_stream
from harness.record.translate import items, messages, responses
from harness.record.translate.chat import PATH, Untranslatable, error_of
from harness.record.wires import Body
from harness.trajectories.lenient import mapping

_FORMATS = {"/messages": messages, "/responses": responses}
Answer = messages.Answer | items.Answer


class Translating(httpx.AsyncBaseTransport):
    """Sends messages and responses as chat completions; everything else as it is.

    Args:
        inner: reaches the server.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Translate there and back.

        Raises:
            httpx.HTTPError: as the transport that is behind it.
        """
        path = request.url.path
        tail = next((end for end in _FORMATS if path.endswith(end)), None)
        if tail is None or request.method != "POST":
            return await self._inner.handle_async_request(request)
        form = _FORMATS[tail]
        try:
            body = mapping(json.loads(await request.aread()))
            asked: Body = form.request(body)
        except (Untranslatable, ValueError, KeyError) as error:
            reason = f"the upstream speaks chat completions only, which cannot say this: {error}"
            return _json(400, form.error(reason, 400))
        content = json.dumps(asked, ensure_ascii=False).encode()
        dropped = ("content-length", "anthropic-version", "anthropic-beta")
        headers = {name: one for name, one in request.headers.items() if name not in dropped}
        sent = httpx.Request(
            "POST",
            request.url.copy_with(path=path.removesuffix(tail) + PATH, query=None),
            headers=headers,
            content=content,
            extensions=request.extensions,
        )
        made = items.Answer(body) if form is responses else messages.Answer(body)
        return await _answered(await self._inner.handle_async_request(sent), made, form)

    async def aclose(self) -> None:
        """Close the other transport."""
        await self._inner.aclose()


async def _answered(response: httpx.Response, made: Answer, form: ModuleType) -> httpx.Response:
    kept = ("x-request-id", "retry-after", "retry-after-ms", "x-should-retry")
    headers = {name: response.headers[name] for name in kept if name in response.headers}
    if response.status_code < 400 and is_stream(response.headers.get("content-type", "")):
        headers["content-type"] = "text/event-stream; charset=utf-8"
        return httpx.Response(200, headers=headers, stream=_Events(response, made, form))
    try:
        content = b"".join([piece async for piece in response.aiter_bytes()])
    finally:
        await response.aclose()
    try:
        answer = mapping(json.loads(content))
    except ValueError:
        answer = {}
    if response.status_code >= 400:
        said = error_of(answer) or content.decode("utf-8", "replace")[:500]
        return _json(response.status_code, form.error(said, response.status_code), headers)
    if not answer.get("choices"):
        said = f"expected a chat completion, the upstream said {content[:200]!r}"
        return _json(502, form.error(said, 502))
    made.feed(answer)
    return _json(200, made.whole(), headers)


def _json(status: int, value: Body, headers: dict[str, str] | None = None) -> httpx.Response:
    return httpx.Response(status, headers=headers, json=value)


class _Events(httpx.AsyncByteStream):
    """The events of a chat stream in the client's format, each as soon as it has come."""

    def __init__(self, response: httpx.Response, made: Answer, form: ModuleType) -> None:
        self._response, self._made, self._form = response, made, form

    async def __aiter__(self) -> AsyncIterator[bytes]:
        splitter, made, begun = Splitter(), self._made, False
        async for piece in self._response.aiter_bytes():
            for raw in splitter.feed(piece):
                event = data_of(raw)
                problem = error_of(event)
                if problem is not None:
                    shown = self._form.error(problem, 500)
                    yield event_of({"type": "error", "message": problem} | shown)
                    return
                if not event:
                    continue
                if not begun:  # the first chunk names the answer
                    made.head.name(event)
                    for one in made.begin():
                        yield event_of(one)
                    begun = True
                for one in made.feed(event):
                    yield event_of(one)
        if not begun or made.head.finish is None:
            raise httpx.RemoteProtocolError("the chat stream ended before its finish_reason")
        for one in made.end():
            yield event_of(one)

    async def aclose(self) -> None:
        await self._response.aclose()
