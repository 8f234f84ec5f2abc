"""One request on its way to the upstream and back, written down as it goes."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx
from starlette.responses import Response

from harness.core import BadInput, LimitReached, Unreachable, Usage, mapping
from harness.core.redaction import Redactor
from harness.models import SPENT, Answer, Reservation, Spend, event_bytes
from harness.record.answers import failure
from harness.record.context import Context, ShortenedExchange
from harness.record.exchanges import LogWriter, Outcome, RecordedRequest, json_of, pack
from harness.record.upstream import Purse, Upstream
from harness.record.wires import Body, Splitter, Wire, data_of, is_stream, objects

_HOP = (
    "connection", "content-encoding", "content-length", "date", "keep-alive", "server",
    "set-cookie", "transfer-encoding",
)  # fmt: skip
"""The upstream's headers that do not hold for the client's connection."""


@dataclass(frozen=True)
class Line:
    """Connection that all requests of a recording share.

    Attributes:
        upstream: where they go.
        client: sends them.
        log: where they are written; None for a server that keeps nothing.
        purse: the budget.
        secrets: what is not written.
        session: of the command that asks.
        context: what shortens tool outputs; None passes requests on as they are.
    """

    upstream: Upstream
    client: httpx.AsyncClient
    log: LogWriter | None
    purse: Purse
    secrets: Redactor
    session: str
    context: Context | None = None


@dataclass
class Leg:
    """One request to the upstream; an exchange has several where the proxy answers a tool call.

    Attributes:
        body: what was sent, if it is of a known format.
        response: headers have come; the body comes as it is read.
        usage: what it used, known at its end.
        answer: the whole answer, known at its end.
    """

    body: Body
    response: httpx.Response
    reservation: Reservation | None
    started: float
    usage: Usage | None = None
    answer: Body = field(default_factory=dict[str, Any])

    @property
    def streams(self) -> bool:
        """True if the response is a stream of events."""
        return is_stream(self.response.headers.get("content-type", ""))

    @property
    def failed(self) -> bool:
        """True if the response is an error."""
        return self.response.status_code >= 400


class LegFailed(Exception):
    """A later leg of an exchange was answered with an error, which is its content."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content.decode("utf-8", "replace")[:500])
        self.content = content


