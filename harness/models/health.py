"""Whether a server of several is well: taken out of service when it fails, back when it answers.

A server that cannot be reached, drops a connection or answers 500 to 504 gets no more requests
until it has answered `/health` again; it is asked after half a second, then after twice the time of
before. One that is silent while requests wait for it is asked as well. Asking costs no tokens, and
happens beside the requests, on the event loop that chose a server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

FIRST_S, LONGEST_S = 0.5, 30.0
"""Seconds out of service before the first question; and at most."""
SILENT_S = 30.0
"""A server with requests in flight and no answer for so long is asked whether it is well."""
PROBE_S = 3.0
MISSED = 2
"""Questions in a row that a silent server may leave unanswered before it is taken out."""
GONE = frozenset({500, 502, 503, 504})
"""vLLM answers 500 to new requests while it drains."""

Probe: TypeAlias = Callable[[str], Awaitable[bool]]


async def over_http(url: str) -> bool:
    """Whether the server of a base URL is well, by `/health` beside `/v1`.

    Servers that do not know `/health` are well if they answer at all.
    """
    import httpx

    root = url.removesuffix("/v1")
    try:
        async with httpx.AsyncClient(timeout=PROBE_S) as client:
            return (await client.get(f"{root}/health")).status_code < 500
    except httpx.HTTPError:
        return False


class Health:
    """What is known about one server.

    Attributes:
        in_service: whether it gets requests.
    """

    def __init__(
        self, url: str, probe: Probe = over_http, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.in_service = True
        self._url, self._probe, self._clock = url, probe, clock
        self._heard_at = clock()
        self._ask_at = 0.0
        self._wait_s = FIRST_S
        self._missed = 0
        self._asking: asyncio.Task[None] | None = None

    def begins(self) -> None:
        """A request goes to it while it has none: silence counts from now."""
        self._heard_at = self._clock()

    def answered(self) -> None:
        """It answered a request."""
        self._heard_at, self._missed, self._wait_s = self._clock(), 0, FIRST_S
        self.in_service = True

    def failed(self, error: Exception) -> None:
        """A request to it failed; the error says whether that is the server's fault."""
        if _is_gone(error):
            self._take_out()
        elif getattr(error, "status_code", None) is not None:  # an answer, if a refusal
            self._heard_at, self._missed = self._clock(), 0

    def look(self, load: int) -> None:
        """Ask it in the background where that is due.

        Args:
            load: its requests in flight.
        """
        now = self._clock()
        silent = load > 0 and now - self._heard_at > SILENT_S
        due = now >= self._ask_at and (not self.in_service or silent)
        if due and not self._is_asked():
            self._ask_at = now + self._wait_s
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    def _is_asked(self) -> bool:
        task = self._asking
        return task is not None and not task.done() and not task.get_loop().is_closed()

    async def _ask(self) -> None:
        if await self._probe(self._url):
            self._heard_at, self._missed = self._clock(), 0
            self.in_service = True
            return
        self._missed += 1
        if self._missed >= MISSED or not self.in_service:
            self._take_out()

    def _take_out(self) -> None:
        """No requests for a while; the while doubles until the server answers a request."""
        self._ask_at = self._clock() + self._wait_s
        if self.in_service or self._missed:
            self._wait_s = min(LONGEST_S, 2 * self._wait_s)
        self.in_service = False


def _is_gone(error: Any) -> bool:
    status = getattr(error, "status_code", None)
    if status is not None:
        return status in GONE
    import openai

    if isinstance(error, openai.APITimeoutError):
        return type(error.__cause__).__name__ == "ConnectTimeout"  # others may just be slow
    return isinstance(error, openai.APIConnectionError)
