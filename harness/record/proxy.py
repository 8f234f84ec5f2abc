"""The loopback proxy: guards its door, answers from the record or forwards, and writes down."""

from __future__ import annotations

import hmac

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from harness.core import BadInput, LimitReached
from harness.core.redaction import Redactor
from harness.models import application, body_of
from harness.record.answers import Answers, failure, replayed
from harness.record.exchanges import read_request
from harness.record.forward import Forward, Line
from harness.record.wires import wire_of


class Proxy:
    """The application of one recording or replay.

    Args:
        answers: what is answered without asking.
        line: to the upstream; None for a replay, which asks nobody.
        secrets: what is never written.
        token: first part of every path, which only the command knows; empty for none.
        first: number of the first exchange.

    Attributes:
        requests: that came.
        replayed: those answered from the record.
        missing: what differs, for each request that a replay could not answer.
        limit: the budget's word, if it stopped a request.
    """

    def __init__(
        self,
        answers: Answers,
        line: Line | None,
        secrets: Redactor,
        *,
        token: str = "",
        first: int = 1,
    ) -> None:
        self._answers, self._line, self._secrets = answers, line, secrets
        self._token, self._next = token, first
        self.requests = self.replayed = 0
        self.missing: list[str] = []
        self.limit: str | None = None

    def app(self) -> Starlette:
        """The ASGI application."""
        return application(self._serve)

    async def _serve(self, request: Request) -> Response:
        problem = self._stranger(request)
        if problem:
            return failure(problem, 403, "permission_error", final=True)
        if request.headers.get("upgrade", "").lower() == "websocket":
            # Codex asks for one first; this status sends it to HTTP at once, without retries.
            return failure("no WebSockets here", 426, "invalid_request_error", final=True)
        path, line = request.url.path, self._line
        if self._token:
            path = path.removeprefix(f"/{self._token}")
        content = await body_of(request)
        self.requests += 1
        self._secrets.learn(request.headers)
        target = path, request.url.query
        recorded = read_request(request.method, *target, request.headers, content, self._secrets)
        exchange = self._answers.next(recorded)
        if exchange is not None:
            self.replayed += 1
            if line is not None and line.log is not None:
                event = {"event": "given", "exchange": exchange.number, "session": line.session}
                await line.log.put(event)
            return await replayed(exchange)
        if line is None:
            self.missing.append(
                f"{recorded.method} {recorded.path}: {self._answers.nearest(recorded)}"
            )
            problem = f"not in the recording: {self.missing[-1]}"
            return failure(problem, 404, "not_found_error", final=True)
        number, self._next = self._next, self._next + 1
        wire = wire_of(request.method, path)
        forward = Forward(line, number, recorded, target, request.headers, content, wire)
        try:
            return await forward.respond()
        except LimitReached as error:
            self.limit = str(error)
            return failure(self.limit, 429, "rate_limit_error", final=True)
        except BadInput as error:
            return failure(str(error), 400, "invalid_request_error", final=True)

    def _stranger(self, request: Request) -> str | None:
        """Explain why a request is not taken: it has no token."""
        key = request.url.path.split("/")[1]
        if self._token and not hmac.compare_digest(key.encode(), self._token.encode()):
            return "expected the path of the base URL that the command was given"
        return None
