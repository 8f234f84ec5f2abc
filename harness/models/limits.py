"""Limits of one attempt, kept by the model that it is given: every kind of agent meets them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from pydantic import Field, JsonValue

from harness.core import HarnessError, Value
from harness.models.concurrency import WorkClock
from harness.models.types import Message, Model, Reply, Sampling


class SampleLimits(Value):
    """What one attempt may use; None is no limit.

    A call is made as long as what was used before is below the limit, so that the last one may go
    beyond it. Answers from the request cache count like any other: a run that is resumed ends its
    attempts where it would have ended them.

    Attributes:
        tokens: of all calls, prompts included.
        usd: of all calls.
        seconds: since the attempt began; a call under way is cut off.
        working: the same without the time in which it waited for its turn at the endpoint, for the
            end of a rate limit, or for another try.
    """

    tokens: int | None = Field(default=None, gt=0)
    usd: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    # Left out where it is not set: digests of suites (receipts) were taken before it existed.
    working: float | None = Field(default=None, gt=0, exclude_if=lambda value: value is None)

    def __bool__(self) -> bool:
        return any(limit is not None for limit in self.model_dump().values())


class LiveLimits:
    """Limits that may be changed while attempts are under way.

    Args:
        now: the limits that hold at first.
        changed: called with new ones.
    """

    def __init__(
        self, now: SampleLimits, changed: Callable[[SampleLimits], None] | None = None
    ) -> None:
        self._now, self._changed = now, changed

    @property
    def now(self) -> SampleLimits:
        """The limits that hold."""
        return self._now

    @now.setter
    def now(self, limits: SampleLimits) -> None:
        self._now = limits
        if self._changed is not None:
            self._changed(limits)


class SampleLimitReached(HarnessError):
    """The attempt used what it may use; it ends and is invalid, the run goes on."""


class LimitedModel:
    """A model for one attempt.

    An attempt without limits is counted like any other: they may be set while it goes on.

    Args:
        model: answers.
        limits: of the attempt, which begins now; live ones hold as they are at every call.
    """

    def __init__(self, model: Model, limits: SampleLimits | LiveLimits) -> None:
        self.spec, self.simulated = model.spec, model.simulated
        self.constrains = model.constrains
        self._model = model
        self._live = limits if isinstance(limits, LiveLimits) else LiveLimits(limits)
        self._began = time.monotonic()
        self._granted = self._live.now.working or 0.0
        self._work = WorkClock(self._granted)
        self._calls = self._tokens = 0
        self._usd: float | None = 0.0

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """As :meth:`harness.models.types.Model.complete`.

        Raises:
            SampleLimitReached: if a limit leaves no room for the call.
        """
        seconds, limits = self._left(), self._live.now
        clock, work = asyncio.timeout(seconds), asyncio.timeout(None)
        try:
            async with clock, work:
                with self._work.during(work if limits.working else None):
                    reply = await self._model.complete(
                        messages, tools=tools, sampling=sampling, response_format=response_format
                    )
        except TimeoutError:
            if clock.expired():
                raise SampleLimitReached(self._over("time", "seconds")) from None
            if work.expired():
                raise SampleLimitReached(self._over("working", "working")) from None
            raise
        # Plain numbers: a sum of usages is a record that is validated, at every call.
        usage = reply.usage
        self._calls += usage.calls
        self._tokens += usage.tokens
        priced = self._usd is not None and usage.cost_usd is not None
        self._usd = (self._usd or 0.0) + (usage.cost_usd or 0.0) if priced else None
        return reply

    def _left(self) -> float | None:
        """Seconds for the next call.

        Raises:
            SampleLimitReached: if a limit leaves no room for it.
        """
        limits = self._live.now
        if limits.tokens is not None and self._tokens >= limits.tokens:
            raise SampleLimitReached(self._over("token", "tokens"))
        if limits.usd is not None and self._usd is None:
            raise SampleLimitReached(f"a cost limit needs the price of {self.spec}: it is unknown")
        if limits.usd is not None and (self._usd or 0.0) >= limits.usd:
            raise SampleLimitReached(self._over("cost", "usd"))
        if limits.working is not None:
            self._work.credit(limits.working - self._granted)  # it may have been changed
            self._granted = limits.working
            if self._work.left <= 0:
                raise SampleLimitReached(self._over("working", "working"))
        if limits.seconds is None:
            return None
        seconds = limits.seconds - (time.monotonic() - self._began)
        if seconds <= 0:
            raise SampleLimitReached(self._over("time", "seconds"))
        return seconds

    def _over(self, option: str, name: str) -> str:
        limit = getattr(self._live.now, name)
        unit = "seconds of work" if name == "working" else name
        return (
            f"the attempt reached its limit of {limit:g} {unit} after {self._calls} calls "
            f"(--{option}-limit)"
        )
