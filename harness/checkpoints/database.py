"""The SQLite file behind the checkpoint store: its tables, its keys and its transactions.

Tables:
    blobs: serialised values, one row per content.
    nodes: lists as a prefix tree. A node is its parent list plus one blob; 0 is the empty list.
    checkpoints: what LangGraph saves per step, channel values replaced by references.
    writes: what a task wrote, each value a reference; they may come before their checkpoint.
    threads: what is known about a thread besides its checkpoints (a JSON object).

The key of a blob, a node or a checkpoint (`head`) is a digest of its content or identity, so no
index beside the table is written. A reference is twice the key of a blob, or twice the key of a
node plus one; a small value stands in the reference's place.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from harness.core import BadInput

VERSION = 1
"""Of the layout, in the file's `user_version`."""
MASK = (1 << 61) - 1
"""Keys have 61 bits, so that a reference (twice a key plus one) is an SQLite integer."""
_TABLES = """
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, packed INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE nodes (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, blob INTEGER NOT NULL);
CREATE TABLE checkpoints (
    thread TEXT NOT NULL, ns TEXT NOT NULL, checkpoint TEXT NOT NULL, head INTEGER NOT NULL,
    parent TEXT, header BLOB NOT NULL, refs BLOB NOT NULL, metadata TEXT NOT NULL,
    PRIMARY KEY (thread, ns, checkpoint)) WITHOUT ROWID;
CREATE TABLE writes (
    head INTEGER NOT NULL, task TEXT NOT NULL, idx INTEGER NOT NULL, path TEXT NOT NULL,
    channel TEXT NOT NULL, ref NOT NULL, PRIMARY KEY (head, task, idx)) WITHOUT ROWID;
CREATE TABLE threads (thread TEXT PRIMARY KEY, info TEXT NOT NULL) WITHOUT ROWID;
"""

CheckpointKey = tuple[str, str, str]
"""Thread, namespace, checkpoint id."""


def blob_key(kind: str, data: bytes) -> int:
    """Key of a serialised value; two values of one key are told apart when they are stored."""
    digest = hashlib.blake2b(data, digest_size=8, person=kind.encode()[:16]).digest()
    return int.from_bytes(digest, "big") & MASK or 1


def head_key(key: CheckpointKey) -> int:
    """Key of a checkpoint, for its writes."""
    return blob_key("head", "\0".join(key).encode())


class Database:
    """One connection, used by one thread at a time.

    Every transaction is on disk when it returns (WAL, `synchronous = FULL`): a kill loses nothing
    that was committed, and a half-written transaction is gone when the file is opened again.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the store in `path`.

        Raises:
            BadInput: if the file is not a store, or one of a newer layout.
        """
        self.path = path
        self.lock = threading.RLock()
        self._version = -1
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=60
        )
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"expected a checkpoint store (SQLite) in {str(path)!r}, found: {error}; "
                "name another file"
            ) from error
        except BadInput:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        run = self._connection.execute
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "journal_size_limit = 0"):
            run(f"PRAGMA {pragma}")
        if run("PRAGMA user_version").fetchone()[0] == 0:
            with self.transaction():
                if run("PRAGMA user_version").fetchone()[0] == 0:
                    for statement in _TABLES.split(";\n"):
                        run(statement)
                    run(f"PRAGMA user_version = {VERSION}")
        version = run("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise BadInput(
                f"expected a checkpoint store of layout {VERSION} in {str(self.path)!r}, "
                f"found {version!r}; open it with the version of harness that wrote it"
            )

    def changed(self) -> bool:
        """Whether another connection has written since the last call (or none was made yet)."""
        before = self._version
        self._version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return before != self._version

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Generator[sqlite3.Connection]:
        """All of the block is written, or nothing of it."""
        with self.lock:
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One state of the file for the whole block."""
        return self.transaction("BEGIN")

    def vacuum(self) -> None:
        """Give free pages back to the file system."""
        with self.lock:
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Close the file; its write-ahead log is folded in."""
        with self.lock:
            self._connection.close()
