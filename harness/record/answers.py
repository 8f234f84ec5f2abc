"""Recorded answers, found again by request: those of a replay, and those already paid for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from harness.core import decoding, mapping
from harness.models import Answer, differences, excerpts
from harness.record.exchanges import Exchange, RecordedRequest
from harness.record.wires import is_stream


class Cut(Exception):
    """The stream broke where the recorded one did; the client sees its connection close."""


class Answers:
    """Recorded exchanges by request.

    The same request may have been asked several times and answered differently (retries, samples
    at a temperature): the n-th time it is asked, the n-th answer is given.

    Args:
        exchanges: in the order they were asked.
        replay: whether all of them answer, and the last answer of a request every later time too;
            else whole answers that are no errors, each once.
    """

    def __init__(self, exchanges: Sequence[Exchange], *, replay: bool) -> None:
        self._replay = replay
        self._exchanges = [exchange for exchange in exchanges if replay or exchange.good]
        self._waiting: defaultdict[str, list[Exchange]] = defaultdict(list)
        with decoding("a recording"):
            for exchange in reversed(self._exchanges):
                self._waiting[exchange.request.digest].append(exchange)

    def next(self, request: RecordedRequest) -> Exchange | None:
        """The next recorded answer to a request."""
        waiting = self._waiting.get(request.digest, [])
        if self._replay and len(waiting) == 1:
            return waiting[0]
        return waiting.pop() if waiting else None

    def nearest(self, request: RecordedRequest) -> str:
        """Describe how the recorded request that is nearest to `request` differs from it."""
        recorded = [exchange.request for exchange in self._exchanges]
        same_path = [candidate for candidate in recorded if candidate.path == request.path]
        if not same_path:
            paths = sorted({candidate.path for candidate in recorded})
            return f"nothing was recorded for {request.method} {request.path}, only {paths!r}"
        differences = [_differences(request, candidate) for candidate in same_path]
        return min(differences, key=lambda difference: difference[0])[1]


def _differences(sent: RecordedRequest, recorded: RecordedRequest) -> tuple[tuple[int, int], str]:
    """Rank (fields that differ, fewer shared messages) and text of what differs."""
    body, recorded_body = mapping(sent.body), mapping(recorded.body)
    if not body or not recorded_body:
        if sent.body == recorded.body:
            return (0, 0), "the query"
        return (1, 0), f"body: {excerpts(sent.body, recorded.body)}"
    shared, lines = differences(body, recorded_body)
    if sent.query != recorded.query:
        lines.append(f"query: {excerpts(sent.query, recorded.query)}")
    return (len(lines), -shared), "\n".join(lines)


async def replayed(exchange: Exchange) -> Response:
    """A recorded response: the same status, headers and bytes, and the same end."""
    streamed = is_stream(exchange.headers.get("content-type", ""))
    if exchange.status is None or (exchange.outcome != "complete" and not streamed):
        return failure(str(exchange.facts.get("error", "the recorder was stopped here")))
    if streamed:
        return await Answer(exchange.status, exchange.headers, _events(exchange)).response()
    return Response(b"".join(exchange.data), exchange.status, exchange.headers)


async def _events(exchange: Exchange) -> AsyncGenerator[bytes]:
    for event in exchange.data:
        yield event
    if exchange.outcome != "complete":
        raise Cut(f"the recorded stream {exchange.number} ended here ({exchange.outcome})")


def failure(
    message: str, status: int = 502, kind: str = "api_error", *, final: bool = False
) -> Response:
    """An error in a form that the clients of all formats read.

    Args:
        message: what went wrong.
        status: HTTP status.
        kind: Anthropic's name for it.
        final: whether clients shall not try again.
    """
    error = {"type": kind, "message": message, "param": None, "code": None}
    body: dict[str, Any] = {"type": "error", "error": error}
    headers = {"x-should-retry": "false"} if final else None
    return JSONResponse(body, status_code=status, headers=headers)
