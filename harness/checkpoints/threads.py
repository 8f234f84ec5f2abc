"""Threads as a whole: listed, described, copied, moved to another file, pruned and swept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import ormsgpack

from harness.checkpoints.database import CheckpointKey, head_key
from harness.checkpoints.rows import read_refs
from harness.checkpoints.values import Ref, Values
from harness.core import BadInput

_KEYS = "SELECT thread, ns, checkpoint, head, metadata, parent, refs FROM checkpoints"
_WRITES = """
SELECT ns, checkpoint, task, path, channel, ref FROM writes
JOIN checkpoints ON checkpoints.head = writes.head WHERE thread = ?
ORDER BY checkpoint, path, task, idx
"""


class Outline(NamedTuple):
    """A checkpoint without its values."""

    ns: str
    checkpoint: str
    parent: str | None
    metadata: dict[str, Any]


class Written(NamedTuple):
    """A write without its value."""

    ns: str
    checkpoint: str
    task: str
    channel: str
    ref: Ref


def outline(db: sqlite3.Connection, thread: str) -> list[Outline]:
    """Every checkpoint of a thread in all namespaces, oldest first."""
    rows = db.execute(
        "SELECT ns, checkpoint, parent, metadata FROM checkpoints WHERE thread = ? "
        "ORDER BY checkpoint",
        (thread,),
    )
    return [Outline(ns, name, parent, json.loads(data)) for ns, name, parent, data in rows]


def writers(
    db: sqlite3.Connection, thread: str
) -> dict[tuple[str, str], dict[str, tuple[str, list[str]]]]:
    """(namespace, checkpoint) -> task id -> its path, as LangGraph writes it, and its channels."""
    tasks: dict[tuple[str, str], dict[str, tuple[str, list[str]]]] = {}
    for ns, checkpoint, task, path, channel, _ in db.execute(_WRITES, (thread,)):
        tasks.setdefault((ns, checkpoint), {}).setdefault(task, (path, []))[1].append(channel)
    return tasks


def written(db: sqlite3.Connection, thread: str) -> list[Written]:
    """Every write of a thread to a key of the state, oldest checkpoint first."""
    return [
        Written(ns, checkpoint, task, channel, ref)
        for ns, checkpoint, task, _, channel, ref in db.execute(_WRITES, (thread,))
        if not channel.startswith(("__", "branch:", "join:"))
    ]


def descriptions(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """Thread ids, oldest first, each with its description."""
    rows = db.execute(
        "SELECT thread FROM checkpoints GROUP BY thread "
        "ORDER BY min(checkpoint), length(thread), thread"
    )
    threads: dict[str, dict[str, Any]] = {row[0]: {} for row in rows}
    for thread, info in db.execute("SELECT thread, info FROM threads"):
        threads[thread] = json.loads(info)
    return threads


def describe(db: sqlite3.Connection, thread: str, info: dict[str, Any]) -> None:
    """Replace a thread's description."""
    db.execute("INSERT OR REPLACE INTO threads VALUES (?, ?)", (thread, json.dumps(info)))


def copy_checkpoint(db: sqlite3.Connection, key: CheckpointKey, thread: str) -> None:
    """Copy one checkpoint with its writes to another thread."""
    head = head_key((thread, *key[1:]))
    db.execute(
        "INSERT OR REPLACE INTO checkpoints "
        "SELECT ?, ns, checkpoint, ?, parent, header, refs, metadata FROM checkpoints "
        "WHERE thread = ? AND ns = ? AND checkpoint = ?",
        (thread, head, *key),
    )
    db.execute(
        "INSERT OR REPLACE INTO writes SELECT ?, task, idx, path, channel, ref "
        "FROM writes WHERE head = ?",
        (head, head_key(key)),
    )


def copy_thread(db: sqlite3.Connection, source: str, target: str) -> None:
    """Copy every checkpoint and write; a target that exists is added to."""
    for row in db.execute(f"{_KEYS} WHERE thread = ?", (source,)).fetchall():
        copy_checkpoint(db, row[:3], target)


