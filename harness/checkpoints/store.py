"""A LangGraph checkpoint saver that keeps each channel value once."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ormsgpack

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from harness.checkpoints.database import ThreadDatabase, head_key, read_refs
from harness.checkpoints.held import StoreSerializer
from harness.checkpoints.values import CheckpointKey, Ref, Values, pack, unpack

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_ROW = "SELECT thread, ns, checkpoint, head, parent, header, refs, metadata FROM checkpoints"


@contextmanager
def open_store(path: Path) -> Generator[CheckpointStore]:
    """The checkpoint store in the file `path`, created if it is not there.

    Raises:
        BadInput: if the file is something else.
    """
    store = CheckpointStore(path)
    try:
        yield store
    finally:
        store.close()


@asynccontextmanager
async def open_saver(path: Path) -> AsyncGenerator[CheckpointStore]:
    """:func:`open_store`, for code that runs in an event loop."""
    with open_store(path) as store:
        yield store


def config_at(thread: str, ns: str, checkpoint: str | None) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint}}


def _in_worker(method: Callable[..., Any]) -> Any:
    """The asynchronous twin of a method: the method, in the store's own thread.

    It has the same signature: LangGraph gives `task_path` to those alone that name it.
    """

    @wraps(method)
    async def call(store: CheckpointStore, *args: Any, **kwargs: Any) -> Any:
        work = partial(getattr(store, method.__name__), *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(store.worker, work)

    return call


class CheckpointStore(ThreadDatabase, BaseCheckpointSaver[Any]):
    """Checkpoints in one SQLite file; for synchronous and asynchronous graphs alike.

    A channel that a step did not write (by `new_versions`) keeps its parent's reference, so a
    value that a node changed in place, without returning it, is not saved.

    Attributes:
        worker: the thread in which the asynchronous methods run, one after the other.

    Example:
        with open_store(Path("checkpoints.sqlite")) as store:
            graph = builder.compile(checkpointer=store)
    """

    def __init__(self, path: Path, *, serde: SerializerProtocol | None = None) -> None:
        """Open or create `path`.

        Args:
            path: the file; a folder that does not exist is an error of SQLite's.
            serde: by default msgpack that restores plain values and LangGraph's own types only
                (strict msgpack), whatever the environment says.

        Raises:
            BadInput: if the file is something else.
        """
        serde = serde or StoreSerializer(allowed_msgpack_modules=None)
        super().__init__(path, Values(split_lists=isinstance(serde, JsonPlusSerializer)))
        super(ThreadDatabase, self).__init__(serde=serde)  # LangGraph's part
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")

    def close(self) -> None:
        """Close the file. What is still queued is written first."""
        self.worker.shutdown()
        super().close()

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The number behind `current`; versions of other savers (text) stay text."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.0"
        return 1 if current is None else current + 1

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest."""
        named = config.get("configurable", {})
        place = {
            "thread_id": str(named["thread_id"]),  # without one any thread would match
            "checkpoint_ns": str(named.get("checkpoint_ns", "")),
            "checkpoint_id": named.get("checkpoint_id") or None,
        }
        with self._reading() as db:
            row = next(self._search(db, place), None)
            if row is None:
                return None
            thread, ns, checkpoint_id, head, parent, header, packed, metadata = row
            refs = read_refs(packed)
            writes = db.execute(
                "SELECT task, channel, ref FROM writes WHERE head = ? ORDER BY path, task, idx",
                (head,),
            ).fetchall()
            all_refs = [*refs.values(), *(ref for _, _, ref in writes)]
            loaded = self._stored_values.get(db, self.serde, all_refs)
            kind, _, body = unpack(header[0] == 1, header[1:]).partition(b"\0")
            checkpoint = self.serde.loads_typed((kind.decode(), body))
            checkpoint["channel_values"] = dict(zip(refs, loaded, strict=False))
            written = zip(writes, loaded[len(refs) :], strict=True)
            return CheckpointTuple(
                config_at(thread, ns, checkpoint_id),
                checkpoint,
                json.loads(metadata),
                config_at(thread, ns, parent) if parent else None,
                [(task, channel, value) for (task, channel, _), value in written],
            )

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; each is read when it is asked for."""
        place = config.get("configurable", {}) if config is not None else {}
        end = get_checkpoint_id(before) if before else None
        with self._reading() as db:
            rows = [row[:3] for row in islice(self._search(db, place, filter, end), limit)]
        for row in rows:
            saved = self.get_tuple(config_at(*row))
            if saved is not None:  # else it was deleted meanwhile
                yield saved

    def _search(
        self,
        db: sqlite3.Connection,
        place: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        before: str | None = None,
    ) -> Iterator[Any]:
        """Rows that match, newest first; `metadata` are fields and their values."""
        tests = {
            "thread = ?": place.get("thread_id"),
            "ns = ?": place.get("checkpoint_ns"),
            "checkpoint = ?": place.get("checkpoint_id"),
            "checkpoint < ?": before,
        }
        tests = {test: str(value) for test, value in tests.items() if value is not None}
        where = " AND ".join(tests) or "true"
        query = f"{_ROW} WHERE {where} ORDER BY checkpoint DESC"
        for row in db.execute(query, [*tests.values()]):
            stored: dict[str, Any] = json.loads(row[7]) if metadata else {}
            if all(stored.get(name) == value for name, value in (metadata or {}).items()):
                yield row

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save one checkpoint; on disk when it returns."""
        place = config.get("configurable", {})
        thread, ns = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
        key: CheckpointKey = (thread, ns, checkpoint["id"])
        parent = place.get("checkpoint_id")
        versions = checkpoint["channel_versions"]
        header = {name: part for name, part in checkpoint.items() if name != "channel_values"}
        kind, data = self.serde.dumps_typed(header)
        packed, stored = pack(kind.encode() + b"\0" + data)
        refs: dict[str, Ref] = {}
        with self._transaction() as db:
            values = self._stored_values
            parent_versions, parent_refs = values.recent((thread, ns, parent or ""))
            for channel, value in checkpoint["channel_values"].items():
                inherited = channel in parent_refs and channel not in new_versions
                if inherited and parent_versions.get(channel) == versions.get(channel):
                    refs[channel] = parent_refs[channel]
                else:
                    refs[channel] = values.put(db, self.serde, value, (thread, ns, channel))
            row = (
                *key,
                head_key(key),
                parent,
                (b"\1" if packed else b"\0") + stored,
                ormsgpack.packb(refs),
                json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False),
            )
            db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            values.remember(key, dict(versions), refs)
        return config_at(*key)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote.

        A write that is there already stays; LangGraph's own (errors, interrupts) take over.
        """
        place = config.get("configurable", {})
        ns = str(place.get("checkpoint_ns", ""))
        head = head_key((str(place["thread_id"]), ns, str(place["checkpoint_id"])))
        clause = "REPLACE" if all(channel in WRITES_IDX_MAP for channel, _ in writes) else "IGNORE"
        with self._transaction() as db:
            rows = [
                (
                    *(head, task_id, WRITES_IDX_MAP.get(channel, index), task_path, channel),
                    self._stored_values.put(db, self.serde, value),
                )
                for index, (channel, value) in enumerate(writes)
            ]
            db.executemany(f"INSERT OR {clause} INTO writes VALUES (?, ?, ?, ?, ?, ?)", rows)

    def values(self, refs: Sequence[Ref]) -> Sequence[Any]:
        """The values behind the references of :meth:`writes`; equal references, equal values."""
        with self._reading() as db:
            return self._stored_values.get(db, self.serde, refs)

    aget_tuple = _in_worker(get_tuple)
    aput = _in_worker(put)
    aput_writes = _in_worker(put_writes)
    adelete_thread = _in_worker(ThreadDatabase.delete_thread)
    adelete_for_runs = _in_worker(ThreadDatabase.delete_for_runs)
    acopy_thread = _in_worker(ThreadDatabase.copy_thread)
    aprune = _in_worker(ThreadDatabase.prune)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`."""
        listing = self.list(config, filter=filter, before=before, limit=limit)
        loop, following = asyncio.get_running_loop(), partial(next, listing, None)
        while (saved := await loop.run_in_executor(self.worker, following)) is not None:
            yield saved
