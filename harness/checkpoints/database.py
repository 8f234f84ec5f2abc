"""The SQLite file behind the checkpoint store: its tables, its transactions, whole threads.

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

import json
import sqlite3
import threading
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack

from harness.checkpoints.values import CheckpointKey, Ref, Values, blob_key
from harness.core import BadInput, decoding

VERSION = 1
"""Of the layout, in the file's `user_version`."""
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


class Moment(NamedTuple):
    """One checkpoint of one graph, without its values.

    Attributes:
        id: the checkpoint's id; ids sort by time.
        ns: its namespace; empty for the main graph.
        parent: the checkpoint before it in its namespace.
        outer: checkpoints of the graphs around it, by namespace.
        step: number of the super-step that made it; -1 is the input.
        source: `input`, `loop`, `update` or `fork`.
    """

    id: str
    ns: str
    parent: str | None
    outer: dict[str, str]
    step: int
    source: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sub-graph nodes around it, outermost first."""
        return split_ns(self.ns)


class Write(NamedTuple):
    """A write of a task without its value; `path` is the task's place in its step."""

    ns: str
    checkpoint: str
    task: str
    path: str
    channel: str
    ref: Ref


def segments(ns: str) -> list[str]:
    """A namespace's parts, outermost first, without those of digits only.

    These number repeated calls of a sub-graph by one task.
    """
    return [part for part in ns.split("|") if part and not part.isdigit()]


@lru_cache(1024)
def split_ns(ns: str) -> tuple[str, ...]:
    """Node names of a namespace, outermost first: `a:1|2|b:3` is `a`, `b`."""
    return tuple(part.partition(":")[0] for part in segments(ns))


def head_key(key: CheckpointKey) -> int:
    """Key of a checkpoint, for its writes."""
    return blob_key("head", "\0".join(key).encode())


def read_refs(packed: bytes) -> dict[str, Ref]:
    """References by channel."""
    return ormsgpack.unpackb(packed)


