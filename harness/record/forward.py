"""One request on its way to the upstream and back, written down as it goes."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
import httpx
from starlette.responses import Response

from harness.core import LimitReached, Unreachable, Usage
from harness.record.context import Sitting
from harness.record.exchange import Asked, Event, Outcome, json_of, pack
from harness.record.line import Leg, Line, said
from harness.record.replies import Stream, failure, passed_on
from harness.record.sse import Splitter, data_of, event_of, is_stream, objects
from harness.record.wires import Body, Wire
from harness.trajectories.lenient import mapping


class Forward:
    """The way of one request. Use once.

    Args:
        line: of the recording.
        number: of the exchange.
        asked: the request without its keys.
        headers: with them.
        content: the body as it came.
        wire: its format, None to pass it through.
    """

    def __init__(
        self,
        line: Line,
        number: int,
        request: Asked,
        headers: Mapping[str, str],
        content: bytes,
        wire: Wire | None,
    ) -> None:
        self._line, self._number, self._asked = line, number, request
        self._headers, self._content = headers, content
        self.wire = wire
        self.body = mapping(json_of(content)) if wire else {}
        self.legs: list[Leg] = []
        self._sitting: Sitting | None = None
        self._started = time.monotonic()

    async def respond(self) -> Response:
        """The upstream's response, recorded.

        Raises:
            LimitReached: if the budget cannot hold the request; nothing is recorded then.
            BadInput: if money is limited and the price is unknown, or the disk is full.
        """
        body = self.body
        if self._line.context is not None and self.wire is not None and body:
            self._sitting = await self._line.context.begin(self.wire, body)
            body = self._sitting.body
        try:
            leg = await self.send(body)
        except Unreachable as error:
            await self._end("unreachable", str(error))
            return failure(str(error))
        headers = passed_on(leg.response.headers)
        if is_stream(headers.get("content-type", "")):
            await self._reply(leg, headers)
            return Stream(self._events(leg), leg.response.status_code, headers)
        try:
            leg, content = await self._all(leg)
        except (Unreachable, LimitReached) as error:
            await self._end("cut", str(error))
            return failure(str(error))
        headers = passed_on(leg.response.headers)
        await self._reply(leg, headers)
        self._data(content)
        await self._end("complete")
        return Response(content, leg.response.status_code, headers)

    async def _reply(self, leg: Leg, headers: dict[str, str]) -> None:
        clean = self._line.secrets.clean(headers)
        await self._write("reply", status=leg.response.status_code, headers=clean)

    async def _all(self, leg: Leg) -> tuple[Leg, bytes]:
        """The last leg, and the response that is no stream, of all legs as one.

        Raises:
            Unreachable: if a response is cut or does not come.
            LimitReached: if the budget does not hold a further leg.
        """
        content = await self._whole(leg)
        sitting, rounds = self._sitting, self._sitting.rounds if self._sitting else None
        if sitting is None or rounds is None or not leg.answer:
            return leg, content
        while leg.response.status_code < 400:
            rounds.add(leg.answer)
            following = await sitting.follow(leg.answer)
            if following is None:
                shown = rounds.whole()
                sitting.finish(shown)
                return leg, json.dumps(shown, ensure_ascii=False).encode()
            leg = await self.send(following)
            content = await self._whole(leg)
        return leg, content

    async def send(self, body: Body) -> Leg:
        """Send one leg; its response's headers have come.

        Raises:
            LimitReached: if the budget cannot hold it.
            Unreachable: if no response comes.
        """
        upstream, client_request = self._line.upstream, self._asked
        content, reservation = self._content, None
        if self.wire and body:
            if upstream.spec is not None:
                body = {**body, "model": upstream.spec.name}
            if upstream.adapt is not None:
                body = upstream.adapt(body)
            body = self._line.purse.bounded(self.wire, body)
            reservation = await self._line.purse.reserve(self.wire, body)
            if body != self.body:
                content = json.dumps(body, ensure_ascii=False).encode()
        if not self.legs:
            await self._write(
                "request", time=time.time(), session=self._line.session, **vars(client_request)
            )
        request = self._line.client.build_request(
            client_request.method,
            upstream.url(client_request.path, self._headers)
            + (f"?{client_request.query}" if client_request.query else ""),
            headers=upstream.headers(self._headers),
            content=content,
        )
        try:
            response = await self._line.client.send(request, stream=True)
        except httpx.HTTPError as error:
            if reservation is not None:
                unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                reservation.release() if unsent else reservation.forfeit()
            raise Unreachable(f"{request.url.host}: {said(error)}") from error
        leg = Leg(body, response, reservation, time.monotonic())
        self.legs.append(leg)
        return leg

    async def _whole(self, leg: Leg) -> bytes:
        """A response that is no stream.

        Raises:
            Unreachable: if it is cut; what came of it is recorded.
        """
        content = b""
        try:
            async for piece in leg.response.aiter_bytes():
                content += piece
        except httpx.HTTPError as error:
            self._data(content)
            raise Unreachable(
                f"the response was cut after {len(content)} bytes: {said(error)}"
            ) from error
        finally:
            await leg.close()
            leg.settle(self._line, self.wire, mapping(json_of(content)))
        return content

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
        except httpx.HTTPError as error:
            outcome, problem = "cut", said(error)
            raise
        finally:
            ended = self._event("end", outcome=outcome, facts=self._ended(problem))
            with anyio.CancelScope(shield=True):
                await self._put(ended)

    async def _shown(self, leg: Leg) -> AsyncGenerator[bytes]:
        """The events that the client gets, of all legs as of one."""
        sitting, rounds = self._sitting, self._sitting.rounds if self._sitting else None
        shown: list[bytes] = []
        while True:
            async with aclosing(self._split(leg)) as events:
                async for event in events:
                    new = rounds.feed(data_of(event), event) if rounds else [event]
                    for raw_event in map(_raw, new):
                        shown.append(raw_event)
                        yield raw_event
            if sitting is None or rounds is None or self.wire is None:
                return
            following = await sitting.follow(leg.answer)
            if following is None:
                break
            try:
                leg = await self.send(following)
                if leg.response.status_code >= 400:
                    raise Unreachable((await self._whole(leg)).decode("utf-8", "replace")[:500])
            except (Unreachable, LimitReached) as error:
                inner = {"type": "api_error", "message": str(error)}
                yield event_of({"type": "error", "error": inner})
                return
        for raw_event in map(_raw, rounds.close()):
            shown.append(raw_event)
            yield raw_event
        sitting.finish(self.wire.assemble(objects(shown)))

    async def _split(self, leg: Leg) -> AsyncGenerator[bytes]:
        """The events of one leg; its usage is counted at their end, however that comes."""
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
                await leg.close()
            answer = self.wire.assemble(objects(events)) if self.wire else {}
            leg.settle(self._line, self.wire, answer)

    def _ended(self, problem: str | None) -> dict[str, Any]:
        used = [leg.usage for leg in self.legs]
        usages = [usage for usage in used if usage is not None]
        usage = sum(usages, Usage()).model_dump(mode="json") if usages == used and used else None
        facts: dict[str, Any] = {
            "seconds": round(time.monotonic() - self._started, 4),
            "usage": usage,
        }
        context_facts = self._sitting.facts() if self._sitting else {}
        if problem:
            facts["error"] = self._line.secrets.text(problem)
        return {**facts, **self._line.secrets.clean(context_facts)}

    async def _end(self, outcome: Outcome, problem: str | None = None) -> None:
        await self._write("end", outcome=outcome, facts=self._ended(problem))

    def _data(self, content: bytes) -> None:
        if self._line.log is not None and content:
            self._line.log.add(self._event("data", data=pack(content, self._line.secrets)))

    async def _write(self, kind: str, **values: Any) -> None:
        await self._put(self._event(kind, **values))

    async def _put(self, event: Event) -> None:
        if self._line.log is not None:
            await self._line.log.put(event)

    def _event(self, kind: str, **values: Any) -> Event:
        return {"event": kind, "exchange": self._number, **values}


def _raw(event: Body | bytes) -> bytes:
    return event if isinstance(event, bytes) else event_of(event)
