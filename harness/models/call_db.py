"""Model calls as rows of SQLite: the schema, every statement on it, and the thread that commits.

A request is recorded before it is sent and its response before it is returned. The first must
survive a kill of this process, for which it is enough that the system has it; the second must be on
the disk. So transactions with an outcome in them are synced, others are not, and while further
answers are on their way an outcome waits some milliseconds for company: one sync serves them all.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import zstandard

from harness.core import BadInput, Usage, Value
from harness.models.budget import Spend

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
MOST_JOBS = 256
"""Jobs of one transaction."""
COMPANY_S = 0.004
"""Seconds for which an outcome waits for others before they are synced together."""

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]

_local = threading.local()
_STORED = "digest, role, kind, request, response, usage"


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


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the file, or a database in memory; the connection may move to another thread.

    Raises:
        BadInput: if the file has another schema.
        sqlite3.Error, OSError: if it cannot be used.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise BadInput(f"{str(path)!r}: call store of schema {version}, expected {_VERSION}")
    db.executescript(_SCHEMA)
    db.execute(f"PRAGMA user_version = {_VERSION}")
    db.commit()
    return db


def insert_sent(db: sqlite3.Connection, row: tuple[Any, ...]) -> int:
    """Record that a request is about to be sent; its number."""
    cursor = db.execute(
        "INSERT INTO calls (digest, role, kind, model, state, sent_at, request, worst_tokens,"
        " worst_usd) VALUES (?, ?, ?, ?, 'sent', ?, ?, ?, ?)",
        row,
    )
    return int(cursor.lastrowid or 0)


def finish(db: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    """The end of an attempt: (state, response, usage, error, number)."""
    # The first answer to a request is kept; a second one was paid for and is not used.
    changed = db.execute(
        "UPDATE OR IGNORE calls SET state = ?, response = ?, usage = ?, error = ? WHERE id = ?",
        row,
    )
    if not changed.rowcount:
        late = "UPDATE calls SET state = 'lost', usage = ?, error = ? WHERE id = ?"
        db.execute(late, (row[2], "another request was answered first", row[4]))


def insert_done(db: sqlite3.Connection, call: StoredCall) -> None:
    """An answered call from elsewhere, where its request has no answer yet."""
    values = (call.call_id, call.role, call.kind, str(call.body["model"]), time.time())
    packed = (pack(call.body), pack(call.response), call.usage.model_dump_json())
    db.execute(
        "INSERT OR IGNORE INTO calls (digest, role, kind, model, state, sent_at, request,"
        " response, usage, worst_tokens, worst_usd)"
        " VALUES (?, ?, ?, ?, 'done', ?, ?, ?, ?, 0, 0)",
        values + packed,
    )


def select_done(db: sqlite3.Connection, call_id: str) -> StoredCall | None:
    """The stored answer to a request."""
    rows = db.execute(
        f"SELECT {_STORED} FROM calls WHERE digest = ? AND state = 'done'", (call_id,)
    )
    stored = rows.fetchall()  # to its end: a reader in the middle would see nothing newer
    return _stored(stored[0]) if stored else None


def select_answered(db: sqlite3.Connection) -> list[StoredCall]:
    """All answered calls, in the order they were sent."""
    rows = db.execute(f"SELECT {_STORED} FROM calls WHERE state = 'done' ORDER BY id")
    return [_stored(row) for row in rows]


def select_sent(db: sqlite3.Connection) -> list[SentCall]:
    """Calls without an outcome, oldest first."""
    rows = db.execute(
        "SELECT digest, role, model, sent_at, EXISTS (SELECT 1 FROM calls AS later WHERE"
        " later.digest = calls.digest AND later.state = 'done')"
        " FROM calls WHERE state = 'sent' ORDER BY id"
    )
    names = ("call_id", "role", "model", "sent_at", "repeated")
    return [SentCall.model_validate(dict(zip(names, row, strict=True))) for row in rows]


def sum_by_role(db: sqlite3.Connection) -> dict[str, Usage]:
    """What each role has used."""
    totals: dict[str, Usage] = {}
    rows = db.execute("SELECT role, usage FROM calls WHERE state = 'done' ORDER BY id")
    for role, usage in rows:
        totals[role] = totals.get(role, Usage()) + Usage.model_validate_json(usage)
    return totals


def sum_spend(db: sqlite3.Connection) -> Spend:
    """What counts against a budget."""
    total = Spend()
    rows = db.execute("SELECT state, usage, worst_tokens, worst_usd FROM calls")
    for state, text, tokens, usd in rows:
        if state == "done":
            usage = Usage.model_validate_json(text)
            cost = usd if usage.cost_usd is None else usage.cost_usd
            total += Spend(cost, usage.tokens or tokens, usage.calls)
        else:
            used = state != "refused"
            total += Spend(usd if used else 0.0, tokens if used else 0, 1)
    return total


def _stored(row: tuple[Any, ...]) -> StoredCall:
    call_id, role, kind, request, response, usage = row
    return StoredCall(
        call_id=call_id,
        role=role,
        kind=kind,
        body=unpack(request),
        response=unpack(response),
        usage=Usage.model_validate_json(usage),
    )


def pack(value: dict[str, Any]) -> bytes:
    """JSON, compressed; a thread keeps its compressor, which takes longer to make than to use."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=3)
    return _local.compressor.compress(json.dumps(value, ensure_ascii=False).encode())