class ThreadDatabase:
    """One connection, used by one thread at a time.

    Every transaction is on disk when it returns (WAL, `synchronous = FULL`): a kill loses nothing
    that was committed, and a half-written transaction is gone when the file is opened again. Its
    file is `path`.
    """

    def __init__(self, path: Path, values: Values) -> None:
        """Open or create the store in `path`.

        Raises:
            BadInput: if the file is not a store, or one of a newer layout.
        """
        self.path = path
        self._stored_values = values
        self._lock = threading.RLock()
        self._version = -1
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=60
        )
        run = self._connection.execute
        try:
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "journal_size_limit = 0"):
                run(f"PRAGMA {pragma}")
            if run("PRAGMA user_version").fetchone()[0] == 0:
                with self._transaction():
                    if run("PRAGMA user_version").fetchone()[0] == 0:
                        for statement in _TABLES.split(";\n"):
                            run(statement)
                        run(f"PRAGMA user_version = {VERSION}")
            version = run("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise BadInput(
                f"expected a checkpoint store (SQLite) in {str(path)!r}, found: {error}; "
                "name another file"
            ) from error
        if version != VERSION:
            self._connection.close()
            raise BadInput(
                f"expected a checkpoint store of layout {VERSION} in {str(path)!r}, "
                f"found {version!r}; open it with the version of harness that wrote it"
            )

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Generator[sqlite3.Connection]:
        """All of the block is written, or nothing of it."""
        with self._lock:
            db = self._connection
            db.execute(begin)
            try:
                version = db.execute("PRAGMA data_version").fetchone()[0]
                if version != self._version:  # another connection has written
                    self._version = version
                    self._stored_values.forget()
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                self._stored_values.forget()
                with suppress(sqlite3.Error):  # there may be none, or a damaged file
                    db.execute("ROLLBACK")
                if type(error) is sqlite3.DatabaseError:  # none of its kinds: the file is no good
                    raise BadInput(f"{str(self.path)!r} is damaged: {error}") from error
                raise

    @contextmanager
    def _reading(self, begin: str = "BEGIN") -> Generator[sqlite3.Connection]:
        """A transaction that decodes what is stored; BadInput if that is damaged."""
        with decoding(self.path), self._transaction(begin) as db:
            yield db

    def close(self) -> None:
        """Close the file; its write-ahead log is folded in."""
        with self._lock:
            self._connection.close()

    def threads(self) -> dict[str, dict[str, Any]]:
        """Every thread in the file, oldest first, with what :meth:`describe` was given."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT thread, '{}' FROM checkpoints GROUP BY thread "
                "ORDER BY min(checkpoint), length(thread), thread"
            ).fetchall()
            rows += db.execute("SELECT thread, info FROM threads").fetchall()
            return {str(thread): dict(json.loads(info)) for thread, info in rows}

    def describe(self, thread_id: str, info: dict[str, Any]) -> None:
        """Keep `info` (JSON) with a thread."""
        with self._transaction() as db:
            row = (thread_id, json.dumps(info))
            db.execute("INSERT OR REPLACE INTO threads VALUES (?, ?)", row)

    def outline(self, thread_id: str) -> list[Moment]:
        """A thread's checkpoints in all namespaces without their values, oldest first."""
        query = (
            "SELECT checkpoint, ns, parent, metadata FROM checkpoints WHERE thread = ? "
            "ORDER BY checkpoint"
        )
        moments: list[Moment] = []
        with self._reading() as db:
            for checkpoint, ns, parent, text in db.execute(query, (thread_id,)):
                metadata: dict[str, Any] = json.loads(text)
                outer, source = dict(metadata.get("parents") or {}), metadata.get("source", "loop")
                step = int(metadata.get("step", -1))
                moments.append(Moment(checkpoint, ns, parent, outer, step, str(source)))
        return moments

    def writes(self, thread_id: str) -> list[Write]:
        """A thread's writes without their values, oldest checkpoint first."""
        query = (
            "SELECT ns, checkpoint, task, path, channel, ref FROM writes "
            "JOIN checkpoints ON checkpoints.head = writes.head WHERE thread = ? "
            "ORDER BY checkpoint, path, task, idx"
        )
        with self._reading() as db:
            return [Write(*row) for row in db.execute(query, (thread_id,))]

    def copy_checkpoints(self, source: str, target: str, keys: Collection[tuple[str, str]]) -> None:
        """Copy some checkpoints (namespace, id), with their writes, to another thread."""
        with self._transaction() as db:
            _copy(db, source, target, keys)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its namespaces, ids and writes; values are shared."""
        query = "SELECT ns, checkpoint FROM checkpoints WHERE thread = ?"
        with self._transaction() as db:
            keys = db.execute(query, (source_thread_id,)).fetchall()
            _copy(db, source_thread_id, target_thread_id, keys)

    def drop_writes(
        self,
        thread_id: str,
        key: tuple[str, str],
        task: str | None = None,
        channels: Collection[str] = (),
    ) -> None:
        """Drop the writes at a checkpoint (namespace, id), all or those of a task or channels."""
        head, names = head_key((thread_id, *key)), json.dumps([*channels])
        with self._transaction() as db:
            db.execute(
                "DELETE FROM writes WHERE head = :head AND task = coalesce(:task, task) AND "
                "(:names = '[]' OR channel IN (SELECT value FROM json_each(:names)))",
                {"head": head, "task": task, "names": names},
            )

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread; its values stay until :meth:`vacuum` or :meth:`prune`."""
        with self._transaction() as db:
            self._drop(db, "thread = ?", str(thread_id))
            db.execute("DELETE FROM threads WHERE thread = ?", (str(thread_id),))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints of runs and their writes."""
        # Read here: SQLite before 3.42 refuses metadata with NaN, which Python writes as JSON.
        with self._reading("BEGIN IMMEDIATE") as db:
            heads = [
                head
                for head, metadata in db.execute("SELECT head, metadata FROM checkpoints")
                if json.loads(metadata).get("run_id") in run_ids
            ]
            self._drop(db, "head IN (SELECT value FROM json_each(?))", json.dumps(heads))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace (or `delete` all) and free the space.

        What the latest's delta channels are rebuilt from is kept. A delta channel has a value in
        some checkpoints only; the others are rebuilt from the nearest ancestor that has one and
        from the writes since (LangGraph's `get_delta_channel_history`).
        """
        if strategy not in ("keep_latest", "delete"):
            raise BadInput(f"expected the strategy 'keep_latest' or 'delete', found {strategy!r}")
        query = "SELECT ns, checkpoint, head, parent, refs, metadata FROM checkpoints"
        with self._reading("BEGIN IMMEDIATE") as db:
            for thread in map(str, thread_ids):
                if strategy == "delete":
                    self._drop(db, "thread = ?", thread)
                    db.execute("DELETE FROM threads WHERE thread = ?", (thread,))
                    continue
                lines: dict[str, dict[str, tuple[int, str | None, bytes, str]]] = {}
                for ns, checkpoint, *row in db.execute(f"{query} WHERE thread = ?", (thread,)):
                    lines.setdefault(ns, {})[checkpoint] = tuple(row)
                heads: list[int] = []
                for line in lines.values():
                    latest = max(line)
                    metadata = json.loads(line[latest][3])
                    missing = set[str](metadata.get("counters_since_delta_snapshot") or ())
                    ancestor: str | None = latest
                    while ancestor in line:
                        head, ancestor, refs, _ = line.pop(ancestor)
                        heads.append(head)
                        missing -= read_refs(refs).keys()
                        if not missing:
                            break
                test = "thread = ? AND head NOT IN (SELECT value FROM json_each(?))"
                self._drop(db, test, thread, json.dumps(heads))
        self.vacuum()

    def _drop(self, db: sqlite3.Connection, test: str, *arguments: str) -> None:
        """Delete checkpoints, and their writes."""
        heads = f"SELECT head FROM checkpoints WHERE {test}"
        db.execute(f"DELETE FROM writes WHERE head IN ({heads})", arguments)
        db.execute(f"DELETE FROM checkpoints WHERE {test}", arguments)
        self._stored_values.forget()

    def vacuum(self) -> None:
        """Drop values that no checkpoint names and give the space back to the file system."""
        with self._reading("BEGIN IMMEDIATE") as db:
            packed = db.execute("SELECT refs FROM checkpoints").fetchall()
            refs = db.execute("SELECT DISTINCT ref FROM writes").fetchall()
            for table, keep in _reachable(db, packed, refs).items():
                unused = [
                    row for row in db.execute(f"SELECT id FROM {table}") if row[0] not in keep
                ]
                db.executemany(f"DELETE FROM {table} WHERE id = ?", unused)
            self._stored_values.forget()
        with self._lock, decoding(self.path):
            self._connection.execute("VACUUM")


