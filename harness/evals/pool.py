"""Attempts side by side, which can be paused, cancelled and queued again while they run; and the
contract of `--executor`, for those that are made outside this process.

An executor is a plugin of `harness.executors`: a function `(workers, resources) -> Executor`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.core import HarnessError, LimitReached, Task, Usage, shortage
from harness.evals.plan import EvalPlan, attempt_id
from harness.evals.report import ItemRecord, cause

if TYPE_CHECKING:
    from harness.agents import AgentRun
    from harness.evals.regrade import Judge, JudgingSpec
    from harness.evals.settings import SuiteSettings
    from harness.evals.suite import LoadedSuite
    from harness.models import ChatModel, LiveLimits

POLL_S = 0.25
"""Seconds between looks for requests while a pool is paused."""
_log = logging.getLogger("harness.evals")
FIRST = 4
"""Attempts that are invalid alike before a run is taken to be stuck."""
SHORT_S = 5.0
"""Attempts that take no longer are not named as under way."""
CANCELLED = "cancelled with `harness eval ctl`; --resume tries it again"
Attempt = tuple[Task, int]
"""A task and the number of the attempt at it, from 0."""
Finished = tuple[ItemRecord, "AgentRun | None"]
EventHook = Callable[[dict[str, Any]], None]


class Attempter(Protocol):
    """Makes single attempts: in this process, or in workers.

    Attributes:
        limits: of every attempt, from its next call on.
        slots: attempts that can be made at one time; None is any number.
    """

    limits: LiveLimits
    slots: int | None

    async def run(self, task: Task, epoch: int) -> Finished:
        """One attempt.

        Raises:
            LimitReached: when a budget is spent.
        """
        ...

    def resize(self, concurrency: int) -> None:
        """Allow that many model calls in flight from now on."""
        ...


@dataclass(frozen=True)
class RemoteRun:
    """A run whose attempts are made by workers.

    Attributes:
        plan: what to run.
        out: the run folder, which this process alone writes.
        model: answers the workers.
        settings: sandbox and trust of the run.
        agent_base: folder that files of the agent start at.
        agent_trusted: whether the agent's code may run outside the sandbox.
        on_event: called with every event of every attempt.
    """

    plan: EvalPlan
    out: Path
    model: ChatModel
    settings: SuiteSettings
    agent_base: Path
    agent_trusted: bool
    on_event: EventHook | None = None


class Executor(Protocol):
    """Starts workers, here or on other machines.

    Attributes:
        workers: how many.
        shares_disk: whether workers see this machine's files where they are.
        slots: attempts at a time; None where a worker makes many.
    """

    @property
    def workers(self) -> int: ...

    @property
    def shares_disk(self) -> bool: ...

    @property
    def slots(self) -> int | None: ...

    def attempts(self, run: RemoteRun) -> AbstractAsyncContextManager[Attempter]:
        """Makes the attempts of a run, while a block runs."""
        ...

    def judge(self, suite: LoadedSuite, spec: JudgingSpec) -> Judge:
        """Judges answers to the tasks of a suite."""
        ...


@dataclass
class Tally:
    """The state of a run, as progress shows it.

    Attributes:
        usage: of the finished attempts.
        running: attempts under way.
        longest_s: seconds since the first of them began.
        reason: of the last invalid attempt.
        causes: of the invalid ones, without what differs from attempt to attempt.
    """

    total: int
    passed: int = 0
    failed: int = 0
    invalid: int = 0
    usage: Usage = field(default_factory=Usage)
    running: int = 0
    longest_s: float = 0.0
    reason: str = ""
    causes: set[str] = field(default_factory=set[str])

    @property
    def stuck(self) -> str:
        """Return the one reason why all of the first attempts were invalid; "" otherwise."""
        alike = self.invalid == self.done >= FIRST and len(self.causes) == 1
        return self.reason if alike else ""

    @property
    def done(self) -> int:
        """Finished attempts."""
        return self.passed + self.failed + self.invalid

    @property
    def waits_for(self) -> str:
        """Say what a run waits for; "" where attempts are short and some are done."""
        if not self.running or (self.done and self.longest_s < SHORT_S):
            return ""
        return f"{self.running} under way for {self.longest_s:.0f} s"

    def count(self, item: ItemRecord) -> None:
        """Add one finished attempt."""
        self.passed += item.outcome == "pass"
        self.failed += item.outcome == "fail"
        self.invalid += item.outcome == "invalid"
        self.usage += item.usage
        if item.outcome == "invalid":
            self.reason = item.reason.partition("\n")[0]
            self.causes.add(cause(item.reason))

    def take_back(self, item: ItemRecord) -> None:
        """Remove an invalid attempt that was tried again, so that it is not counted twice."""
        self.invalid -= 1
        self.usage -= item.usage


class _Running(NamedTuple):
    """An attempt under way."""

    attempt: Attempt
    work: asyncio.Task[Finished]
    started: float


class Pool:
    """Attempts, at most `concurrency` of them at a time.

    Args:
        attempter: makes one attempt.
        attempts: in the order in which they begin.
        concurrency: see :meth:`resize`.

    Attributes:
        concurrency: attempts at a time, at most.
        paused: no attempt begins; those under way go on.
        attempter: as given.
    """

    def __init__(
        self,
        attempter: Attempter,
        attempts: Sequence[Attempt],
        concurrency: int,
    ) -> None:
        self.attempter = attempter
        self.concurrency, self.paused = self._bearable(concurrency), False
        # Taken from the front: a plain dict looks at all that was taken before, every time.
        self._waiting = OrderedDict((attempt_id(*attempt), attempt) for attempt in attempts)
        self._running: dict[str, _Running] = {}
        self._requeued: set[str] = set()
        self._invalid: dict[str, Attempt] = {}
        self._cancelled: list[ItemRecord] = []

    @property
    def waiting(self) -> int:
        """Number of attempts that have not begun."""
        return len(self._waiting)

    @property
    def running(self) -> dict[str, float]:
        """Attempts under way, and for how many seconds, the longest first."""
        now = time.monotonic()
        return {name: now - running.started for name, running in self._running.items()}

    def resize(self, concurrency: int) -> None:
        """Let so many attempts run at a time from now on, but no more than there is room for."""
        self.concurrency = self._bearable(concurrency)
        self.attempter.resize(concurrency)

    def _bearable(self, concurrency: int) -> int:
        return min(concurrency, self.attempter.slots or concurrency)

    def cancel(self, name: str) -> bool:
        """End an attempt, or never begin it; it is invalid. False if there is no such attempt."""
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
            self._requeued.add(name)
            self._running[name].work.cancel()
        elif name in self._invalid:
            self._put_first(name, self._invalid.pop(name))
        else:
            return False
        return True

    async def results(self) -> AsyncGenerator[Finished]:
        """Attempts as they finish.

        When a budget is spent, the run ends only after the attempts in flight have had the chance
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
                for name in await self._ended():
                    try:
                        if (finished := self._result(name)) is not None:
                            yield finished
                    except LimitReached as error:
                        limit = error
        finally:
            works = [running.work for running in self._running.values()]
            for work in works:
                work.cancel()
            await asyncio.gather(*works, return_exceptions=True)
        if limit is not None:
            raise limit

    def _start(self) -> None:
        while self._waiting and not self.paused and len(self._running) < self.concurrency:
            name, attempt = self._waiting.popitem(last=False)
            work = asyncio.create_task(self.attempter.run(*attempt))
            self._running[name] = _Running(attempt, work, time.monotonic())

    async def _ended(self) -> list[str]:
        """Names of attempts that have ended; none if nothing happened for a while."""
        works = {running.work: name for name, running in self._running.items()}
        if not works:
            await asyncio.sleep(POLL_S if self._waiting else 0)
            return []
        ended, _ = await asyncio.wait(works, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
        return [name for work, name in works.items() if work in ended]

    def _result(self, name: str) -> Finished | None:
        """The result of an attempt; None if it was cancelled.

        A fault in an attempt makes that attempt invalid and ends no other one: whatever it is, the
        cause may be what a model has left in its work folder.

        Raises:
            HarnessError: from the attempt: it concerns the run.
        """
        running = self._running.pop(name)
        try:
            item, run = running.work.result()
        except asyncio.CancelledError:
            if name in self._requeued:
                self._requeued.discard(name)
                self._put_first(name, running.attempt)
            else:
                self._cancel(name, running.attempt)
            return None
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001  # see above
            item, run = faulty(running.attempt, error), None
        if item.outcome == "invalid":
            self._invalid[name] = running.attempt
        return item, run

    def _put_first(self, name: str, attempt: Attempt) -> None:
        self._waiting[name] = attempt
        self._waiting.move_to_end(name, last=False)

    def _cancel(self, name: str, attempt: Attempt) -> None:
        self._cancelled.append(unfinished(attempt, CANCELLED))
        self._invalid[name] = attempt


def unfinished(attempt: Attempt, reason: str) -> ItemRecord:
    """The record of an attempt that did not reach its end."""
    task, epoch = attempt
    return ItemRecord(
        id=attempt_id(task, epoch), task_id=task.id, epoch=epoch, outcome="invalid", value=0.0,
        reason=reason, stratum=str(task.meta.get("stratum", "")), group=task.group,
    )  # fmt: skip


def faulty(attempt: Attempt, error: Exception) -> ItemRecord:
    """The record of an attempt in which an error was raised that is a fault."""
    _log.debug("attempt %s", attempt_id(*attempt), exc_info=error)
    reason = shortage(error) or f"fault in the attempt: {type(error).__name__}: {error}"
    return unfinished(attempt, reason[:500])
