"""Choice of a server for a request: prefix affinity, bounded load, health.

Rendezvous hashing (Thaler and Ravishankar 1998) of what requests share at their beginning gives
every prefix its own order of servers: requests with one prefix meet the same prefix cache, and when
a server is lost only its share moves. Bounded loads (Mirrokni, Thorup and Zadimoghaddam 2018): a
server holds at most :data:`BOUND` times the mean of the requests in flight, and what is beyond goes
to the next in the order, so that one skill's prefix does not make one server work alone.

A server that cannot be reached, drops a connection or answers 500 to 504 gets no more requests
until it has answered `/health` again; it is asked after half a second, then after twice the time of
before. One that is silent while requests wait for it is asked as well. Asking costs no tokens, and
happens beside the requests, on the event loop that chose a server.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from harness.core import canonical_json

BOUND, FLOOR = 1.25, 4
"""Load of one server at most: a multiple of the mean, and never less than so many requests, which
a server works on together in little more time than on one."""
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


def prefix_of(body: Mapping[str, Any]) -> bytes:
    """Digest of what the turns of one rollout share: tools, instructions, and the first message.

    The skill stands in the instructions. A body without messages (embeddings) is its own prefix.
    """
    messages: list[Any] = body.get("messages") or []
    length = 0
    while length < len(messages) and messages[length].get("role") in ("system", "developer"):
        length += 1
    shared: Any = [messages[: length + 1], body.get("tools")] if messages else body
    return hashlib.sha256(canonical_json(shared).encode()).digest()


async def over_http(url: str) -> bool:
    """Ask `/health` beside `/v1` if the server of a base URL is well.

    Servers that do not know `/health` are well if they answer at all.
    """
    from httpx import HTTPError

    from harness.core import async_http_client

    try:
        async with async_http_client(url, PROBE_S) as client:
            return (await client.get(f"{url.removesuffix('/v1')}/health")).status_code < 500
    except HTTPError:
        return False


class _Server:
    """Load and health of one server.

    Attributes:
        load: requests in flight.
        in_service: whether it gets requests.
    """

    def __init__(self, url: str, probe: Probe, clock: Callable[[], float]) -> None:
        self.url, self._probe, self._clock = url, probe, clock
        self.load = 0
        self.in_service = True
        self._heard_at = clock()
        self._ask_at = 0.0
        self._wait_s = FIRST_S
        self._missed = 0
        self._asking: asyncio.Task[None] | None = None

    def begins(self) -> None:
        """A request goes to it; where it had none, silence counts from now."""
        if not self.load:
            self._heard_at = self._clock()
        self.load += 1

    def answered(self) -> None:
        """It answered a request."""
        self._heard_at, self._missed, self._wait_s = self._clock(), 0, FIRST_S
        self.in_service = True

    def failed(self, error: Any) -> None:
        """A request to it failed; the error says whether that is the server's fault."""
        import openai

        status = getattr(error, "status_code", None)
        if status is not None:
            gone = status in GONE
        elif isinstance(error, openai.APITimeoutError):
            gone = type(error.__cause__).__name__ == "ConnectTimeout"  # others may just be slow
        else:
            gone = isinstance(error, openai.APIConnectionError)
        if gone:
            self._take_out()
        elif status is not None:  # an answer, if a refusal
            self._heard_at, self._missed = self._clock(), 0

    def look(self) -> None:
        """Ask it in the background where that is due."""
        now, task = self._clock(), self._asking
        silent = self.load > 0 and now - self._heard_at > SILENT_S
        probing = task is not None and not task.done() and not task.get_loop().is_closed()
        if now >= self._ask_at and (not self.in_service or silent) and not probing:
            self._ask_at = now + self._wait_s
            self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def _ask(self) -> None:
        if await self._probe(self.url):
            self._heard_at, self._missed = self._clock(), 0
            self.in_service = True
            return
        self._missed += 1
        if self._missed >= MISSED or not self.in_service:
            self._take_out()

    def _take_out(self) -> None:
        """No requests for a while, twice as long each time until the server answers a request."""
        self._ask_at = self._clock() + self._wait_s
        if self.in_service or self._missed:
            self._wait_s = min(LONGEST_S, 2 * self._wait_s)
        self.in_service = False


class Balancer:
    """Chooses servers, and learns from how requests fare. One of an endpoint, for all its threads.

    Args:
        urls: base URLs of the servers.
        probe: asks a server whether it is well.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        urls: tuple[str, ...],
        probe: Probe = over_http,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = [_Server(url, probe, clock) for url in urls]
        self._lock = threading.Lock()

    @property
    def load(self) -> tuple[int, ...]:
        """Requests in flight of each server."""
        return tuple(server.load for server in self._servers)

    @property
    def in_service(self) -> tuple[bool, ...]:
        """Servers that get requests, as a flag for each."""
        return tuple(server.in_service for server in self._servers)

    def choose(self, prefix: bytes, tried: frozenset[int] = frozenset()) -> int:
        """The server for a request: the first of the prefix's order that bears one more.

        Args:
            prefix: see :func:`prefix_of`.
            tried: servers that failed this request; they come last.
        """
        servers = self._servers
        for server in servers:
            server.look()

        def weight(index: int) -> bytes:
            return hashlib.sha256(servers[index].url.encode() + b"\n" + prefix).digest()

        order = sorted(range(len(servers)), key=weight)
        with self._lock:
            serving = [index for index in order if servers[index].in_service]
            if serving:
                share = (sum(servers[index].load for index in serving) + 1) / len(serving)
                most = max(FLOOR, math.ceil(BOUND * share))
                order = [index for index in serving if servers[index].load < most] + serving
            # Where none serves, the first may be back, and tells what is wrong if not.
        return next((index for index in order if index not in tried), (serving or order)[0])

    def route(self, body: Mapping[str, Any]) -> Iterator[int]:
        """Indexes of the servers for the attempts of one request, each by what is known then."""
        prefix, tried = prefix_of(body), frozenset[int]()
        while True:
            index = self.choose(prefix, tried)
            tried = frozenset({index}) if index in tried else tried | {index}  # or a new round
            yield index

    @contextmanager
    def sending(self, index: int) -> Generator[None]:
        """Count a request to a server while it is under way, and judge the server by its end."""
        server = self._servers[index]
        with self._lock:
            server.begins()
        try:
            yield
        except Exception as error:
            server.failed(error)
            raise
        else:
            server.answered()
        finally:
            with self._lock:
                server.load -= 1
