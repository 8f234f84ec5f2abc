"""Checkpoints and writes as rows."""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import ormsgpack

from harness.checkpoints.keys import CheckpointKey, head_key
from harness.checkpoints.packing import pack, unpack
from harness.checkpoints.values import Ref, Values

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

RECENT = 256
"""Checkpoints whose references are kept, so that a child can share them without a query."""

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


class Step(NamedTuple):
    """The arguments of LangGraph's `put`."""

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: ChannelVersions


class Task(NamedTuple):
    """Who writes; `replace` where a repeated write (an error, an interrupt) takes over."""

    id: str
    path: str
    replace: bool


class Recent:
    """Versions and references of the latest checkpoints."""

    def __init__(self) -> None:
        self._known: OrderedDict[CheckpointKey, tuple[dict[str, Any], dict[str, Ref]]] = (
            OrderedDict()
        )

    def clear(self) -> None:
        """Forget them."""
        self._known.clear()

    def get(self, key: CheckpointKey) -> tuple[dict[str, Any], dict[str, Ref]]:
        """Channel versions and references of a checkpoint; empty if it is not among them."""
        return self._known.get(key, ({}, {}))

    def add(self, key: CheckpointKey, versions: dict[str, Any], refs: dict[str, Ref]) -> None:
        """Remember one."""
        self._known[key] = (versions, refs)
        if len(self._known) > RECENT:
            self._known.popitem(last=False)


def _key(config: RunnableConfig, checkpoint: str) -> CheckpointKey:
    place = config.get("configurable", {})
    return str(place["thread_id"]), str(place.get("checkpoint_ns", "")), checkpoint


def save(
    db: sqlite3.Connection,
    values: Values,
    recent: Recent,
    serde: SerializerProtocol,
    step: Step,
) -> RunnableConfig:
    """Write one checkpoint; the config that names it."""
    from langgraph.checkpoint.base import get_checkpoint_metadata

    thread, ns, checkpoint_id = key = _key(step.config, step.checkpoint["id"])
    parent = step.config.get("configurable", {}).get("checkpoint_id")
    versions = step.checkpoint["channel_versions"]
    seen, known = recent.get((thread, ns, parent)) if parent else ({}, {})
    refs: dict[str, Ref] = {}
    for channel, value in step.checkpoint["channel_values"].items():
        inherited = channel in known and channel not in step.new_versions
        if inherited and seen.get(channel) == versions.get(channel):
            refs[channel] = known[channel]
        else:
            refs[channel] = values.put(db, value, (thread, ns, channel))
    header = {name: part for name, part in step.checkpoint.items() if name != "channel_values"}
    kind, data = serde.dumps_typed(header)
    packed, stored = pack(kind.encode() + b"\0" + data)
    metadata = json.dumps(get_checkpoint_metadata(step.config, step.metadata), ensure_ascii=False)
    db.execute(
        "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *key,
            head_key(key),
            parent,
            (b"\1" if packed else b"\0") + stored,
            ormsgpack.packb(refs),
            metadata,
        ),
    )
    recent.add(key, dict(versions), refs)
    return _config(thread, ns, checkpoint_id)


def save_writes(
    db: sqlite3.Connection,
    values: Values,
    config: RunnableConfig,
    task: Task,
    writes: Sequence[tuple[int, str, Any]],
) -> None:
    """Write what a task wrote; a write that is there already stays, unless `task.replace`."""
    key = _key(config, str(config.get("configurable", {})["checkpoint_id"]))
    head = head_key(key)
    clause = "REPLACE" if task.replace else "IGNORE"
    db.executemany(
        f"INSERT OR {clause} INTO writes VALUES (?, ?, ?, ?, ?, ?)",
        [
            (head, task.id, index, task.path, channel, values.put(db, value))
            for index, channel, value in writes
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
    wanted: dict[str, Any] | None,
    before: str | None,
    limit: int | None,
) -> list[Row]:
    """Rows that match, newest first; `wanted` are metadata fields and their values."""
    tests: list[tuple[str, Any]] = []
    place = config.get("configurable", {}) if config is not None else {}
    for column, name in (
        ("thread", "thread_id"),
        ("ns", "checkpoint_ns"),
        ("checkpoint", "checkpoint_id"),
    ):
        if place.get(name) is not None:
            tests.append((f"{column} = ?", str(place[name])))
    if before is not None:
        tests.append(("checkpoint < ?", before))
    where = "WHERE " + " AND ".join(test for test, _ in tests) if tests else ""
    arguments = [argument for _, argument in tests]
    found: list[Row] = []
    for row in db.execute(f"{_ROW} {where} ORDER BY checkpoint DESC", arguments):
        if limit is not None and len(found) >= limit:
            break
        if not wanted or _matches(json.loads(row[7]), wanted):
            found.append(Row(*row))
    return found


def _matches(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())


def again(db: sqlite3.Connection, row: Row) -> Row | None:
    """A row found earlier as it is now; None if it was deleted."""
    return find(db, _config(row.thread, row.ns, row.checkpoint))


def load(
    db: sqlite3.Connection, values: Values, serde: SerializerProtocol, row: Row
) -> CheckpointTuple:
    """A row with its values and pending writes."""
    from langgraph.checkpoint.base import CheckpointTuple

    refs = cast("dict[str, Ref]", ormsgpack.unpackb(row.refs))
    writes = db.execute(
        "SELECT task, channel, ref FROM writes WHERE head = ? ORDER BY path, task, idx",
        (row.head,),
    ).fetchall()
    found = values.get(db, [*refs.values(), *(ref for _, _, ref in writes)])
    checkpoint = _header(serde, row.header)
    checkpoint["channel_values"] = dict(zip(refs, found, strict=False))
    written = zip(writes, found[len(refs) :], strict=True)
    pending = [(task, channel, value) for (task, channel, _), value in written]
    parent = _config(row.thread, row.ns, row.parent) if row.parent else None
    return CheckpointTuple(
        _config(row.thread, row.ns, row.checkpoint),
        cast("Checkpoint", checkpoint),
        json.loads(row.metadata),
        parent,
        pending,
    )


def _header(serde: SerializerProtocol, stored: bytes) -> dict[str, Any]:
    data = unpack(stored[1:]) if stored[0] else stored[1:]
    kind, _, body = data.partition(b"\0")
    return serde.loads_typed((kind.decode(), body))


def _config(thread: str, ns: str, checkpoint: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}