def _copy(
    db: sqlite3.Connection, source: str, target: str, keys: Iterable[tuple[str, str]]
) -> None:
    for key in keys:
        head = head_key((target, *key))
        db.execute(
            "INSERT OR REPLACE INTO checkpoints "
            "SELECT ?, ns, checkpoint, ?, parent, header, refs, metadata FROM checkpoints "
            "WHERE thread = ? AND ns = ? AND checkpoint = ?",
            (target, head, source, *key),
        )
        db.execute(
            "INSERT OR REPLACE INTO writes SELECT ?, task, idx, path, channel, ref "
            "FROM writes WHERE head = ?",
            (head, head_key((source, *key))),
        )


def _reachable(
    db: sqlite3.Connection, packed: Iterable[tuple[bytes]], refs: Iterable[tuple[Ref]]
) -> dict[str, set[int]]:
    """Keys of the nodes and blobs that checkpoints (by `packed` references) and writes name."""
    references = [ref for row in packed for ref in read_refs(row[0]).values()]
    references += [ref for (ref,) in refs]
    parents = {row[0]: (row[1], row[2]) for row in db.execute("SELECT id, parent, blob FROM nodes")}
    nodes, blobs = set[int](), set[int]()
    for ref in references:
        if isinstance(ref, bytes):
            continue
        if ref % 2 == 0:
            blobs.add(ref // 2)
            continue
        node = ref // 2
        while node and node not in nodes:
            nodes.add(node)
            node, blob = parents[node]
            blobs.add(blob)
    return {"nodes": nodes, "blobs": blobs}
