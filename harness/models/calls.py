"""Every model call of a run, in SQLite: request cache, record of usage, and what was in flight.

A request is recorded before it is sent, and its response is on the disk before it is returned. So a
kill at any moment loses only responses that had not arrived, and those calls are listed; a response
that is stored is never asked for again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

import zstandard

from harness.core import BadInput, Usage, Value, decoding, decompressed, private_folder
from harness.models.budget import Spend
from harness.models.commits import Committer, explained
from harness.models.types import Reply, Role

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    state TEXT NOT NULL,  -- sent, done, refused or lost
    sent_at REAL NOT NULL,
    request BLOB NOT NULL,
    worst_tokens INTEGER NOT NULL,
    worst_usd REAL NOT NULL,
    response BLOB,
    usage TEXT,
    error TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS answered ON calls (digest) WHERE state = 'done';
CREATE INDEX IF NOT EXISTS states ON calls (state);
"""
_VERSION = 1
_STORED = "SELECT digest, role, kind, request, response, usage FROM calls WHERE state = 'done'"
_IN_MEMORY = count(1)
"""Numbers of stores without a file: a budget knows a store by its name."""
_local = threading.local()


class SentCall(Value):
    """A call that was sent and whose response was not stored.

    Attributes:
        call_id: digest of the request.
        role: who asked.
        model: model name on the wire.
        sent_at: seconds since the epoch.
        repeated: whether the same request was sent again later and answered.
    """

    call_id: str
    role: str
    model: str
    sent_at: float
    repeated: bool


