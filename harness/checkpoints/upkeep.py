"""Deleting, copying and sweeping."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, cast

import ormsgpack

from harness.checkpoints.keys import CheckpointKey, head_key
from harness.checkpoints.values import Ref
from harness.core import BadInput

_KEYS = "SELECT thread, ns, checkpoint, head, metadata, parent, refs FROM checkpoints"


def delete_thread(db: sqlite3.Connection, thread: str) -> None:
    """Drop a thread's checkpoints, writes and description."""
    _drop(db, db.execute(f"{_KEYS} WHERE thread = ?", (thread,)).fetchall())
    db.execute("DELETE FROM threads WHERE thread = ?", (thread,))


def delete_for_runs(db: sqlite3.Connection, run_ids: Sequence[str]) -> None:
    """Drop the checkpoints whose metadata name one of the runs."""
    runs = set(run_ids)
    rows = db.execute(f"{_KEYS}")
    _drop(db, [row for row in rows if json.loads(row[4]).get("run_id") in runs])


def _drop(db: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    unwanted = list(rows)
    db.executemany("DELETE FROM writes WHERE head = ?", [(row[3],) for row in unwanted])
    db.executemany(
        "DELETE FROM checkpoints WHERE thread = ? AND ns = ? AND checkpoint = ?",
        [row[:3] for row in unwanted],
    )


def copy_thread(db: sqlite3.Connection, source: str, target: str) -> None:
    """Copy every checkpoint and write; a target that exists is added to."""
    for row in db.execute(f"{_KEYS} WHERE thread = ?", (source,)).fetchall():
        copy_checkpoint(db, (source, row[1], row[2]), target)


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


def prune(db: sqlite3.Connection, threads: Sequence[str], strategy: str) -> None:
    """Drop all checkpoints of the threads but the latest of each namespace, or all."""
    if strategy not in ("keep_latest", "delete"):
        raise BadInput(f"expected the strategy 'keep_latest' or 'delete', found {strategy!r}")
    for thread in threads:
        if strategy == "delete":
            delete_thread(db, str(thread))
            continue
        rows = db.execute(f"{_KEYS} WHERE thread = ?", (str(thread),)).fetchall()
        keep: set[str] = set()
        for ns in {row[1] for row in rows}:
            keep |= _needed({row[2]: row for row in rows if row[1] == ns})
        _drop(db, [row for row in rows if row[2] not in keep])


def _needed(rows: dict[str, tuple[Any, ...]]) -> set[str]:
    """The latest of a namespace's checkpoints, and what its delta channels are rebuilt from.

    A delta channel has a value in some checkpoints only; the others are rebuilt from the nearest
    ancestor that has one and from the writes since (LangGraph's `get_delta_channel_history`).
    """
    checkpoint: str | None = max(rows)
    keep: set[str] = set()
    missing: set[str] | None = None
    while checkpoint in rows:
        *_, metadata, parent, refs = rows[checkpoint]
        keep.add(checkpoint)
        if missing is None:
            missing = set(json.loads(metadata).get("counters_since_delta_snapshot") or ())
        missing -= set(cast("dict[str, Ref]", ormsgpack.unpackb(refs)))
        if not missing:
            break
        checkpoint = parent
    return keep


def sweep(db: sqlite3.Connection) -> None:
    """Drop the blobs and nodes that no checkpoint and no write refers to."""
    named: list[Ref] = [row[0] for row in db.execute("SELECT DISTINCT ref FROM writes")]
    for (packed,) in db.execute("SELECT refs FROM checkpoints"):
        named += cast("dict[str, Ref]", ormsgpack.unpackb(packed)).values()
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
    _keep_only(db, "nodes", nodes)
    _keep_only(db, "blobs", blobs)


def _keep_only(db: sqlite3.Connection, table: str, keep: set[int]) -> None:
    unused: list[Any] = [row for row in db.execute(f"SELECT id FROM {table}") if row[0] not in keep]
    db.executemany(f"DELETE FROM {table} WHERE id = ?", unused)
