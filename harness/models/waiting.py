"""Working time: the clock of an attempt stands still while it waits for its turn at the endpoint.

Whoever waits (for a slot, for the end of a rate limit, between two tries) says so with
:func:`waiting`; the clock that the attempt was given is found through a context variable.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_CLOCK: ContextVar[WorkClock | None] = ContextVar("working time", default=None)


class WorkClock:
    """Seconds of work that are left; counts from now on, but while something waits.

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

    def stand(self) -> None:
        """Something begins to wait."""
        if not self._waits:
            self._left, self._waits = self.left, 1
        else:
            self._waits += 1
        self._reschedule()

    def go_on(self) -> None:
        """It has waited."""
        self._waits -= 1
        if not self._waits:
            self._since = time.monotonic()
        self._reschedule()

    def _reschedule(self) -> None:
        for timeout in self._timeouts:
            if not timeout.expired():
                when = asyncio.get_running_loop().time() + max(0.0, self.left)
                timeout.reschedule(None if self._waits else when)


@contextmanager
def waiting() -> Generator[None]:
    """Time that an attempt spends waiting for the endpoint, which is no work of its own."""
    clock = _CLOCK.get()
    if clock is None:
        yield
        return
    clock.stand()
    try:
        yield
    finally:
        clock.go_on()


def tried_in_vain(seconds: float) -> None:
    """A try failed after so many seconds; there will be another one."""
    clock = _CLOCK.get()
    if clock is not None:
        clock.credit(seconds)
