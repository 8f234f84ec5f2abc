"""Deleting, copying and sweeping."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, cast

import ormsgpack

from harness.checkpoints.rows import head_of
from harness.core import BadInput


def delete_thread(db: sqlite3.Connection, thread: str) -> None:
    """Drop a thread's checkpoints, writes and description."""
    heads = [row[0] for row in db.execute("SELECT id FROM heads WHERE thread = ?", (thread,))]
    _drop(db, heads)
    db.execute("DELETE FROM threads WHERE thread = ?", (thread,))


def delete_for_runs(db: sqlite3.Connection, run_ids: Sequence[str]) -> None:
    """Drop the checkpoints whose metadata name one of the runs."""
    runs = set(run_ids)
    rows = db.execute("SELECT head, metadata FROM checkpoints")
    _drop(db, [head for head, metadata in rows if json.loads(metadata).get("run_id") in runs])


def _drop(db: sqlite3.Connection, heads: Iterable[int]) -> None:
    marks = [(head,) for head in heads]
    for table, column in (("checkpoints", "head"), ("writes", "head"), ("heads", "id")):
        db.executemany(f"DELETE FROM {table} WHERE {column} = ?", marks)


def copy_thread(db: sqlite3.Connection, source: str, target: str) -> None:
    """Copy every checkpoint and write; a target that exists is added to."""
    rows = db.execute("SELECT id, ns, checkpoint FROM heads WHERE thread = ?", (source,)).fetchall()
    for head, ns, checkpoint in rows:
        copy_checkpoint(db, head, (target, ns, checkpoint))


def copy_checkpoint(db: sqlite3.Connection, head: int, key: tuple[str, str, str]) -> None:
    """Copy one checkpoint with its writes to another thread."""
    number = head_of(db, key)
    db.execute(
        "INSERT OR REPLACE INTO checkpoints SELECT ?, parent, header, refs, metadata "
        "FROM checkpoints WHERE head = ?",
        (number, head),
    )
    db.execute(
        "INSERT OR REPLACE INTO writes SELECT ?, task, idx, path, channel, ref "
        "FROM writes WHERE head = ?",
        (number, head),
    )


def prune(db: sqlite3.Connection, threads: Sequence[str], strategy: str) -> None:
    """Drop all checkpoints of the threads but the latest of each namespace, or all."""
    if strategy not in ("keep_latest", "delete"):
        raise BadInput(f"expected the strategy 'keep_latest' or 'delete', found {strategy!r}")
    for thread in threads:
        if strategy == "delete":
            delete_thread(db, str(thread))
            continue
        query = "SELECT id, ns, checkpoint FROM heads WHERE thread = ? ORDER BY checkpoint"
        rows = db.execute(query, (str(thread),)).fetchall()
        keep: set[int] = set()
        for ns in {row[1] for row in rows}:
            keep |= _needed(db, {row[2]: row[0] for row in rows if row[1] == ns})
        _drop(db, [row[0] for row in rows if row[0] not in keep])


def _needed(db: sqlite3.Connection, heads: dict[str, int]) -> set[int]:
    """The latest of a namespace's heads, and what its delta channels are rebuilt from.

    A delta channel has a value in some checkpoints only; the others are rebuilt from the nearest
    ancestor that has one and from the writes since (LangGraph's `get_delta_channel_history`).
    """
    query = "SELECT parent, refs, metadata FROM checkpoints WHERE head = ?"
    checkpoint: str | None = max(
        (name for name, head in heads.items() if db.execute(query, (head,)).fetchone()),
        default=None,
    )
    keep: set[int] = set()
    missing: set[str] | None = None
    while checkpoint in heads:
        head = heads[checkpoint]
        row = db.execute(query, (head,)).fetchone()
        if row is None:
            break
        keep.add(head)
        parent, refs, metadata = row
        if missing is None:
            missing = set(json.loads(metadata).get("counters_since_delta_snapshot") or ())
        missing -= set(cast("dict[str, int]", ormsgpack.unpackb(refs)))
        if not missing:
            break
        checkpoint = parent
    return keep


def sweep(db: sqlite3.Connection) -> None:
    """Drop the blobs and nodes that no checkpoint and no write refers to."""
    refs: set[int] = {row[0] for row in db.execute("SELECT DISTINCT ref FROM writes")}
    for (packed,) in db.execute("SELECT refs FROM checkpoints"):
        refs.update(cast("dict[str, int]", ormsgpack.unpackb(packed)).values())
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