def transfer(
    source: tuple[sqlite3.Connection, Values],
    target: tuple[sqlite3.Connection, Values],
    thread: str,
) -> None:
    """Copy a thread from one store into another, each inside a transaction."""
    (db, values), (target_db, target_values) = source, target
    moved: dict[int, int] = {}

    def move(ref: Ref) -> Ref:
        if isinstance(ref, bytes):
            return ref
        if ref not in moved:
            moved[ref] = target_values.put_raw(target_db, values.raw(db, ref), split=ref % 2 == 1)
        return moved[ref]

    for row in db.execute("SELECT * FROM checkpoints WHERE thread = ?", (thread,)).fetchall():
        refs = {channel: move(ref) for channel, ref in read_refs(row[6]).items()}
        target_db.execute(
            "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*row[:6], ormsgpack.packb(refs), row[7]),
        )
        for write in db.execute("SELECT * FROM writes WHERE head = ?", (row[3],)):
            moved_write = (*write[:5], move(write[5]))
            target_db.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?)", moved_write)
    for (info,) in db.execute("SELECT info FROM threads WHERE thread = ?", (thread,)):
        describe(target_db, thread, json.loads(info))


def drop_writes(
    db: sqlite3.Connection, key: CheckpointKey, task: str | None, channels: Collection[str]
) -> None:
    """Drop writes at a checkpoint: of one task or of all, to some channels or (empty) to all."""
    head = head_key(key)
    rows = db.execute("SELECT task, idx, channel FROM writes WHERE head = ?", (head,)).fetchall()
    unwanted = [
        (head, writer, index)
        for writer, index, channel in rows
        if task in (None, writer) and (not channels or channel in channels)
    ]
    db.executemany("DELETE FROM writes WHERE head = ? AND task = ? AND idx = ?", unwanted)


def delete_thread(db: sqlite3.Connection, thread: str) -> None:
    """Drop a thread's checkpoints, writes and description."""
    _drop(db, db.execute(f"{_KEYS} WHERE thread = ?", (thread,)).fetchall())
    db.execute("DELETE FROM threads WHERE thread = ?", (thread,))


def delete_for_runs(db: sqlite3.Connection, run_ids: Sequence[str]) -> None:
    """Drop the checkpoints whose metadata name one of the runs."""
    rows = db.execute(_KEYS).fetchall()
    _drop(db, (row for row in rows if json.loads(row[4]).get("run_id") in run_ids))


def _drop(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    for thread, ns, checkpoint, head, *_ in rows:
        db.execute("DELETE FROM writes WHERE head = ?", (head,))
        db.execute(
            "DELETE FROM checkpoints WHERE thread = ? AND ns = ? AND checkpoint = ?",
            (thread, ns, checkpoint),
        )


def prune(db: sqlite3.Connection, threads: Sequence[str], strategy: str) -> None:
    """Drop all checkpoints of the threads but the latest of each namespace, or all.

    What the latest's delta channels are rebuilt from is kept. A delta channel has a value in some
    checkpoints only; the others are rebuilt from the nearest ancestor that has one and from the
    writes since (LangGraph's `get_delta_channel_history`).
    """
    if strategy not in ("keep_latest", "delete"):
        raise BadInput(f"expected the strategy 'keep_latest' or 'delete', found {strategy!r}")
    for thread in map(str, threads):
        if strategy == "delete":
            delete_thread(db, thread)
            continue
        rows = db.execute(f"{_KEYS} WHERE thread = ?", (thread,)).fetchall()
        keep: set[tuple[str, str]] = set()
        for ns in {row[1] for row in rows}:
            line = {row[2]: row for row in rows if row[1] == ns}
            checkpoint = max(line)
            missing = set(
                json.loads(line[checkpoint][4]).get("counters_since_delta_snapshot") or ()
            )
            while checkpoint in line:
                *_, parent, refs = line[checkpoint]
                keep.add((ns, checkpoint))
                missing -= read_refs(refs).keys()
                if not missing:
                    break
                checkpoint = parent
        _drop(db, (row for row in rows if row[1:3] not in keep))


def sweep(db: sqlite3.Connection) -> None:
    """Drop the blobs and nodes that no checkpoint and no write refers to."""
    named: list[Ref] = [row[0] for row in db.execute("SELECT DISTINCT ref FROM writes")]
    for (packed,) in db.execute("SELECT refs FROM checkpoints"):
        named += read_refs(packed).values()
    refs = {ref for ref in named if isinstance(ref, int)}
    parents = {row[0]: (row[1], row[2]) for row in db.execute("SELECT id, parent, blob FROM nodes")}
    nodes: set[int] = set()
    blobs = {ref // 2 for ref in refs if not ref % 2}
    for ref in refs:
        node = ref // 2 if ref % 2 else 0
        while node and node not in nodes:
            nodes.add(node)
            node, blob = parents[node]
            blobs.add(blob)
    for table, keep in (("nodes", nodes), ("blobs", blobs)):
        rows: list[Any] = db.execute(f"SELECT id FROM {table}").fetchall()
        unused = [row for row in rows if row[0] not in keep]
        db.executemany(f"DELETE FROM {table} WHERE id = ?", unused)
