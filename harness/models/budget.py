"""Hard limits on money, tokens and calls, whatever the concurrency.

The worst case of a call is reserved before it is sent and settled when its usage is known, so that
what the server counts never exceeds the limit. A call whose fate is unknown (connection lost,
time-out) stays charged with its worst case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from harness.core import LimitReached

_ROUNDING_USD = 1e-9


@dataclass(frozen=True)
class Spend:
    """An amount: US dollars, tokens and calls."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: Spend) -> Spend:
        return self + Spend(-other.usd, -other.tokens, -other.calls)


class Reservation:
    """The worst case of one call, held until it is settled. Settling twice changes nothing."""

    def __init__(self, worst: Spend, close: Callable[[Spend, Spend], None]) -> None:
        self._worst = worst
        self._close = close
        self._open = True

    @property
    def worst(self) -> Spend:
        """What is held."""
        return self._worst

    def settle(self, actual: Spend) -> None:
        """The call came back and used `actual`."""
        if self._open:
            self._open = False
            self._close(self._worst, actual)

    def release(self) -> None:
        """The call was never sent."""
        self.settle(Spend())

    def refused(self) -> None:
        """The server turned the call down: it counts as a call, but used nothing."""
        self.settle(Spend(calls=self._worst.calls))

    def forfeit(self) -> None:
        """The fate of the call is unknown: it counts with its worst case."""
        self.settle(self._worst)


class Budget:
    """Limits shared by any number of models and tasks; None is no limit.

    Attributes:
        changed: is called when they have been changed.
    """

    def __init__(
        self, usd: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        self.usd = usd
        self.tokens = tokens
        self.calls = calls
        self.spent = Spend()
        self.changed: Callable[[], None] | None = None
        self._reserved = Spend()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._adopted: set[str] = set()

    @property
    def bounds_tokens(self) -> bool:
        """Whether a call needs a bound on its completion tokens."""
        return self.usd is not None or self.tokens is not None

    def change(
        self, usd: float | None = None, tokens: int | None = None, calls: int | None = None
    ) -> None:
        """Other limits from now on; those that are None stay. What waits looks again."""
        self.usd = self.usd if usd is None else usd
        self.tokens = self.tokens if tokens is None else tokens
        self.calls = self.calls if calls is None else calls
        self._wake_all()
        if self.changed is not None:
            self.changed()

    def adopt(self, source: str, spent: Spend) -> None:
        """Count what was spent before this process, once for each `source` (a call store)."""
        if source not in self._adopted:
            self._adopted.add(source)
            self.spent += spent

    async def reserve(self, worst: Spend) -> Reservation:
        """Set `worst` aside; waits while only calls in flight stand in the way.

        Raises:
            LimitReached: if what is spent leaves no room for it.
        """
        while True:
            self._check(self.spent + worst, worst)
            if self._over(self.spent + self._reserved + worst) is None:
                self._reserved += worst
                return Reservation(worst, self._settle)
            loop = asyncio.get_running_loop()
            turn = loop.create_future()
            self._waiting.append((loop, turn))
            await turn

    def _settle(self, worst: Spend, actual: Spend) -> None:
        self._reserved -= worst
        self.spent += actual
        self._wake_all()

    def _wake_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for loop, turn in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, turn)

    def _over(self, total: Spend) -> str | None:
        """The name of a limit that `total` exceeds."""
        if self.usd is not None and total.usd > self.usd + _ROUNDING_USD:
            return "usd"
        if self.tokens is not None and total.tokens > self.tokens:
            return "tokens"
        if self.calls is not None and total.calls > self.calls:
            return "calls"
        return None

    def _check(self, total: Spend, worst: Spend) -> None:
        name = self._over(total)
        if name is None:
            return
        limit, used, next_call = {
            "usd": (f"${self.usd}", f"${self.spent.usd:.6f}", f"${worst.usd:.6f}"),
            "tokens": (f"{self.tokens} tokens", self.spent.tokens, worst.tokens),
            "calls": (f"{self.calls} calls", self.spent.calls, worst.calls),
        }[name]
        raise LimitReached(
            f"budget of {limit} reached: {used} spent, and the next call may need up to "
            f"{next_call}; raise --budget-{name} and resume, or lower max_tokens"
        )


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
