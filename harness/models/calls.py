"""Every model call of a run, in SQLite: request cache, record of usage, and what was in flight.

A request is recorded before it is sent, and its response is on the disk before it is returned. So a
kill at any moment loses only responses that had not arrived, and those calls are listed; a response
that is stored is never asked for again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from harness.core import Usage
from harness.models import call_db
from harness.models.budget import Spend
from harness.models.call_db import Committer, SentCall, StoredCall, explained, pack
from harness.models.types import Reply, Role

_IN_MEMORY = count(1)
"""Numbers of stores without a file: a budget knows a store by its name."""

Flights = dict[str, "asyncio.Future[Reply]"]
"""Digest of a request -> its reply to come."""


async def coalesced(
    flights: Flights, call_id: str, answer: Callable[[], Awaitable[Reply]]
) -> Reply:
    """Identical requests under way at one time are sent once.

    Args:
        flights: what is under way in the running event loop.
        call_id: digest of the request.
        answer: sends it, and is called by the first who asks.
    """
    while (pending := flights.get(call_id)) is not None:
        try:
            reply = await asyncio.shield(pending)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not pending.cancelled() or (task is not None and task.cancelling()):
                raise  # we are cancelled ourselves; otherwise the first asker alone was
        else:
            return reply.model_copy(update={"cached": True})
    flight: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    flights[call_id] = flight
    try:
        reply = await answer()
        flight.set_result(reply)
        return reply
    except Exception as error:
        flight.set_exception(error)
        flight.exception()  # it counts as seen, whether or not anyone else waits
        raise
    finally:
        flight.cancel()  # does nothing once there is a result
        del flights[call_id]


class Calls(Protocol):
    """The record of calls and cache of requests: in this process, or at the driver of a fleet."""

    async def once(self, call_id: str, answer: Callable[[], Awaitable[Reply]]) -> Reply:
        """What `answer` gives; askers of one request share it while it is under way."""
        ...

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request."""
        ...

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        ...

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the disk."""
        ...

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        ...


class CallStore:
    """The calls of a run (`calls.sqlite`); without a path, in memory.

    All that writes runs on one thread, which commits what arrives together in one transaction.
    Looking for an answer is a matter of microseconds and runs where it is asked, on a connection
    of its own: handing it to the thread and back would take ten times as long.

    Raises:
        BadInput: if the file is no call store, or cannot be written (disk full).
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.name = str(path.resolve()) if path else f"memory-{next(_IN_MEMORY)}"
        self._flights: WeakKeyDictionary[asyncio.AbstractEventLoop, Flights] = WeakKeyDictionary()
        with explained(self.name):
            self._thread = Committer(call_db.connect(path), self.name)
            self._reader = call_db.connect(path) if path else None
        self._reading = threading.Lock()

    async def once(self, call_id: str, answer: Callable[[], Awaitable[Reply]]) -> Reply:
        """What `answer` gives; askers of one request in an event loop share it on its way."""
        flights = self._flights.setdefault(asyncio.get_running_loop(), {})
        return await coalesced(flights, call_id, answer)

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request."""
        if self._reader is not None and self._thread.alive:
            with self._reading, explained(self.name):
                return call_db.select_done(self._reader, call_id)
        return await asyncio.wrap_future(
            self._thread.submit(lambda db: call_db.select_done(db, call_id))
        )

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        packed, model = pack(body), str(body["model"])
        row = (call_id, role, kind, model, time.time(), packed, worst.tokens, worst.usd)
        return await asyncio.wrap_future(
            self._thread.submit(lambda db: call_db.insert_sent(db, row), opens=1)
        )

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the disk."""
        await self._finish(("done", pack(response), usage.model_dump_json(), None, attempt))

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        await self._finish(("lost" if lost else "refused", None, None, error, attempt))

    async def _finish(self, row: tuple[Any, ...]) -> None:
        await asyncio.wrap_future(self._thread.submit(lambda db: call_db.finish(db, row), opens=-1))

    def put(self, calls: list[StoredCall]) -> None:
        """Store answered calls from elsewhere; requests that have an answer keep it."""
        self._thread.submit(lambda db: [call_db.insert_done(db, call) for call in calls]).result()

    def in_flight(self) -> list[SentCall]:
        """Calls that were sent and whose response never arrived, oldest first.

        After a kill these are the only calls that a resumed run may send again.
        """
        return self._thread.submit(call_db.select_sent).result()

    def answered(self) -> list[StoredCall]:
        """All answered calls, in the order they were sent."""
        return self._thread.submit(call_db.select_answered).result()

    def usage_by_role(self) -> dict[str, Usage]:
        """What each role has used; answers from the cache are not counted again."""
        return self._thread.submit(call_db.sum_by_role).result()

    def usage(self) -> Usage:
        """What all roles have used together."""
        return sum(self.usage_by_role().values(), Usage())

    def spend(self) -> Spend:
        """What counts against a budget: calls without a known outcome with their worst case."""
        return self._thread.submit(call_db.sum_spend).result()

    def close(self) -> None:
        """Wait for what is under way and close the file."""
        self._thread.close()
        if self._reader is not None:
            with self._reading:
                self._reader.close()

    def __enter__(self) -> CallStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
