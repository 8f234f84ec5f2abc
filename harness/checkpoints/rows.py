"""Checkpoints and writes as rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import ormsgpack
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    get_checkpoint_metadata,
)

from harness.checkpoints.database import CheckpointKey, head_key
from harness.checkpoints.values import Ref, Values, pack, unpack

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

_ROW = "SELECT thread, ns, checkpoint, head, parent, header, refs, metadata FROM checkpoints"


class Row(NamedTuple):
    """A checkpoint as it is stored."""

    thread: str
    ns: str
    checkpoint: str
    head: int
    parent: str | None
    header: bytes
    refs: bytes
    metadata: str


def config_of(thread: str, ns: str, checkpoint: str) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}


def read_refs(packed: bytes) -> dict[str, Ref]:
    """References by channel."""
    return cast("dict[str, Ref]", ormsgpack.unpackb(packed))


def save(
    db: sqlite3.Connection,
    values: Values,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
) -> RunnableConfig:
    """Write one checkpoint; the config that names it."""
    place = config.get("configurable", {})
    thread, ns = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    key: CheckpointKey = (thread, ns, checkpoint["id"])
    parent = place.get("checkpoint_id")
    versions = checkpoint["channel_versions"]
    parent_versions, parent_refs = values.recent((thread, ns, parent)) if parent else ({}, {})
    refs: dict[str, Ref] = {}
    for channel, value in checkpoint["channel_values"].items():
        inherited = channel in parent_refs and channel not in new_versions
        if inherited and parent_versions.get(channel) == versions.get(channel):
            refs[channel] = parent_refs[channel]
        else:
            refs[channel] = values.put(db, value, (thread, ns, channel))
    header = {name: part for name, part in checkpoint.items() if name != "channel_values"}
    kind, data = values.serde.dumps_typed(header)
    packed, stored = pack(kind.encode() + b"\0" + data)
    row = Row(
        *key,
        head_key(key),
        parent,
        (b"\1" if packed else b"\0") + stored,
        ormsgpack.packb(refs),
        json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False),
    )
    db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    values.remember(key, dict(versions), refs)
    return config_of(*key)


def save_writes(
    db: sqlite3.Connection,
    values: Values,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task: str,
    path: str,
) -> None:
    """Write what a task wrote.

    A write that is there already stays; LangGraph's own (errors, interrupts) take over.
    """
    place = config.get("configurable", {})
    ns = str(place.get("checkpoint_ns", ""))
    head = head_key((str(place["thread_id"]), ns, str(place["checkpoint_id"])))
    clause = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"
    db.executemany(
        f"INSERT OR {clause} INTO writes VALUES (?, ?, ?, ?, ?, ?)",
        [
            (head, task, WRITES_IDX_MAP.get(channel, index), path, channel, values.put(db, value))
            for index, (channel, value) in enumerate(writes)
        ],
    )


def find(db: sqlite3.Connection, config: RunnableConfig) -> Row | None:
    """The row of the checkpoint that `config` names, or of the latest in its namespace."""
    place = config.get("configurable", {})
    where = "WHERE thread = ? AND ns = ?"
    arguments = [str(place["thread_id"]), str(place.get("checkpoint_ns", ""))]
    if place.get("checkpoint_id"):
        where += " AND checkpoint = ?"
        arguments.append(str(place["checkpoint_id"]))
    row = db.execute(f"{_ROW} {where} ORDER BY checkpoint DESC LIMIT 1", arguments).fetchone()
    return None if row is None else Row(*row)


def search(
    db: sqlite3.Connection,
    config: RunnableConfig | None,
    metadata: dict[str, Any] | None,
    before: str | None,
    limit: int | None,
) -> list[Row]:
    """Rows that match, newest first; `metadata` are fields and their values."""
    place = config.get("configurable", {}) if config is not None else {}
    columns = {"thread": "thread_id", "ns": "checkpoint_ns", "checkpoint": "checkpoint_id"}
    tests = [
        (f"{column} = ?", str(place[name]))
        for column, name in columns.items()
        if place.get(name) is not None
    ]
    if before is not None:
        tests.append(("checkpoint < ?", before))
    where = "WHERE " + " AND ".join(test for test, _ in tests) if tests else ""
    matches: list[Row] = []
    for values in db.execute(
        f"{_ROW} {where} ORDER BY checkpoint DESC", [argument for _, argument in tests]
    ):
        if limit is not None and len(matches) >= limit:
            break
        row = Row(*values)
        stored: dict[str, Any] = json.loads(row.metadata) if metadata else {}
        if all(stored.get(name) == value for name, value in (metadata or {}).items()):
            matches.append(row)
    return matches


def load(db: sqlite3.Connection, values: Values, row: Row) -> CheckpointTuple:
    """A row with its values and pending writes."""
    refs = read_refs(row.refs)
    writes = db.execute(
        "SELECT task, channel, ref FROM writes WHERE head = ? ORDER BY path, task, idx",
        (row.head,),
    ).fetchall()
    loaded = values.get(db, [*refs.values(), *(ref for _, _, ref in writes)])
    kind, _, body = unpack(row.header[0] == 1, row.header[1:]).partition(b"\0")
    checkpoint = values.serde.loads_typed((kind.decode(), body))
    checkpoint["channel_values"] = dict(zip(refs, loaded, strict=False))
    written = zip(writes, loaded[len(refs) :], strict=True)
    return CheckpointTuple(
        config_of(row.thread, row.ns, row.checkpoint),
        checkpoint,
        json.loads(row.metadata),
        config_of(row.thread, row.ns, row.parent) if row.parent else None,
        [(task, channel, value) for (task, channel, _), value in written],
    )
