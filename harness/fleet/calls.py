"""The request cache and the budget of a run, shared by all workers.

The driver is the only one that opens `calls.sqlite` and the only one that counts money; workers
ask it over their connection, send their requests to the endpoint themselves, and report answers,
which are on the driver's disk before a worker goes on. Requests and answers are packed by the
workers and stored as they come. A request that one worker has claimed is waited for by the others,
and freed when that worker gives up or dies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, cast

from harness.core import Usage
from harness.fleet.channel import Channel, Methods
from harness.models import (
    Budget,
    CallStore,
    Flights,
    Reply,
    Reservation,
    Role,
    Spend,
    StoredCall,
    coalesced,
    pack,
    unpack,
)


class CallService:
    """The driver's side: one for all workers of a run."""

    def __init__(self, calls: CallStore, budget: Budget) -> None:
        self._calls, self._budget = calls, budget
        self._claims: dict[str, asyncio.Future[None]] = {}

    def methods(self, worker: Channel) -> Methods:
        """What one worker may ask for."""
        return _Desk(self._calls, self._budget, self._claims, worker).methods()


class _Desk:
    """What one worker has claimed and reserved."""

    def __init__(
        self,
        calls: CallStore,
        budget: Budget,
        claims: dict[str, asyncio.Future[None]],
        worker: Channel,
    ) -> None:
        self._calls, self._budget, self._claims = calls, budget, claims
        self._own: dict[str, asyncio.Future[None]] = {}
        self._reserved: dict[int, Reservation] = {}
        self._gone = False
        worker.closed.add_done_callback(lambda _: self._close())

    def methods(self) -> Methods:
        return {
            "claim": self._claim, "release": self._release, "sent": self._sent,
            "done": self._done, "failed": self._failed,
            "reserve": self._reserve, "settle": self._settle, "spent": self._spent,
        }  # fmt: skip

    async def _claim(self, call_id: str) -> tuple[bytes, str] | None:
        """The stored answer, or None: then the worker is to ask, and the others wait for it."""
        while (claim := self._claims.get(call_id)) is not None:
            await asyncio.wait([claim])
        self._claims[call_id] = claim = asyncio.get_running_loop().create_future()
        self._own[call_id] = claim
        try:
            found = await self._calls.find_packed(call_id)
        except BaseException:
            self._free(call_id)
            raise
        if found is None and not self._gone:
            return None
        self._free(call_id)
        return found

    async def _release(self, call_id: str) -> None:
        self._free(call_id)

    async def _sent(self, value: dict[str, Any]) -> int:
        worst = Spend(**value["worst"])
        return await self._calls.sent_packed(
            value["call_id"], value["role"], value["kind"], value["model"], value["request"], worst
        )

    async def _done(self, value: dict[str, Any]) -> None:
        await self._calls.done_packed(value["attempt"], value["response"], value["usage"])

    async def _failed(self, value: dict[str, Any]) -> None:
        await self._calls.failed(value["attempt"], value["error"], lost=value["lost"])

    async def _reserve(self, value: dict[str, Any]) -> None:
        reservation = await self._budget.reserve(Spend(**value["worst"]))
        if self._gone:
            reservation.release()  # the worker died while it waited: nothing was sent
        else:
            self._reserved[value["number"]] = reservation

    async def _settle(self, value: dict[str, Any]) -> None:
        reservation = self._reserved.pop(value["number"], None)
        if reservation is not None:
            reservation.settle(Spend(**value["actual"]))

    async def _spent(self, value: dict[str, Any]) -> None:
        self._budget.spent += Spend(**value)

    def _free(self, call_id: str) -> None:
        claim = self._own.pop(call_id, None)
        if claim is not None:
            del self._claims[call_id]
            claim.set_result(None)

    def _close(self) -> None:
        """The worker is gone: what it asked for may have been paid for, and others may ask."""
        self._gone = True
        for call_id in list(self._own):
            self._free(call_id)
        for reservation in self._reserved.values():
            reservation.forfeit()
        self._reserved.clear()


class SharedCalls:
    """A worker's record of calls: the driver keeps it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._flights: Flights = {}
        self._found: dict[str, tuple[bytes, str]] = {}

    async def once(self, call_id: str, answer: Callable[[], Awaitable[Reply]]) -> Reply:
        """What `answer` gives; askers of one request, in any worker, share it."""

        async def claimed() -> Reply:
            found = None
            try:
                found = await self._channel.ask("claim", call_id)
                if found is not None:
                    self._found[call_id] = found
                return await answer()
            finally:
                if found is None:  # also when cancelled: it may have been granted in the meantime
                    self._channel.tell("release", call_id)

        return await coalesced(self._flights, call_id, claimed)

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request that :meth:`once` has claimed."""
        found = self._found.pop(call_id, None)
        if found is None:
            return None
        response, usage = found
        return StoredCall(
            call_id=call_id, role="", kind="", body={}, response=unpack(response),
            usage=Usage.model_validate_json(usage),
        )  # fmt: skip

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        value = {
            "call_id": call_id, "role": role, "kind": kind, "model": str(body["model"]),
            "request": pack(body), "worst": vars(worst),
        }  # fmt: skip
        return cast("int", await self._channel.ask("sent", value))

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the driver's disk."""
        value = {
            "attempt": attempt, "response": pack(response), "usage": usage.model_dump_json(),
        }  # fmt: skip
        await self._channel.ask("done", value)

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        value = {"attempt": attempt, "error": error, "lost": lost}
        await self._channel.ask("failed", value)


class SharedBudget:
    """A worker's view of the budget: the driver counts.

    Args:
        channel: to the driver.
        limited: whether there is any limit; without one nothing is asked, and what was spent told:
            there may be one later.
        bounds_tokens: whether a call needs a bound on its completion tokens.
    """

    def __init__(self, channel: Channel, *, limited: bool, bounds_tokens: bool) -> None:
        self._channel, self._limited = channel, limited
        self._bounds = bounds_tokens
        self._numbers = count()

    @property
    def bounds_tokens(self) -> bool:
        """Whether a call needs a bound on its completion tokens."""
        return self._bounds

    def change(self, *, limited: bool, bounds_tokens: bool) -> None:
        """Other terms, for calls that have not reserved."""
        self._limited, self._bounds = limited, bounds_tokens

    async def reserve(self, worst: Spend) -> Reservation:
        """Set `worst` aside, at the driver.

        Raises:
            LimitReached: if what is spent leaves no room for it.
        """
        if not self._limited:
            return Reservation(worst, lambda _, spent: self._channel.tell("spent", vars(spent)))
        number = next(self._numbers)

        def settle(_: Spend, actual: Spend) -> None:
            self._channel.tell("settle", {"number": number, "actual": vars(actual)})

        try:
            await self._channel.ask("reserve", {"number": number, "worst": vars(worst)})
        except asyncio.CancelledError:
            settle(worst, Spend())  # it may have been granted in the meantime
            raise
        return Reservation(worst, settle)