def unpack(blob: bytes) -> dict[str, Any]:
    """What :func:`pack` was given."""
    return json.loads(zstandard.decompress(blob))


@contextmanager
def explained(name: str) -> Generator[None]:
    """Turn a fault of the disk or the file into an error that says what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise BadInput(
            f"cannot use the call store {name!r}: {error}; check that it is a calls.sqlite and "
            "that the disk has space, then resume"
        ) from error


class _Entry(NamedTuple):
    job: Job[Any]
    opens: int
    future: Future[Any]


class Committer:
    """A thread that runs jobs from any thread one after the other, and commits them in batches.

    Args:
        db: a connection, which belongs to the thread from now on.
        name: of the database, for messages.
    """

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db, self._name = db, name
        self._jobs: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._open = 0
        self._thread = threading.Thread(target=self._serve, name="calls", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it takes jobs."""
        return self._thread.is_alive()

    def submit(self, job: Job[T], *, opens: int = 0) -> Future[T]:
        """Run a job on the thread; the future has its result once it is committed.

        Args:
            job: is given the connection.
            opens: 1 for a request that is about to be sent; -1 for its outcome, which is on the
                disk when the future is done.

        Raises:
            BadInput: if the thread has ended.
        """
        if not self.alive:
            raise BadInput(f"the call store {self._name!r} is closed")
        future: Future[T] = Future()
        self._jobs.put(_Entry(job, opens, future))
        return future

    def close(self) -> None:
        """Wait for what is under way and close the database."""
        if self.alive:
            self._jobs.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while (entry := self._jobs.get()) is not None:
            batch: list[_Entry] = []
            deadline = 0.0
            while entry is not None:
                batch.append(entry)
                self._open += entry.opens
                if entry.opens < 0 and not deadline:
                    deadline = time.monotonic() + COMPANY_S
                if len(batch) == MOST_JOBS:
                    break
                # Company comes only where requests are under way.
                patience = max(0.0, deadline - time.monotonic()) if self._open > 0 else 0.0
                try:
                    entry = self._jobs.get(timeout=patience)
                except queue.Empty:
                    break
            else:
                self._jobs.put(None)  # the end, once these are committed
            self._run(batch)
        self._db.close()

    def _run(self, batch: list[_Entry]) -> None:
        """Answer a batch after its commit, so that nothing is reported that is not stored."""
        synced = any(entry.opens < 0 for entry in batch)
        self._db.execute(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
        results: list[tuple[Future[Any], Any, BaseException | None]] = []
        failure: BaseException | None = None
        for job, _, future in batch:
            pending = self._db.in_transaction
            try:
                with explained(self._name):
                    results.append((future, job(self._db), None))
            except Exception as error:  # noqa: BLE001  # handed to the caller who waits for it
                results.append((future, None, error))
                if pending and not self._db.in_transaction:  # a full disk rolls all of it back
                    failure = error
        try:
            with explained(self._name):
                self._db.commit()
        except BadInput as error:
            failure = error
            self._db.rollback()
        for future, result, error in results:
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits any more; from here on it cannot be cancelled
            problem = error or failure
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)
