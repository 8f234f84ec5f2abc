"""Requests that hang: a second one is sent when an answer is long overdue, and the first wins.

Dean and Barroso, The Tail at Scale (2013): hedged requests, here with a patience that follows the
latencies seen, so that few calls are sent twice.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

ResultT = TypeVar("ResultT")

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


class Patience:
    """How long to wait for an answer, by the answers so far.

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
    """The first answer of one request, or of more where that is overdue.

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
            done, running = await asyncio.wait(
                running, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED
            )
            answered = [one for one in done if one.exception() is None]
            if answered or (done and not running):
                return (answered or list(done))[0].result()
            room = len(running) < MOST and not done
            overdue = room and time.monotonic() - started > patience.limit_s()
            if overdue and may_send():
                patience.hedged += 1
                started = time.monotonic()
                running.add(asyncio.ensure_future(send()))
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
