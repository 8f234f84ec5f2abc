"""Model calls as rows of SQLite: the schema, and every statement on it."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

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
    db.execute("PRAGMA synchronous = FULL")
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
    found = rows.fetchall()  # to its end: a reader in the middle would see nothing newer
    return _stored(found[0]) if found else None


def select_packed(db: sqlite3.Connection, call_id: str) -> tuple[bytes, str] | None:
    """The stored answer to a request as it lies in the file: packed response, usage as JSON."""
    done = "SELECT response, usage FROM calls WHERE digest = ? AND state = 'done'"
    return db.execute(done, (call_id,)).fetchone()


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
            known = usage.tokens or tokens
            cost = usd if usage.cost_usd is None else usage.cost_usd
            total += Spend(cost, known, usage.calls)
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
    """JSON, compressed."""
    return _compressor().compress(json.dumps(value, ensure_ascii=False).encode())


def _compressor() -> zstandard.ZstdCompressor:
    """This thread's: making one takes longer than a small text does."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=3)
    return _local.compressor


def unpack(blob: bytes) -> dict[str, Any]:
    """What :func:`pack` was given."""
    return json.loads(zstandard.decompress(blob))
