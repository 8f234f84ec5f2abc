"""Requests on their way to an endpoint, over HTTP or to a back end; what goes wrong with them, and
when to try again: exponential back-off with full jitter.

Every event loop has connections and slots of its own.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from harness.core import BadInput, HarnessError, Unreachable, mapping
from harness.models.concurrency import Slots
from harness.models.endpoints import Endpoint
from harness.models.types import Body, Refused
from harness.models.wire import STREAMED, ChunkQueue, assembled, read_response, refusal_of

if TYPE_CHECKING:
    import openai

ATTEMPTS = 6
CONNECT_ATTEMPTS = 3
"""Of a call whose endpoint cannot be connected to: it is down, not busy."""
BASE_S = 0.5
CAP_S = 30.0
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

BUSY = frozenset({408, 429, 503, 529})
"""Too slow, too many requests, unavailable, overloaded."""
# May mean that a server does not stream, or does not know `stream_options`.
_NO_STREAM = frozenset({400, 404, 422})
_UNSENT = frozenset(
    {"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "PoolTimeout",
     "ClientConnectorError", "ConnectionTimeoutError", "InvalidURL"}
)  # fmt: skip
"""Errors of httpx and aiohttp that came before the request was sent."""


@dataclass(eq=False)
class Fault(Exception):
    """An attempt brought no answer.

    Attributes:
        error: what to raise if there is no other attempt.
        retried: whether another attempt may succeed.
        unsent: whether the request never reached the server.
        lost: whether the server may have answered, and charged, without our seeing it.
        retry_after_s: what the server asked us to wait.
        quota_pause_s: how long its quota is used up.
        busy: whether the server has more requests than it bears: it said so, or took too long.
    """

    error: HarnessError
    retried: bool = False
    unsent: bool = False
    lost: bool = False
    retry_after_s: float | None = None
    quota_pause_s: float = 0.0
    busy: bool = False


class _Client(NamedTuple):
    """A client, and what closes it."""

    client: openai.AsyncOpenAI
    keeper: AsyncGenerator[None]


@dataclass
class _Loop:
    """State that belongs to one event loop."""

    slots: Slots
    client: _Client | None = None


class Connections:
    """Clients of an endpoint, and slots for requests in flight.

    Args:
        endpoint: where requests go.
        concurrency: slots of each event loop, at most.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int) -> None:
        self._endpoint = endpoint
        self._concurrency = concurrency
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = WeakKeyDictionary()

    @property
    def slots(self) -> Slots:
        """The slots of the running event loop."""
        return self._loop().slots

    def resize(self, concurrency: int) -> None:
        """Another number of slots, at once, in every event loop."""
        self._concurrency = concurrency
        for loop in self._loops.values():
            loop.slots.resize(concurrency)

    async def post(
        self, body: Body, timeout_s: float, listener: ChunkQueue | None = None
    ) -> tuple[Mapping[str, str], Body]:
        """Headers and body of a completion.

        Args:
            body: the request.
            timeout_s: for the whole answer; a back end in this process is not hung up on.
            listener: is given the chunks as they come, where the server streams.

        Raises:
            Fault: for anything else.
        """
        endpoint = self._endpoint
        where = f"{endpoint.kind} endpoint {endpoint.url}"
        if endpoint.backend is not None:
            try:
                streams = endpoint.streams and listener is not None
                answer = await endpoint.backend(body | STREAMED if streams else body)
                if isinstance(answer, dict):
                    if refusal := refusal_of(answer):
                        raise refusal
                    return {}, answer
                assert listener is not None  # a stream was asked for
                async with aclosing(answer):
                    return {}, await _collected(answer, listener, where)
            except Refused as error:
                raise _refusal(endpoint, where, error, {}) from error
        import openai

        if endpoint.official and "max_tokens" in body:  # newer models refuse the old name
            body = {**body, "max_completion_tokens": body["max_tokens"]}
            del body["max_tokens"]
        headers: Mapping[str, str] = {}
        try:
            headers, content = await self._sent(body, timeout_s, listener)
            return headers, read_response(content, endpoint.url)
        except Refused as error:
            raise _refusal(endpoint, where, error, headers, "HTTP 200 without a reply") from error
        except openai.APIError as error:
            status = error.status_code if isinstance(error, openai.APIStatusError) else None
            if listener is not None and status in _NO_STREAM:
                return await self.post(body, timeout_s)
            raise fault_of(error, endpoint, where) from error
        except Unreachable as error:  # it is too long, or a web page
            raise Fault(error, lost=True) from error

    async def _sent(
        self, body: Body, timeout_s: float, listener: ChunkQueue | None
    ) -> tuple[Any, bytes]:
        import openai

        where = self._endpoint.url
        client = await self._client()  # the first time it is slow: imports, certificates
        # Not `chat.completions.create`: it walks through all messages to rename what needs no
        # renaming, which takes a third of the time of a call.
        path, options = "/chat/completions", openai.RequestOptions(timeout=timeout_s)
        async with answering(timeout_s):
            if listener is None:
                kind = openai.HttpxBinaryResponseContent
                answer = await client.post(path, cast_to=kind, body=body, options=options)
                return answer.response.headers, answer.content
            chunks = await client.post(
                path,
                cast_to=object,
                body=body | STREAMED,
                options=options,
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            async with chunks:
                headers = chunks.response.headers
                if not headers.get("content-type", "").lower().startswith("text/event-stream"):
                    return headers, await chunks.response.aread()
                return headers, json.dumps(await _collected(chunks, listener, where)).encode()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        loop = self._loops.pop(asyncio.get_running_loop(), None)
        if loop is not None and loop.client is not None:
            await loop.client.keeper.aclose()

    def _loop(self) -> _Loop:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Loop(Slots(self._concurrency))
        return self._loops[loop]

    async def _client(self) -> openai.AsyncOpenAI:
        loop = self._loop()
        if loop.client is None:
            client = self._endpoint.client(self._concurrency)
            loop.client = _Client(client, closed_with_loop(client.close))
            await anext(loop.client.keeper)
        return loop.client.client


@asynccontextmanager
async def answering(timeout_s: float) -> AsyncGenerator[None]:
    """Around a request of a client of `openai`: whatever goes wrong is one of its errors.

    Args:
        timeout_s: for the whole answer. The client's own limit counts from one byte to the next: a
            server that sends a byte now and then would hold a request for ever.

    Raises:
        openai.APIError: for a refusal, and for no answer.
    """
    import openai

    nowhere: Any = None
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except openai.APIError:
        raise
    except TimeoutError as error:
        raise openai.APITimeoutError(nowhere) from error
    except Exception as error:
        # What the client under `openai` does not translate: garbage in place of HTTP.
        if not (isinstance(error, ValueError | RecursionError) or _of_client(error)):
            raise
        raise openai.APIConnectionError(request=nowhere) from error


def fault_of(error: openai.APIError, endpoint: Endpoint, where: str) -> Fault:
    """Classify an error of a client of `openai`; no answer is retried, then Unreachable."""
    import openai

    from harness.core.redaction import redact

    if isinstance(error, openai.APIStatusError):
        payload: Any = error.body
        text = payload.get("message") if hasattr(payload, "get") else None
        refused = Refused(error.status_code, str(text or error.response.text))
        return _refusal(endpoint, where, refused, error.response.headers)
    if refusal := refusal_of({"error": error.body}):  # an event of a stream
        return _refusal(endpoint, where, refusal, {}, "HTTP 200 without a reply")
    cause = error.__cause__ or error
    if cause.__cause__ is not None and _of_client(cause.__cause__):
        # The transport between httpx and aiohttp calls every lost connection a ConnectTimeout, also
        # one that was lost after the request had been sent and may have been paid for.
        cause = cause.__cause__
    reason = f"{type(cause).__name__}: {cause}".rstrip(": ")
    unsent = any(kind.__name__ in _UNSENT for kind in type(cause).__mro__)
    slow = isinstance(cause, TimeoutError) or type(cause).__name__.endswith("Timeout")
    hint = "is the server running, and is the base URL right?" if unsent else "try again later"
    return Fault(
        Unreachable(f"{where} unreachable: {redact(reason)}; {hint}"),
        retried=True,
        unsent=unsent,
        lost=not unsent,
        busy=slow and not unsent,
    )


async def _collected(chunks: AsyncIterator[Any], listener: ChunkQueue, where: str) -> Body:
    """The completion that chunks make, each handed on as it comes.

    Raises:
        Fault: if they end before they should.
        Refused: if one of them is an error.
    """
    received: list[Any] = []
    async for chunk in chunks:
        if refusal := refusal_of(mapping(chunk)):
            raise refusal
        received.append(chunk)
        listener.add(chunk)
    completion = assembled(received)
    if completion["choices"][0]["finish_reason"] is None:
        error = Unreachable(f"{where}: the stream ended before its finish_reason; try again later")
        raise Fault(error, retried=True, lost=True)
    return completion


async def closed_with_loop(close: Callable[[], Awaitable[None]]) -> AsyncGenerator[None]:
    """Calls `close` when it is closed itself: by us, or by the event loop at its end.

    Scripts that never close a model would be warned of connections that were left open. Begin it
    with `anext`, and keep it for as long as the loop may use what is closed.
    """
    try:
        yield
    finally:
        await close()


def _refusal(
    endpoint: Endpoint,
    where: str,
    refused: Refused,
    headers: Mapping[str, str],
    status_text: str = "",
) -> Fault:
    """An answer that is an error.

    HTTP 400, 404, 422 and other rejections are BadInput; 401 and 403 are Unreachable with the
    variable to set; 408, 409, 429 and 5xx are retried, then Unreachable.

    Args:
        endpoint: that was asked.
        where: its name for people.
        refused: status and message.
        headers: of the answer.
        shown: the status for people, where HTTP had another than the error.
    """
    from harness.core.redaction import redact

    status, headers = refused.status, {**headers, **refused.headers}
    status_text = status_text or f"HTTP {status}"
    reason = redact(str(refused))[:2000] or "(no message)"
    if status in (408, 409, 429) or status >= 500:
        return Fault(
            Unreachable(f"{where} unreachable: it keeps answering {status_text}: {reason}"),
            retried=True,
            lost=status == 408 or status >= 500,
            retry_after_s=retry_after_s(headers),
            quota_pause_s=quota_pause_s(headers) if status == 429 else 0.0,
            busy=status in BUSY,
        )
    if 300 <= status < 400:
        address = redact(headers.get("location", ""))[:200]
        text = (
            f"{where} unreachable: it redirects to {address!r}; if that is right, name it instead"
        )
        return Fault(Unreachable(text))
    if status in (401, 403):
        hint = f"; check {endpoint.key_variable}" if endpoint.key_variable else ""
        text = f"{where} unreachable: it refused the key ({status_text}): {reason}{hint}"
        return Fault(Unreachable(text))
    if endpoint.kind in ("replay", "scripted", "none"):
        return Fault(BadInput(reason))
    return Fault(
        BadInput(
            f"{where} rejected the request for model {endpoint.model!r} ({status_text}): {reason}"
        )
    )


def _of_client(error: BaseException) -> bool:
    """Return True if aiohttp or httpx found no HTTP where an answer should have been."""
    return any(kind.__module__.startswith(("aiohttp.", "httpx")) for kind in type(error).__mro__)


def backoff_s(attempt: int, rng: random.Random) -> float:
    """Seconds before attempt number `attempt` + 1 (from 1): uniform below a doubling ceiling."""
    return rng.uniform(0, min(CAP_S, BASE_S * 2.0 ** (attempt - 1)))


def duration_s(text: str) -> float | None:
    """Seconds of `1.5`, `120ms` or `6m0s`; None if it is no duration."""
    text = text.strip()
    with suppress(ValueError):
        seconds = float(text)
        return seconds if 0 <= seconds < float("inf") else None
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that the server asks to wait (`Retry-After-Ms`, `Retry-After`), if it does."""
    milliseconds = duration_s(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = duration_s(text)
    if seconds is not None or not text:
        return seconds
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def quota_pause_s(headers: Mapping[str, str]) -> float:
    """Seconds until a used-up quota (`x-ratelimit-remaining-*: 0`) is refilled."""
    waits = [
        duration_s(headers.get(f"x-ratelimit-reset-{quota}", "")) or 0.0
        for quota in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{quota}", "").strip() == "0"
    ]
    return max(waits, default=0.0)
