"""What the requests of a recording share, and one of their legs to the upstream."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from harness.core import Usage
from harness.core.redaction import Redactor
from harness.models import Reservation
from harness.record.context import Context
from harness.record.log import LogWriter
from harness.record.money import Purse, settle
from harness.record.upstream import Upstream
from harness.record.wires import Body, Wire


@dataclass(frozen=True)
class Line:
    """What all requests of a recording share.

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
    """

    body: Body
    response: httpx.Response
    reservation: Reservation | None
    started: float
    usage: Usage | None = None
    answer: Body = field(default_factory=dict[str, Any])

    def settle(self, line: Line, wire: Wire | None, answer: Body) -> None:
        """Count what it used, at its end, however that came."""
        self.answer = answer
        if wire is None or self.reservation is None:
            return
        if self.response.status_code >= 400:
            self.reservation.refused()
            return
        seconds = time.monotonic() - self.started
        self.usage = line.purse.usage(wire, self.body, answer, seconds)
        settle(self.reservation, self.usage)

    async def close(self) -> None:
        """Close its connection."""
        with suppress(httpx.HTTPError):
            await self.response.aclose()


def said(error: Exception) -> str:
    """An error by its name, because some say nothing else."""
    return f"{type(error).__name__}: {error}".rstrip(": ")
