"""Threads as a whole: what is in a store, what is known of them, how one moves to another file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple, cast

import ormsgpack

from harness.checkpoints.keys import head_key
from harness.checkpoints.upkeep import copy_checkpoint
from harness.checkpoints.values import Ref, Values
from harness.core import BadInput

Side = tuple[sqlite3.Connection, Values]
"""One end of a transfer: a connection inside a transaction, and the values behind it."""


class Outline(NamedTuple):
    """A checkpoint without its values."""

    ns: str
    checkpoint: str
    parent: str | None
    metadata: dict[str, Any]


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
    rows = db.execute(
        "SELECT ns, checkpoint, task, path, channel FROM writes "
        "JOIN checkpoints ON checkpoints.head = writes.head WHERE thread = ? "
        "ORDER BY checkpoint, path, task, idx",
        (thread,),
    )
    found: dict[tuple[str, str], dict[str, tuple[str, list[str]]]] = {}
    for ns, checkpoint, task, path, channel in rows:
        found.setdefault((ns, checkpoint), {}).setdefault(task, (path, []))[1].append(channel)
    return found


class Written(NamedTuple):
    """A write without its value."""

    ns: str
    checkpoint: str
    task: str
    channel: str
    ref: Ref


def written(db: sqlite3.Connection, thread: str) -> list[Written]:
    """Every write of a thread to a key of the state, oldest checkpoint first."""
    rows = db.execute(
        "SELECT ns, checkpoint, task, channel, ref FROM writes "
        "JOIN checkpoints ON checkpoints.head = writes.head WHERE thread = ? "
        "ORDER BY checkpoint, path, task, idx",
        (thread,),
    )
    hidden = ("__", "branch:", "join:")
    return [Written(*row) for row in rows if not row[3].startswith(hidden)]


def copy_some(
    db: sqlite3.Connection, source: str, target: str, wanted: Collection[tuple[str, str]]
) -> None:
    """Copy the checkpoints of `wanted` (namespace, id) with their writes to another thread."""
    for ns, checkpoint in wanted:
        copy_checkpoint(db, (source, ns, checkpoint), target)


def drop_writes(
    db: sqlite3.Connection, key: tuple[str, str, str], task: str | None, channels: Collection[str]
) -> None:
    """Drop writes at a checkpoint: of one task or of all, to some channels or (empty) to all."""
    head = head_key(key)
    query = "SELECT task, idx, channel FROM writes WHERE head = ?"
    unwanted = [
        (head, found, index)
        for found, index, channel in db.execute(query, (head,)).fetchall()
        if task in (None, found) and (not channels or channel in channels)
    ]
    db.executemany("DELETE FROM writes WHERE head = ? AND task = ? AND idx = ?", unwanted)


def known(db: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    """Thread ids, oldest first, each with its description."""
    rows = db.execute(
        "SELECT thread FROM checkpoints GROUP BY thread "
        "ORDER BY min(checkpoint), length(thread), thread"
    )
    found: dict[str, dict[str, Any]] = {row[0]: {} for row in rows}
    for thread, info in db.execute("SELECT thread, info FROM threads"):
        found[thread] = json.loads(info)
    return found


def describe(db: sqlite3.Connection, thread: str, info: dict[str, Any]) -> None:
    """Replace a thread's description."""
    db.execute("INSERT OR REPLACE INTO threads VALUES (?, ?)", (thread, json.dumps(info)))


def check_known(db: sqlite3.Connection, thread: str, path: Path) -> None:
    """Raise unless the thread has a checkpoint."""
    threads = known(db)
    if thread not in threads:
        raise BadInput(
            f"expected a thread of {str(path)!r}, found {thread!r}; it has {sorted(threads)[:10]}"
        )


def check_export(path: Path) -> None:
    """Raise if there is a file already."""
    if path.exists():
        raise BadInput(f"expected a new file, found {str(path)!r}; remove it or name another")


def transfer(source: Side, target: Side, thread: str) -> None:
    """Copy a thread from one store into another."""
    db, values = source
    found = db.execute("SELECT * FROM checkpoints WHERE thread = ?", (thread,)).fetchall()
    moved: dict[int, int] = {}

    def move(ref: Ref) -> Ref:
        if isinstance(ref, bytes):
            return ref
        if ref not in moved:
            items = values.raw(db, ref)
            moved[ref] = target[1].put_raw(target[0], items, split=bool(ref % 2))
        return moved[ref]

    for row in found:
        refs = cast("dict[str, Ref]", ormsgpack.unpackb(row[6]))
        packed = ormsgpack.packb({channel: move(ref) for channel, ref in refs.items()})
        target[0].execute(
            "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*row[:6], packed, row[7]),
        )
        for write in db.execute("SELECT * FROM writes WHERE head = ?", (row[3],)):
            target[0].execute(
                "INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?)", (*write[:5], move(write[5]))
            )
    for row in db.execute("SELECT info FROM threads WHERE thread = ?", (thread,)):
        describe(target[0], thread, json.loads(row[0]))
