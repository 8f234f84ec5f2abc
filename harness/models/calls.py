"""Every model call of a run, in SQLite: request cache, record of usage, and what was in flight.

A request is recorded before it is sent and its response before it is returned, each in a
transaction that has reached the disk. So a kill at any moment loses only responses that had not
arrived, and those calls are listed; a response that is stored is never asked for again.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import zstandard

from harness.core import BadInput, Usage, Value
from harness.models.budget import Spend
from harness.models.types import Reply, Role

T = TypeVar("T")
Flights = dict[str, "asyncio.Future[Reply]"]

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

    All statements run on one thread, which commits those that arrive together in one transaction.

    Raises:
        BadInput: if the file is no call store, or cannot be written (disk full).
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.name = str(path.resolve()) if path else f"memory-{id(self)}"
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._jobs = queue.SimpleQueue()
        self._flights: WeakKeyDictionary[asyncio.AbstractEventLoop, Flights] = WeakKeyDictionary()
        with _explained(self.name):
            self._db = _connect(path)
        self._thread = threading.Thread(target=self._serve, name="calls", daemon=True)
        self._thread.start()

    def flights(self) -> Flights:
        """Requests under way in the running event loop, for coalescing."""
        return self._flights.setdefault(asyncio.get_running_loop(), {})

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request."""
        return await asyncio.wrap_future(self._submit(lambda: self._select_done(call_id)))

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        values = (call_id, role, kind, str(body["model"]), time.time(), _pack(body))
        row = (*values, worst.tokens, worst.usd)
        return await asyncio.wrap_future(self._submit(lambda: self._insert_sent(row)))

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the disk."""
        row = ("done", _pack(response), usage.model_dump_json(), None, attempt)
        await asyncio.wrap_future(self._submit(lambda: self._finish(row)))

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        row = ("lost" if lost else "refused", None, None, error, attempt)
        await asyncio.wrap_future(self._submit(lambda: self._finish(row)))

    def put(self, calls: list[StoredCall]) -> None:
        """Store answered calls from elsewhere; those that are known stay as they are."""
        self._submit(lambda: [self._insert_done(call) for call in calls]).result()

    def in_flight(self) -> list[SentCall]:
        """Calls that were sent and whose response never arrived, oldest first.

        After a kill these are the only calls that a resumed run may send again.
        """
        return self._submit(self._select_sent).result()

    def answered(self) -> list[StoredCall]:
        """All answered calls, in the order they were sent."""
        return self._submit(self._select_answered).result()

    def usage_by_role(self) -> dict[str, Usage]:
        """What each role has used; answers from the cache are not counted again."""
        return self._submit(self._sum_by_role).result()

    def usage(self) -> Usage:
        """What all roles have used together."""
        return sum(self.usage_by_role().values(), Usage())

    def spend(self) -> Spend:
        """What counts against a budget: calls without a known outcome with their worst case."""
        return self._submit(self._sum_spend).result()

    def close(self) -> None:
        """Wait for what is under way and close the file."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()

    def __enter__(self) -> CallStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # The thread. Methods below run on it alone.

    def _submit(self, job: Callable[[], T]) -> Future[T]:
        if not self._thread.is_alive():
            raise BadInput(f"the call store {self.name!r} is closed")
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return future

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first]
            while not self._jobs.empty() and len(batch) < 256:
                entry = self._jobs.get()
                if entry is None:
                    self._jobs.put(None)
                    break
                batch.append(entry)
            self._run(batch)
        self._db.close()

    def _run(self, batch: list[tuple[Callable[[], Any], Future[Any]]]) -> None:
        """Answer a batch after its commit, so that nothing is reported that is not on the disk."""
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        failure: BaseException | None = None
        for job, future in batch:
            pending = self._db.in_transaction
            try:
                with _explained(self.name):
                    outcomes.append((future, job(), None))
            except Exception as error:  # noqa: BLE001  # handed to the caller who waits for it
                outcomes.append((future, None, error))
                if pending and not self._db.in_transaction:  # a full disk rolls all of it back
                    failure = error
        try:
            with _explained(self.name):
                self._db.commit()
        except BadInput as error:
            failure = error
            self._db.rollback()
        for future, result, error in outcomes:
            if future.cancelled():
                continue
            problem = error or failure
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)

    def _insert_sent(self, row: tuple[Any, ...]) -> int:
        cursor = self._db.execute(
            "INSERT INTO calls (digest, role, kind, model, state, sent_at, request, worst_tokens,"
            " worst_usd) VALUES (?, ?, ?, ?, 'sent', ?, ?, ?, ?)",
            row,
        )
        return int(cursor.lastrowid or 0)

    def _finish(self, row: tuple[Any, ...]) -> None:
        # The first answer to a request is kept; a second one was paid for and is not used.
        changed = self._db.execute(
            "UPDATE OR IGNORE calls SET state = ?, response = ?, usage = ?, error = ? WHERE id = ?",
            row,
        )
        if not changed.rowcount:
            late = "UPDATE calls SET state = 'lost', usage = ?, error = ? WHERE id = ?"
            self._db.execute(late, (row[2], "another request was answered first", row[4]))

    def _insert_done(self, call: StoredCall) -> None:
        values = (call.call_id, call.role, call.kind, str(call.body["model"]), time.time())
        packed = (_pack(call.body), _pack(call.response), call.usage.model_dump_json())
        self._db.execute(
            "INSERT OR IGNORE INTO calls (digest, role, kind, model, state, sent_at, request,"
            " response, usage, worst_tokens, worst_usd)"
            " VALUES (?, ?, ?, ?, 'done', ?, ?, ?, ?, 0, 0)",
            values + packed,
        )

    def _select_done(self, call_id: str) -> StoredCall | None:
        rows = self._db.execute(
            f"SELECT {_STORED} FROM calls WHERE digest = ? AND state = 'done'", (call_id,)
        )
        row = rows.fetchone()
        return _stored(row) if row else None

    def _select_answered(self) -> list[StoredCall]:
        rows = self._db.execute(f"SELECT {_STORED} FROM calls WHERE state = 'done' ORDER BY id")
        return [_stored(row) for row in rows]

    def _select_sent(self) -> list[SentCall]:
        rows = self._db.execute(
            "SELECT digest, role, model, sent_at, EXISTS (SELECT 1 FROM calls AS later WHERE"
            " later.digest = calls.digest AND later.state = 'done')"
            " FROM calls WHERE state = 'sent' ORDER BY id"
        )
        names = ("call_id", "role", "model", "sent_at", "repeated")
        return [SentCall.model_validate(dict(zip(names, row, strict=True))) for row in rows]

    def _sum_by_role(self) -> dict[str, Usage]:
        totals: dict[str, Usage] = {}
        rows = self._db.execute("SELECT role, usage FROM calls WHERE state = 'done' ORDER BY id")
        for role, usage in rows:
            totals[role] = totals.get(role, Usage()) + Usage.model_validate_json(usage)
        return totals

    def _sum_spend(self) -> Spend:
        total = Spend()
        rows = self._db.execute("SELECT state, usage, worst_tokens, worst_usd FROM calls")
        for state, text, tokens, usd in rows:
            if state == "done":
                usage = Usage.model_validate_json(text)
                known = usage.tokens or tokens
                cost = usd if usage.cost_usd is None else usage.cost_usd
                total += Spend(cost, known, usage.calls)
            else:
                used = state != "refused"
                total += Spend(usd if used else 0.0, tokens if used else 0, 1)
        return total


_STORED = "digest, role, kind, request, response, usage"


def _stored(row: tuple[Any, ...]) -> StoredCall:
    call_id, role, kind, request, response, usage = row
    return StoredCall(
        call_id=call_id,
        role=role,
        kind=kind,
        body=_unpack(request),
        response=_unpack(response),
        usage=Usage.model_validate_json(usage),
    )


def _connect(path: Path | None) -> sqlite3.Connection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise BadInput(f"{str(path)!r}: call store of schema {version}, expected {_VERSION}")
    db.executescript(_SCHEMA)
    db.execute(f"PRAGMA user_version = {_VERSION}")
    db.commit()
    return db


@contextmanager
def _explained(name: str) -> Generator[None]:
    """Turn a fault of the disk or the file into an error that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise BadInput(
            f"cannot use the call store {name!r}: {error}; check that it is a calls.sqlite and "
            "that the disk has space, then resume"
        ) from error


def _pack(value: dict[str, Any]) -> bytes:
    return zstandard.compress(json.dumps(value, ensure_ascii=False).encode(), 3)


def _unpack(blob: bytes) -> dict[str, Any]:
    return json.loads(zstandard.decompress(blob))
