"""Which of several servers of one model gets a request: prefix affinity, bounded load, health.

Rendezvous hashing (Thaler and Ravishankar 1998) of what requests share at their beginning gives
every prefix its own order of servers: requests with one prefix meet the same prefix cache, and when
a server is lost only its share moves. Bounded loads (Mirrokni, Thorup and Zadimoghaddam 2018): a
server holds at most :data:`BOUND` times the mean of the requests in flight, and what is beyond goes
to the next in the order, so that one skill's prefix does not make one server work alone.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.core import canonical_json
from harness.models.health import Health, Probe, over_http

BOUND, FLOOR = 1.25, 4
"""Load of one server at most: a multiple of the mean, and never less than so many requests, which
a server works on together in little more time than on one."""
_INSTRUCTIONS = ("system", "developer")


def prefix_of(body: Mapping[str, Any]) -> bytes:
    """Digest of what the turns of one rollout share: tools, instructions, and the first message.

    The skill stands in the instructions. A body without messages (embeddings) is its own prefix.
    """
    messages: list[Any] = body.get("messages") or []
    length = 0
    while length < len(messages) and messages[length].get("role") in _INSTRUCTIONS:
        length += 1
    shared: Any = [messages[: length + 1], body.get("tools")] if messages else body
    return hashlib.sha256(canonical_json(shared).encode()).digest()


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
        self._urls = urls
        self._health = [Health(url, probe, clock) for url in urls]
        self._load = [0] * len(urls)
        self._lock = threading.Lock()

    @property
    def load(self) -> tuple[int, ...]:
        """Requests in flight of each server."""
        return tuple(self._load)

    @property
    def in_service(self) -> tuple[bool, ...]:
        """Whether each server gets requests."""
        return tuple(health.in_service for health in self._health)

    def choose(self, prefix: bytes, tried: frozenset[int] = frozenset()) -> int:
        """The server for a request: the first of the prefix's order that bears one more.

        Args:
            prefix: see :func:`prefix_of`.
            tried: servers that failed this request; they come last.
        """
        for health, load in zip(self._health, self._load, strict=True):
            health.look(load)
        order = sorted(range(len(self._urls)), key=lambda index: _weight(self._urls[index], prefix))
        with self._lock:
            serving = [index for index in order if self._health[index].in_service]
            if not serving:  # whoever comes first may be back, and tells what is wrong if not
                return _untried(order, tried)
            share = (sum(self._load[index] for index in serving) + 1) / len(serving)
            most = max(FLOOR, math.ceil(BOUND * share))
            free = [index for index in serving if self._load[index] < most]
        return next((index for index in free if index not in tried), _untried(serving, tried))

    @contextmanager
    def sending(self, index: int) -> Generator[None]:
        """Count a request to a server while it is under way, and judge the server by its end."""
        health = self._health[index]
        with self._lock:
            if not self._load[index]:
                health.begins()
            self._load[index] += 1
        try:
            yield
        except Exception as error:
            health.failed(error)
            raise
        else:
            health.answered()
        finally:
            with self._lock:
                self._load[index] -= 1


def _untried(order: list[int], tried: frozenset[int]) -> int:
    return next((index for index in order if index not in tried), order[0])


def _weight(url: str, prefix: bytes) -> bytes:
    return hashlib.sha256(url.encode() + b"\n" + prefix).digest()


class Route:
    """The servers that one request is sent to, one attempt after the other.

    Args:
        balancer: None where there is one server.
        body: the request.
    """

    def __init__(self, balancer: Balancer | None, body: Mapping[str, Any]) -> None:
        self._balancer = balancer
        self._prefix = b"" if balancer is None else prefix_of(body)
        self._tried: frozenset[int] = frozenset()

    def next(self) -> int:
        """Index of the server for the next attempt, chosen by what is known now."""
        if self._balancer is None:
            return 0
        index = self._balancer.choose(self._prefix, self._tried)
        if index in self._tried:  # a new round
            self._tried = frozenset()
        self._tried |= {index}
        return index
