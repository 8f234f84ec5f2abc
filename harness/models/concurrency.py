"""Slots for requests in flight, as many as the server bears.

Additive increase, multiplicative decrease (Chiu and Jain 1989), as TCP finds its window: an answer
opens 1 / limit of a slot while all are in use, so that a full round of answers opens one; a server
that turns a request down as too many, or lets it time out, halves the limit. Refusals of requests
that were sent before the last cut say nothing about the new limit and do not cut again. Answers
that have become slow without more of them coming through lower it, too (:mod:`.latency`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType

from harness.models.latency import LatencyWatch
from harness.models.waiting import waiting

SHARE_LEFT = 0.5


class Slots:
    """Slots of one event loop. Use as an asynchronous context manager.

    Args:
        most: slots at the beginning, and never more until they are resized.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._watch = LatencyWatch()
        self._used = 0
        self._cut_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Requests in flight at most, now."""
        return max(1, int(self._limit))

    def resize(self, most: int) -> None:
        """Another number of slots; a server that does not bear them will say so."""
        self.most, self._limit = most, float(most)
        self._wake()

    def locked(self) -> bool:
        """Whether the next request would wait."""
        return self._used >= self.limit

    def answered(self, sent_at: float | None = None) -> None:
        """A request got its answer.

        Args:
            sent_at: when it was sent, seconds of `time.monotonic`; None says nothing of how long.
        """
        if not self.locked():
            self._watch.idle()
            return
        limit = self._limit + 1 / self._limit
        if sent_at is not None:
            now = time.monotonic()
            limit = self._watch.answered(now, now - sent_at, limit)
        self._limit = min(float(self.most), limit)
        self._wake()

    def refused(self, sent_at: float) -> None:
        """The server did not take a request, or was too slow.

        Args:
            sent_at: when it was sent, seconds of `time.monotonic`.
        """
        if sent_at > self._cut_at:
            self._cut_at = time.monotonic()
            self._limit = max(1.0, self._limit * SHARE_LEFT)

    async def __aenter__(self) -> None:
        if self.locked() or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                with waiting():
                    await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._used -= 1  # the turn had come: it goes to the next
                    self._wake()
                raise
        else:
            self._used += 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._used -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and not self.locked():
            turn = self._waiting.popleft()
            if not turn.done():
                self._used += 1
                turn.set_result(None)
