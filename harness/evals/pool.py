"""Attempts side by side, which can be paused, cancelled and queued again while they run."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from harness.core import LimitReached, Task
from harness.evals.plan import attempt_id
from harness.evals.types import ItemRecord

if TYPE_CHECKING:
    from harness.agents.types import AgentRun

POLL_S = 0.25
"""Seconds between looks at what was asked of a paused pool."""
CANCELLED = "cancelled with `harness eval ctl`; --resume tries it again"

Pair = tuple[Task, int]
Finished = tuple[ItemRecord, "AgentRun | None"]


class Attempter(Protocol):
    """Makes single attempts: in this process, or in the workers of a fleet."""

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt.

        Raises:
            LimitReached: when a budget is spent.
        """
        ...


@dataclass(frozen=True)
class Running:
    """An attempt under way."""

    pair: Pair
    work: asyncio.Task[Finished]
    started: float


class Pool:
    """Attempts, at most `concurrency` of them at a time.

    Args:
        runner: makes one attempt.
        attempts: in the order in which they begin.
        concurrency: may be changed while the pool runs.

    Attributes:
        paused: no attempt begins; those under way go on.
    """

    def __init__(self, runner: Attempter, attempts: Sequence[Pair], concurrency: int) -> None:
        self.concurrency, self.paused = concurrency, False
        self._runner = runner
        # Taken from the front: a plain dict looks at all that was taken before, every time.
        self._waiting = OrderedDict((attempt_id(*pair), pair) for pair in attempts)
        self._running: dict[str, Running] = {}
        self._again: set[str] = set()
        self._invalid: dict[str, Pair] = {}
        self._cancelled: list[ItemRecord] = []

    @property
    def waiting(self) -> int:
        """Attempts that have not begun."""
        return len(self._waiting)

    @property
    def running(self) -> dict[str, float]:
        """Attempts under way, and for how many seconds, the longest first."""
        now = time.monotonic()
        return {name: now - one.started for name, one in self._running.items()}

    def cancel(self, name: str) -> bool:
        """End an attempt, or never begin it; it is invalid. False if it is not there."""
        if name in self._running:
            self._running[name].work.cancel()
        elif name in self._waiting:
            self._cancel(name, self._waiting.pop(name))
        else:
            return False
        return True

    def requeue(self, name: str) -> bool:
        """Begin an attempt again, next of all. False if it is neither under way nor invalid.

        A scored one is not tried again: that would be picking results.
        """
        if name in self._running:
            self._again.add(name)
            self._running[name].work.cancel()
        elif name in self._invalid:
            self._next(name, self._invalid.pop(name))
        else:
            return False
        return True

    async def results(self) -> AsyncGenerator[Finished]:
        """Attempts as they finish.

        A budget that is spent ends the run only after the attempts in flight were given the chance
        to finish: what they have paid for is kept.

        Raises:
            LimitReached: when a budget is spent.
        """
        limit: LimitReached | None = None
        try:
            while self._running or (limit is None and (self._waiting or self._cancelled)):
                if limit is None:
                    self._start()
                while self._cancelled:
                    yield self._cancelled.pop(0), None
                for name in await self._finished():
                    try:
                        if (found := self._result(name)) is not None:
                            yield found
                    except LimitReached as error:
                        limit = error
        finally:
            for one in self._running.values():
                one.work.cancel()
            works = [one.work for one in self._running.values()]
            await asyncio.gather(*works, return_exceptions=True)
        if limit is not None:
            raise limit

    def _start(self) -> None:
        while self._waiting and not self.paused and len(self._running) < self.concurrency:
            name, pair = self._waiting.popitem(last=False)
            work = asyncio.create_task(self._runner.run(*pair))
            self._running[name] = Running(pair, work, time.monotonic())

    async def _finished(self) -> list[str]:
        """Names of attempts that have ended; none if nothing happened for a while."""
        works = {one.work: name for name, one in self._running.items()}
        if not works:
            await asyncio.sleep(POLL_S if self._waiting else 0)
            return []
        done, _ = await asyncio.wait(works, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
        return [name for work, name in works.items() if work in done]

    def _result(self, name: str) -> Finished | None:
        """What an attempt has come to; None if it was cancelled."""
        one = self._running.pop(name)
        try:
            item, attempt = one.work.result()
        except asyncio.CancelledError:
            self._stopped(name, one.pair)
            return None
        if item.outcome == "invalid":
            self._invalid[name] = one.pair
        return item, attempt

    def _stopped(self, name: str, pair: Pair) -> None:
        if name in self._again:
            self._again.discard(name)
            self._next(name, pair)
        else:
            self._cancel(name, pair)

    def _next(self, name: str, pair: Pair) -> None:
        self._waiting[name] = pair
        self._waiting.move_to_end(name, last=False)

    def _cancel(self, name: str, pair: Pair) -> None:
        self._cancelled.append(stopped(name, pair, CANCELLED))
        self._invalid[name] = pair


def stopped(name: str, pair: Pair, reason: str) -> ItemRecord:
    """The record of an attempt that did not come to its end."""
    task, epoch = pair
    return ItemRecord(
        id=name, task_id=task.id, epoch=epoch, outcome="invalid", value=0.0, reason=reason,
        stratum=str(task.meta.get("stratum", "")),
    )  # fmt: skip
