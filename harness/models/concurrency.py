"""Slots for requests in flight, working time, and requests that are sent a second time.

**Slots.** Additive increase, multiplicative decrease (Chiu and Jain 1989), as TCP finds its window:
an answer opens 1 / limit of a slot while all are in use, so that a full round of answers opens one;
a server that turns a request down as too many, or lets it time out, halves the limit. Refusals of
requests that were sent before the last cut say nothing about the new limit and do not cut again.

**Latency.** A server that batches answers more slowly the more it has to do, and is right to: its
throughput grows. Past its knee throughput stays and only the waiting grows (Little's law: in flight
= throughput x latency). So slowness alone cuts nothing. Where the median of a round is twice what
its fastest answers ever took, the limit is lowered by a quarter to try; if the next round loses
throughput, the limit goes back and the next try waits twice as long.

**Working time.** The clock of an attempt stands still while it waits for a slot, for the end of a
rate limit, or between two tries: whoever waits says so with :func:`waiting`.

**Hedging.** A second request is sent when an answer is long overdue, and the first answer wins
(Dean and Barroso, The Tail at Scale, 2013), here with a patience that follows the latencies seen,
so that few calls are sent twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from statistics import median, quantiles
from types import TracebackType
from typing import TypeVar

ResultT = TypeVar("ResultT")

LONGEST_WAIT_S = 300.0
"""A server that asks for more than this is reported instead of waited for."""
LATEST, REFUSED_SHARE = 32, 0.25

SHARE_LEFT = 0.5
"""Of the limit, after a refusal."""
SLOW = 2.0
TRIED_SHARE = 0.75
"""Of the limit, where answers are slow."""
LOSS = 0.9
"""Share of the throughput below which a try has failed."""
LEAST_ROUND = 8
FIRST_WAIT = 4
LONGEST_WAIT = 64
FORGET = 1.002
"""The fastest tenth rises by so much a round: a server may have become slower for good."""

SEEN = 20
"""Answers that must have been timed before their latencies say what is overdue."""
UNKNOWN_S = 120.0
"""Until then an answer is overdue after this."""
WINDOW = 500
QUANTILE = 0.97
FACTOR = 1.2
FLOOR_S = 3.0
"""No call is overdue before this: fast servers have hiccups."""
POLL_S = 0.5
MOST = 3
"""Requests under way for one answer."""
SHARE = 0.05
"""Calls that are sent twice as soon as they are overdue, at most, of all."""
HANGING = 1.5
"""Beyond so many times the limit a request counts as hanging, whatever was sent twice before."""


class WorkClock:
    """Seconds of work that are left; counts from now on, except while something waits.

    Args:
        seconds: to work.
    """

    def __init__(self, seconds: float) -> None:
        self._left, self._since = seconds, time.monotonic()
        self._waits = 0
        self._timeouts: set[asyncio.Timeout] = set()

    @property
    def left(self) -> float:
        """Seconds of work that are left."""
        return self._left if self._waits else self._left - (time.monotonic() - self._since)

    def credit(self, seconds: float) -> None:
        """Seconds that were no work, as it turned out: a try that failed."""
        self._left += seconds
        self._reschedule()

    @contextmanager
    def during(self, timeout: asyncio.Timeout | None) -> Generator[None]:
        """A call, which `timeout`, if there is one, ends when no working time is left."""
        token = _CLOCK.set(self)
        timeouts = set[asyncio.Timeout]() if timeout is None else {timeout}
        self._timeouts |= timeouts
        self._reschedule()
        try:
            yield
        finally:
            self._timeouts -= timeouts
            _CLOCK.reset(token)

    @contextmanager
    def standing(self) -> Generator[None]:
        """Something waits: the clock stands still."""
        if not self._waits:
            self._left = self.left
        self._waits += 1
        self._reschedule()
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self._since = time.monotonic()
            self._reschedule()

    def _reschedule(self) -> None:
        for timeout in self._timeouts:
            if not timeout.expired():
                when = asyncio.get_running_loop().time() + max(0.0, self.left)
                timeout.reschedule(None if self._waits else when)


_CLOCK: ContextVar[WorkClock | None] = ContextVar("working time", default=None)


@contextmanager
def waiting() -> Generator[None]:
    """Time that an attempt spends waiting for the endpoint, which is no work of its own."""
    clock = _CLOCK.get()
    if clock is None:
        yield
        return
    with clock.standing():
        yield


def tried_in_vain(seconds: float) -> None:
    """A try failed after so many seconds; there will be another one."""
    clock = _CLOCK.get()
    if clock is not None:
        clock.credit(seconds)


class LatencyWatch:
    """Looks at rounds of answers that were given while all slots were in use.

    A round is twice as many as may be in flight, eight at least.
    """

    def __init__(self) -> None:
        self._round: list[float] = []
        self._began = 0.0
        self._best = float("inf")
        self._before: tuple[float, float] | None = None
        self._wait, self._rounds = FIRST_WAIT, 0

    def answered(self, now: float, seconds: float, limit: float) -> float:
        """The limit after an answer.

        Args:
            now: seconds of a clock that does not go back.
            seconds: that the answer took.
            limit: requests in flight at most.
        """
        if not self._round:
            self._began = now
        self._round.append(seconds)
        if len(self._round) < max(LEAST_ROUND, 2 * int(limit)):
            return limit
        rate = (len(self._round) - 1) / max(now - self._began, 1e-9)
        middle, fast = median(self._round), quantiles(self._round, n=10)[0]
        self._round = []
        self._best = min(self._best * FORGET, fast)
        if self._before is not None:
            limit_then, rate_then = self._before
            self._before = None
            if rate < LOSS * rate_then:
                self._wait, self._rounds = min(LONGEST_WAIT, 2 * self._wait), 0
                return max(limit, limit_then)
        self._rounds += 1
        if middle < SLOW * self._best or limit < 2 or self._rounds < self._wait:
            return limit
        self._before = (limit, rate)
        return max(1.0, limit * TRIED_SHARE)

    def idle(self) -> None:
        """Not all slots are in use: what was seen of this round says nothing."""
        self._round = []


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
        """Return True if the next request would wait."""
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
        if not self.locked() and not self._waiting:
            self._used += 1
            return
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


class RateGate:
    """Holds all calls to an endpoint back while its quota is used up.

    A refusal now and then concerns the refused call alone; it holds the others back where refusals
    are more than :data:`REFUSED_SHARE` of the latest answers.
    """

    def __init__(self) -> None:
        self._opens_at = 0.0
        self._refused: deque[bool] = deque(maxlen=LATEST)

    def answered(self) -> None:
        """A call got its answer."""
        self._refused.append(False)

    def refused(self, seconds: float) -> None:
        """A call was told to wait `seconds`."""
        self._refused.append(True)
        if sum(self._refused) > REFUSED_SHARE * len(self._refused):
            self.pause(seconds)

    def pause(self, seconds: float) -> None:
        """Let nothing through for `seconds` from now."""
        self._opens_at = max(self._opens_at, time.monotonic() + min(seconds, LONGEST_WAIT_S))

    async def wait(self) -> None:
        """Return once calls may be sent."""
        while (seconds := self._opens_at - time.monotonic()) > 0:  # noqa: ASYNC110  # it moves
            await asyncio.sleep(seconds)


class Patience:
    """Time to wait for an answer, learned from the answers so far.

    Attributes:
        hedged: calls that were sent twice.
    """

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=WINDOW)
        self._calls = 0
        self.hedged = 0

    def saw(self, seconds: float) -> None:
        """An answer came after so many seconds."""
        self._seconds.append(seconds)
        self._calls += 1

    def limit_s(self) -> float:
        """Seconds after which an answer is overdue."""
        if len(self._seconds) < SEEN:
            return UNKNOWN_S
        ordered = sorted(self._seconds)
        limit = max(FLOOR_S, FACTOR * ordered[int(QUANTILE * (len(ordered) - 1))])
        # Slow answers may use up the share; a request that hangs must still be given up.
        return limit if self.hedged < max(1.0, SHARE * self._calls) else HANGING * limit


async def hedged(
    send: Callable[[], Awaitable[ResultT]], patience: Patience, may_send: Callable[[], bool]
) -> ResultT:
    """The first answer of one request, or of several where that is overdue.

    Args:
        send: sends the request; calls that lose are cancelled.
        patience: when an answer is overdue.
        may_send: whether there is room for a second request now.

    Raises:
        Exception: of the request that ends last, if all fail.
    """
    started = time.monotonic()
    running = {asyncio.ensure_future(send())}
    try:
        while True:
            ended, running = await asyncio.wait(
                running, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED
            )
            answered = [request for request in ended if request.exception() is None]
            if answered or (ended and not running):
                return (answered or list(ended))[0].result()
            overdue = time.monotonic() - started > patience.limit_s()
            if overdue and len(running) < MOST and not ended and may_send():
                patience.hedged += 1
                started = time.monotonic()
                running.add(asyncio.ensure_future(send()))
    finally:
        for request in running:
            request.cancel()
        await asyncio.gather(*running, return_exceptions=True)