class Forward:
    """The way of one request. Use once.

    Args:
        line: of the recording.
        number: of the exchange.
        request: as it is recorded, without its keys.
        target: its path and query as they came.
        headers: as they came.
        content: the body as it came.
        wire: its format, None to pass it through.
    """

    def __init__(
        self,
        line: Line,
        number: int,
        request: RecordedRequest,
        target: tuple[str, str],
        headers: Mapping[str, str],
        content: bytes,
        wire: Wire | None,
    ) -> None:
        self._line, self._number, self._request, self._target = line, number, request, target
        self._headers, self._content, self._wire = headers, content, wire
        self._body = mapping(json_of(content)) if wire else {}
        self._legs: list[Leg] = []
        self._shortened: ShortenedExchange | None = None
        self._started = time.monotonic()

    async def respond(self) -> Response:
        """The upstream's response, recorded.

        Raises:
            LimitReached: if the budget cannot hold the request; nothing is recorded then.
            BadInput: if money is limited and the price is unknown, or the disk is full.
        """
        body = self._body
        if self._line.context is not None and self._wire is not None and body:
            self._shortened = await self._line.context.begin(self._wire, body)
            body = self._shortened.body
        try:
            leg = await self._send(body)
        except Unreachable as error:
            return await self._no_response("unreachable", error)
        if leg.streams:
            headers = await self._reply(leg)
            return await Answer(leg.response.status_code, headers, self._events(leg)).response()
        try:
            content = await self._whole(leg)
            if self._wire and self._shortened and self._shortened.rounds and leg.answer:
                content = await self._whole_of_all(self._wire, leg, content)
        except (Unreachable, LimitReached) as error:
            return await self._no_response("cut", error)
        leg = self._legs[-1]
        headers = await self._reply(leg)
        self._data(content)
        await self._end("complete")
        return Response(content, leg.response.status_code, headers)

    async def _whole_of_all(self, wire: Wire, leg: Leg, content: bytes) -> bytes:
        """The response that is no stream, of all legs as one; of one that fails, its error."""
        if leg.failed:
            return content
        try:
            events = [event async for event in self._shown(leg)]
        except LegFailed as error:
            return error.content
        return json.dumps(wire.assemble(objects(events)), ensure_ascii=False).encode()

    async def _send(self, body: Body) -> Leg:
        """Send one leg; its response's headers have come.

        Raises:
            LimitReached: if the budget cannot hold it.
            Unreachable: if no response comes.
            BadInput: if the path cannot be sent.
        """
        upstream, request = self._line.upstream, self._request
        path, query = self._target
        try:
            url = httpx.URL(upstream.url(path, self._headers) + (f"?{query}" if query else ""))
        except httpx.InvalidURL as error:
            raise BadInput(f"the path {request.path!r:.80} cannot be sent: {error}") from error
        if ".." in path.split("/"):
            raise BadInput(f"the path {request.path!r:.80} leads out of the upstream's")
        content, reservation = self._content, None
        if self._wire:
            self._line.purse.refuse_unbounded(body, self._content)
        if self._wire and body:
            if upstream.spec is not None:
                body = {**body, "model": upstream.spec.name}
            if upstream.adapt is not None:
                body = upstream.adapt(body)
            body = self._line.purse.bounded(self._wire, body)
            reservation = await self._line.purse.reserve(self._wire, body)
            if body != self._body:
                content = json.dumps(body, ensure_ascii=False).encode()
        if not self._legs:
            session = self._line.session
            await self._write("request", time=time.time(), session=session, **vars(request))
        outgoing = self._line.client.build_request(
            request.method,
            url,
            headers=upstream.headers(self._headers),
            content=content,
        )
        try:
            response = await self._line.client.send(outgoing, stream=True)
        except httpx.HTTPError as error:
            if reservation is not None:
                unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                reservation.release() if unsent else reservation.forfeit()
            raise Unreachable(f"{outgoing.url.host}: {_named(error)}") from error
        leg = Leg(body, response, reservation, time.monotonic())
        self._legs.append(leg)
        return leg

    async def _whole(self, leg: Leg) -> bytes:
        """A response that is no stream.

        Raises:
            Unreachable: if it is cut; what came of it is recorded.
        """
        content = bytearray()
        try:
            async for piece in leg.response.aiter_bytes():
                content += piece
        except (httpx.HTTPError, Unreachable) as error:
            self._data(bytes(content))
            raise Unreachable(
                f"the response was cut after {len(content)} bytes: {_named(error)}"
            ) from error
        finally:
            await self._settle(leg, mapping(json_of(bytes(content))))
        return bytes(content)

    async def _events(self, leg: Leg) -> AsyncGenerator[bytes]:
        """A stream, each event recorded before the client has it."""
        outcome: Outcome = "left"
        problem: str | None = None
        try:
            async with aclosing(self._shown(leg)) as events:
                async for event in events:
                    self._data(event)
                    yield event
            outcome = "complete"
        except (LegFailed, Unreachable, LimitReached) as error:
            inner = {"type": "api_error", "message": str(error)}
            event = event_bytes({"type": "error", "error": inner})
            self._data(event)
            outcome = "complete"
            yield event
        except httpx.HTTPError as error:
            outcome, problem = "cut", _named(error)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(outcome, problem)

    async def _shown(self, leg: Leg) -> AsyncGenerator[bytes]:
        """The events that the client gets, of all legs as of one.

        Raises:
            LegFailed: if a later leg is answered with an error.
            Unreachable: if a later leg is not answered.
            LimitReached: if the budget does not hold a later leg.
            httpx.HTTPError: if a stream is cut.
        """
        shortened, sent = self._shortened, list[bytes]()
        rounds = shortened.rounds if shortened else None
        while True:
            async with aclosing(self._split(leg)) as events:
                async for event in events:
                    for visible in rounds.feed(data_of(event), event) if rounds else [event]:
                        sent.append(_raw(visible))
                        yield sent[-1]
            if shortened is None or rounds is None or self._wire is None:
                return
            following = await shortened.follow(leg.answer)
            if following is None:
                break
            leg = await self._send(following)
            content = b"" if leg.streams and not leg.failed else await self._whole(leg)
            if leg.failed:
                raise LegFailed(content)
        for visible in rounds.close():
            sent.append(_raw(visible))
            yield sent[-1]
        shortened.finish(self._wire.assemble(objects(sent)))

    async def _split(self, leg: Leg) -> AsyncGenerator[bytes]:
        """The events of one leg; a stream's usage is counted at their end, however that comes."""
        if self._wire and not leg.streams:
            for event in self._wire.events_of(leg.answer):
                yield event_bytes(event)
            return
        splitter, events = Splitter(), list[bytes]()
        try:
            async for piece in leg.response.aiter_bytes():
                for event in splitter.feed(piece):
                    events.append(event)
                    yield event
            if splitter.rest:
                yield splitter.rest
        except httpx.HTTPError:
            self._data(splitter.rest)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._settle(leg, self._wire.assemble(objects(events)) if self._wire else {})

    async def _settle(self, leg: Leg, answer: Body) -> None:
        """Close a leg and count what it used; unknown tokens stay charged with the worst case."""
        with suppress(httpx.HTTPError):
            await leg.response.aclose()
        leg.answer = answer
        if self._wire is None or leg.reservation is None:
            return
        if leg.failed and SPENT not in leg.response.headers:
            leg.reservation.refused()
            return
        seconds = time.monotonic() - leg.started
        leg.usage = self._line.purse.usage(self._wire, leg.body, answer, seconds)
        if leg.usage is None:
            leg.reservation.forfeit()
        else:
            leg.reservation.settle(Spend(leg.usage.cost_usd or 0.0, leg.usage.tokens, 1))

    async def _no_response(self, outcome: Outcome, error: Exception) -> Response:
        await self._end(outcome, str(error))
        return failure(str(error))

    async def _reply(self, leg: Leg) -> dict[str, str]:
        """Record that a response begins; the headers that are passed on."""
        response = leg.response
        headers = {name: text for name, text in response.headers.items() if name not in _HOP}
        clean = self._line.secrets.clean(headers)
        await self._write("reply", status=response.status_code, headers=clean)
        return headers

    async def _end(self, outcome: Outcome, problem: str | None = None) -> None:
        used = [leg.usage for leg in self._legs]
        usages = [usage for usage in used if usage is not None]
        complete = bool(usages) and len(usages) == len(used)
        details: dict[str, Any] = {
            "seconds": round(time.monotonic() - self._started, 4),
            "usage": sum(usages, Usage()).model_dump(mode="json") if complete else None,
        }
        if problem:
            details["error"] = self._line.secrets.text(problem)
        if self._shortened:
            details |= self._line.secrets.clean(self._shortened.facts())
        await self._write("end", outcome=outcome, facts=details)

    def _data(self, content: bytes) -> None:
        if self._line.log is not None and content:
            data = pack(content, self._line.secrets)
            self._line.log.add({"event": "data", "exchange": self._number, "data": data})

    async def _write(self, kind: str, **values: Any) -> None:
        if self._line.log is not None:
            await self._line.log.put({"event": kind, "exchange": self._number, **values})


def _raw(event: Body | bytes) -> bytes:
    return event if isinstance(event, bytes) else event_bytes(event)


def _named(error: Exception) -> str:
    """An error by its name, because some say nothing else."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
