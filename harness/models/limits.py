"""Limits of one attempt, kept by the model that it is given: every kind of agent meets them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from pydantic import Field, JsonValue

from harness.core import HarnessError, LimitReached, Value
from harness.models.budget import Budget, Price, Reservation, Spend, prompt_bound
from harness.models.concurrency import WorkClock
from harness.models.types import Message, Model, Reply, Sampling


class SampleLimits(Value):
    """Limits of one attempt; None is no limit.

    The worst case of a call is set aside while it is in flight, so that calls that overlap stay
    within the limit together. One whose worst case is more than what is left (or unknown: no
    `max_tokens`) is made alone, as long as the limit is not reached, and may go beyond it. Answers
    from the request cache count like any other: a run that is resumed ends its attempts where it
    would have ended them.

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
        self._price: Price | None = getattr(model, "price", None)
        self._used, self._priced = Budget(), True

    @property
    def worked_s(self) -> float:
        """Seconds since the attempt began, without those in which its calls waited."""
        return self._granted - self._work.left

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, JsonValue]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, JsonValue] | None = None,
    ) -> Reply:
        """See :meth:`harness.models.types.Model.complete`.

        Raises:
            SampleLimitReached: if a limit leaves no room for the call.
        """
        seconds, limits = self._left(), self._live.now
        clock, work = asyncio.timeout(seconds), asyncio.timeout(None)
        worst: tuple[int, int] | None = None
        completion = sampling.max_tokens if sampling else None
        if (limits.tokens or limits.usd) and completion and completion > 0:
            further = {"tools": tools, "response_format": response_format}
            body = {name: value for name, value in further.items() if value}
            worst = prompt_bound({"messages": messages, **body}), completion
        reservation: Reservation | None = None
        try:
            async with clock, work:
                with self._work.during(work if limits.working else None):
                    reservation = await self._reserve(worst)
                    reply = await self._model.complete(
                        messages, tools=tools, sampling=sampling, response_format=response_format
                    )
            usage = reply.usage
            reservation.settle(Spend(usage.cost_usd or 0.0, usage.tokens, usage.calls))
            self._priced &= usage.cost_usd is not None
            return reply
        except asyncio.CancelledError:  # whoever asked has left: nobody knows what it used
            if reservation is not None and worst is not None:
                reservation.forfeit()
            raise
        except TimeoutError:
            if clock.expired():
                raise SampleLimitReached(self._over("time", "seconds")) from None
            if work.expired():
                raise SampleLimitReached(self._over("working", "working")) from None
            raise
        finally:
            if reservation is not None:
                reservation.release()  # does nothing once it is settled

    def check(self) -> None:
        """Look at the limits where no model is called: between tool calls, which may be many.

        Raises:
            SampleLimitReached: if one is reached.
        """
        self._left()

    async def _reserve(self, worst: tuple[int, int] | None) -> Reservation:
        """Set the worst case of a call aside; waits for calls in flight that stand in its way.

        Args:
            worst: tokens of its prompt and its completion; None for all that is left.

        Raises:
            SampleLimitReached: if nothing is left.
        """
        while True:
            self._left()
            limits, spent = self._live.now, self._used.spent
            self._used.tokens, self._used.usd = limits.tokens, limits.usd
            tokens = limits.tokens - spent.tokens if limits.tokens else 0
            usd = limits.usd - spent.usd if limits.usd else 0.0
            if worst is not None:
                tokens = min(tokens, sum(worst))
                usd = min(usd, self._price.cost(*worst)) if self._price else usd
            with suppress(LimitReached):  # calls in flight have used what was left: look again
                return await self._used.reserve(Spend(usd, tokens, 1))

    def _left(self) -> float | None:
        """Seconds for the next call.

        Raises:
            SampleLimitReached: if a limit leaves no room for it.
        """
        limits = self._live.now
        spent = self._used.spent
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            raise SampleLimitReached(self._over("token", "tokens"))
        if limits.usd is not None and not self._priced:
            raise SampleLimitReached(f"a cost limit needs the price of {self.spec}: it is unknown")
        if limits.usd is not None and spent.usd >= limits.usd:
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
        limit, calls = getattr(self._live.now, name), self._used.spent.calls
        unit = "seconds of work" if name == "working" else name
        return (
            f"the attempt reached its limit of {limit:g} {unit} after {calls} calls "
            f"(--{option}-limit)"
        )