class StoredCall(Value):
    """An answered call: request and response as they were on the wire."""

    call_id: str
    role: str
    kind: str
    body: dict[str, Any]
    response: dict[str, Any]
    usage: Usage


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
        self._flights: WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[str, asyncio.Future[Reply]]
        ] = WeakKeyDictionary()
        with explained(self.name):
            self._thread = Committer(_connect(path), self.name)
            self._reader = _connect(path) if path else None
        self._reading = threading.Lock()

    async def once(self, call_id: str, answer: Callable[[], Awaitable[Reply]]) -> Reply:
        """Call `answer`; identical requests under way in an event loop are sent once."""
        loop = asyncio.get_running_loop()
        flights = self._flights.setdefault(loop, {})
        while (pending := flights.get(call_id)) is not None:
            try:
                reply = await asyncio.shield(pending)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not pending.cancelled() or (task is not None and task.cancelling()):
                    raise  # we are cancelled ourselves; otherwise the first asker alone was
            else:
                return reply.model_copy(update={"cached": True})
        flight: asyncio.Future[Reply] = loop.create_future()
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

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request."""

        def select(db: sqlite3.Connection) -> StoredCall | None:
            rows = db.execute(f"{_STORED} AND digest = ?", (call_id,))
            stored = rows.fetchall()  # to its end: a reader in the middle would see nothing newer
            return self._stored(stored[0]) if stored else None

        if self._reader is not None and self._thread.alive:
            with self._reading, explained(self.name):
                return select(self._reader)
        return await asyncio.wrap_future(self._thread.submit(select))

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        packed, model = pack(body), str(body["model"])
        row = (call_id, role, kind, model, time.time(), packed, worst.tokens, worst.usd)

        def insert(db: sqlite3.Connection) -> int:
            cursor = db.execute(
                "INSERT INTO calls (digest, role, kind, model, state, sent_at, request,"
                " worst_tokens, worst_usd) VALUES (?, ?, ?, ?, 'sent', ?, ?, ?, ?)",
                row,
            )
            return int(cursor.lastrowid or 0)

        return await asyncio.wrap_future(self._thread.submit(insert, opens=1))

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the disk."""
        await self._finish(attempt, "done", pack(response), usage.model_dump_json())

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        await self._finish(attempt, "lost" if lost else "refused", error=error)

    async def _finish(
        self,
        attempt: int,
        state: str,
        response: bytes | None = None,
        usage: str | None = None,
        error: str | None = None,
    ) -> None:
        def update(db: sqlite3.Connection) -> None:
            # The first answer to a request is kept; a second was paid for and is not used.
            changed = db.execute(
                "UPDATE OR IGNORE calls SET state = ?, response = ?, usage = ?, error = ?"
                " WHERE id = ?",
                (state, response, usage, error, attempt),
            )
            if not changed.rowcount:
                late = "UPDATE calls SET state = 'lost', usage = ?, error = ? WHERE id = ?"
                db.execute(late, (usage, "another request was answered first", attempt))

        await asyncio.wrap_future(self._thread.submit(update, opens=-1))

    def put(self, calls: list[StoredCall]) -> None:
        """Store answered calls from elsewhere; requests that have an answer keep it."""
        now = time.time()
        rows = [
            (call.call_id, call.role, call.kind, str(call.body["model"]), now,
             pack(call.body), pack(call.response), call.usage.model_dump_json())
            for call in calls
        ]  # fmt: skip
        insert = (
            "INSERT OR IGNORE INTO calls (digest, role, kind, model, state, sent_at, request,"
            " response, usage, worst_tokens, worst_usd)"
            " VALUES (?, ?, ?, ?, 'done', ?, ?, ?, ?, 0, 0)"
        )
        self._thread.submit(lambda db: db.executemany(insert, rows)).result()

    def in_flight(self) -> list[SentCall]:
        """Calls that were sent and whose response never arrived, oldest first.

        After a kill these are the only calls that a resumed run may send again.
        """
        rows = self._rows(
            "SELECT digest, role, model, sent_at, EXISTS (SELECT 1 FROM calls AS later WHERE"
            " later.digest = calls.digest AND later.state = 'done')"
            " FROM calls WHERE state = 'sent' ORDER BY id"
        )
        names = ("call_id", "role", "model", "sent_at", "repeated")
        with decoding(self.name):
            return [SentCall.model_validate(dict(zip(names, row, strict=True))) for row in rows]

    def answered(self) -> list[StoredCall]:
        """All answered calls, in the order they were sent."""
        return [self._stored(row) for row in self._rows(f"{_STORED} ORDER BY id")]

    def times(self, role: Role) -> list[tuple[float, float]]:
        """List the answered calls of a role, oldest first: seconds since the epoch when it was
        sent, and seconds it took.
        """
        rows = self._rows(
            "SELECT sent_at, usage FROM calls WHERE state = 'done' AND role = ? ORDER BY sent_at",
            role,
        )
        with decoding(self.name):
            return [(sent, Usage.model_validate_json(usage).seconds) for sent, usage in rows]

    def usage_by_role(self) -> dict[str, Usage]:
        """Return the use of each role; answers from the cache are not counted again."""
        totals: dict[str, Usage] = {}
        rows = self._rows("SELECT role, usage FROM calls WHERE state = 'done' ORDER BY id")
        with decoding(self.name):
            for role, usage in rows:
                totals[role] = totals.get(role, Usage()) + Usage.model_validate_json(usage)
        return totals

    def usage(self) -> Usage:
        """Return the use of all roles together."""
        return sum(self.usage_by_role().values(), Usage())

    def spend(self) -> Spend:
        """Return what counts against a budget: calls of unknown outcome at their worst case."""
        total = Spend()
        rows = self._rows("SELECT state, usage, worst_tokens, worst_usd FROM calls")
        with decoding(self.name):
            for state, text, tokens, usd in rows:
                if state == "done":
                    usage = Usage.model_validate_json(text)
                    cost = usd if usage.cost_usd is None else usage.cost_usd
                    total += Spend(cost, usage.tokens or tokens, usage.calls)
                else:
                    used = state != "refused"
                    total += Spend(usd if used else 0.0, tokens if used else 0, 1)
        return total

    def _stored(self, row: tuple[Any, ...]) -> StoredCall:
        call_id, role, kind, request, response, usage = row
        with decoding(self.name):
            return StoredCall(
                call_id=call_id,
                role=role,
                kind=kind,
                body=unpack(request),
                response=unpack(response),
                usage=Usage.model_validate_json(usage),
            )

    def _rows(self, query: str, *values: str) -> list[Any]:
        return self._thread.submit(lambda db: db.execute(query, values).fetchall()).result()

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


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open the file, or a database in memory; the connection may move to another thread.

    Raises:
        BadInput: if the file has another schema.
        sqlite3.Error, OSError: if it cannot be used.
    """
    if path is not None:
        if path.is_symlink():
            raise BadInput(f"{str(path)!r} is a link: a call store must be a file of its own")
        private_folder(path.parent)
        # It holds every prompt. One that exists is not opened: closing it would drop the locks that
        # another connection of this process has on it.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise BadInput(f"{str(path)!r}: call store of schema {version}, expected {_VERSION}")
    db.executescript(_SCHEMA)
    db.execute(f"PRAGMA user_version = {_VERSION}")
    db.commit()
    return db


def pack(value: dict[str, Any]) -> bytes:
    """JSON, compressed; a thread keeps its compressor, which takes longer to make than to use."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=3)
    return _local.compressor.compress(json.dumps(value, ensure_ascii=False).encode())


def unpack(blob: bytes) -> dict[str, Any]:
    """Undo :func:`pack`."""
    return json.loads(decompressed(blob))
