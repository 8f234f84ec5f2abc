"""The loopback proxy: guards its door, answers from the record or forwards, and writes down."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from harness.core import BadInput, LimitReached
from harness.core.redaction import Redactor
from harness.models import application
from harness.record.exchange import Exchange, read_request
from harness.record.forward import Forward
from harness.record.library import Library
from harness.record.line import Line
from harness.record.replies import refusal, replayed
from harness.record.wires import wire_of

LOCAL_NAMES = ("127.0.0.1", "localhost")


class Proxy:
    """The application of one recording or replay.

    Args:
        library: what is answered without asking.
        line: to the upstream; None for a replay, which asks nobody.
        secrets: what is never written.
        token: first part of every path, which only the command knows; empty for none.
        first: number of the first exchange.

    Attributes:
        asked: requests that came.
        replayed: those answered from the record.
        missing: what differs, for each request that a replay could not answer.
        limit: the budget's word, if it stopped a request.
    """

    def __init__(
        self,
        library: Library,
        line: Line | None,
        secrets: Redactor,
        *,
        token: str = "",
        first: int = 1,
    ) -> None:
        self._library, self._line, self._secrets = library, line, secrets
        self._token, self._next = token, first
        self.asked = 0
        self.replayed = 0
        self.missing: list[str] = []
        self.limit: str | None = None

    def app(self) -> Starlette:
        """The ASGI application."""
        return application(self._serve)

    async def _serve(self, request: Request) -> Response:
        problem = self._stranger(request)
        if problem:
            return refusal(403, problem, "permission_error")
        path = request.url.path
        if self._token:
            path = path.removeprefix(f"/{self._token}")
        content = await request.body()
        self.asked += 1
        self._secrets.learn(request.headers)
        request_read = read_request(
            request.method, path, request.url.query, request.headers, content, self._secrets
        )
        exchange = self._library.next(request_read)
        if exchange is not None:
            self.replayed += 1
            if self._line is not None and self._line.log is not None:
                event = {
                    "event": "given",
                    "exchange": exchange.number,
                    "session": self._line.session,
                }
                await self._line.log.put(event)
            return replayed(exchange)
        if self._line is None:
            self.missing.append(
                f"{request_read.method} {path}: {self._library.nearest(request_read)}"
            )
            return refusal(404, f"not in the recording: {self.missing[-1]}", "not_found_error")
        number, self._next = self._next, self._next + 1
        wire = wire_of(request.method, path)
        forward = Forward(self._line, number, request_read, request.headers, content, wire)
        try:
            return await forward.respond()
        except LimitReached as error:
            self.limit = str(error)
            return refusal(429, self.limit, "rate_limit_error")
        except BadInput as error:
            return refusal(400, str(error))

    def _stranger(self, request: Request) -> str | None:
        """Why a request is not taken: a page of a browser, another name, no token."""
        host = request.headers.get("host", "")
        name = urlsplit(f"//{host}").hostname
        if name not in LOCAL_NAMES:
            return f"expected the Host {LOCAL_NAMES[0]}, got {host[:80]!r}"
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return f"requests of other origins are refused, got {origin[:80]!r}"
        key = request.url.path.split("/")[1]
        if self._token and not hmac.compare_digest(key.encode(), self._token.encode()):
            return "expected the path of the base URL that the command was given"
        return None


def answers_of(exchanges: list[Exchange], *, replay: bool) -> Library:
    """What a recording answers: all of it in a replay, else whole answers that are no errors."""
    return Library([exchange for exchange in exchanges if replay or exchange.good], repeat=replay)
