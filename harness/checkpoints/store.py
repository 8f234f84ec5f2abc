"""A LangGraph checkpoint saver that keeps each channel value once."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import sqlite3
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial, wraps
from importlib import import_module
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
from langgraph.checkpoint.serde import _msgpack, jsonplus
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from harness.checkpoints.database import ThreadDatabase, head_key, read_refs
from harness.checkpoints.values import (
    HELD,
    CheckpointKey,
    Held,
    Lost,
    Ref,
    Values,
    array_of,
    is_leaf,
    pack,
    same,
    unpack,
)

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_OPTION: int = (
    jsonplus._option & ~ormsgpack.OPT_REPLACE_SURROGATES  # pyright: ignore[reportPrivateUsage]  # the form of LangGraph's own
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
)
_Find = Callable[[str, str], Any]
_InMemory = dict[str, tuple[Any, bool]]
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
    """The asynchronous twin of a method, in the store's own thread."""

    @wraps(method)  # LangGraph gives `task_path` to those alone whose signature names it
    async def call(store: CheckpointStore, *args: Any, **kwargs: Any) -> Any:
        work = partial(getattr(store, method.__name__), *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(store.worker, work)

    return call


class StoreSerializer(JsonPlusSerializer):
    """LangGraph's msgpack; for a session, what it wrote is restored exactly.

    LangGraph drops what msgpack has no form for (tuples, subclasses of dict, private attributes),
    and refuses types that it was not told of. A session must not change what a graph does: what
    does not come back as it went is held in memory, too, as a copy where Python can make one, else
    as the object itself, across which nothing can be forked.
    """

    def __init__(self, find: _Find | None = None, held: _InMemory | None = None) -> None:
        """For a session, `find` gives its graph's types by module and name; `held` its values."""
        super().__init__(allowed_msgpack_modules=None, __unpack_ext_hook__=find and self._restore)
        self._find = find
        self.news: list[str] = []  # tokens of what is held since it was emptied last
        self._held: _InMemory = {} if held is None else held

    def knowing(self, find: _Find) -> StoreSerializer:
        """The serialiser of a session or for another version of its graph, which keeps the held."""
        return StoreSerializer(find, None if self._find is None else self._held)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Kind and bytes; what they do not restore is held in memory as well."""
        stored, exact = self.form(obj)
        if stored is not None and exact:
            return stored
        held, copied = obj, True
        try:
            held = copy.deepcopy(obj)
        except Exception:  # noqa: BLE001  # a user's type may fail in any way
            if isinstance(obj, BaseException) and stored is not None:
                return stored
            copied = False
        token = uuid.uuid4().hex
        self._held[token] = held, copied
        self.news.append(token)
        body = [token, type(obj).__name__, copied, stored and list(stored)]
        return HELD, ormsgpack.packb(body)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value: of one that is held a copy, or what could be stored of it."""
        if data[0] != HELD:
            return super().loads_typed(data)
        token, kind, copied, stored = ormsgpack.unpackb(data[1])
        if token in self._held:
            value = self._held[token][0]
            return copy.deepcopy(value) if copied else value
        return Lost(kind) if stored is None else super().loads_typed((stored[0], stored[1]))

    def peek(self, data: tuple[str, bytes]) -> Any:
        """The value; of one that is held its description, a :class:`Held`."""
        if data[0] != HELD:
            return self.loads_typed(data)
        token, kind, copied, stored = ormsgpack.unpackb(data[1])
        return Held(kind, bool(copied if token in self._held else stored))

    def form(self, obj: Any) -> tuple[tuple[str, bytes] | None, bool]:
        """LangGraph's form, None if it refuses the value, and whether that restores it."""
        if self._find is None or obj is None or type(obj) in (bytes, bytearray):
            return super().dumps_typed(obj), True
        with suppress(Exception):  # as above
            return ("msgpack", ormsgpack.packb(obj, default=_leaf, option=_OPTION)), True
        try:
            stored = super().dumps_typed(obj)
            restored = super().loads_typed(stored)
            return (None, False) if restored is None else (stored, same(obj, restored))
        except Exception:  # noqa: BLE001  # as above
            return None, False

    def _restore(self, code: int, data: bytes) -> Any:
        """An extension of LangGraph's msgpack: its constructors, for the graph's own types too."""
        option = ormsgpack.OPT_NON_STR_KEYS
        content: Any = ormsgpack.unpackb(data, ext_hook=self._restore, option=option)
        if code == jsonplus.EXT_DELTA_SNAPSHOT:
            return jsonplus._DeltaSnapshot(content)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]  # it has no other name
        if code == jsonplus.EXT_NUMPY_ARRAY:
            return array_of(*content)
        module, name, payload, *method = content
        make = self._find(module, name) if self._find else None
        try:
            if make is None and (module, name) in _msgpack.SAFE_MSGPACK_TYPES:
                make = getattr(import_module(module), name)
            if make is None:
                return payload
            if code == jsonplus.EXT_METHOD_SINGLE_ARG:
                safe = (module, name, method[0]) in _msgpack.SAFE_MSGPACK_METHODS
                return getattr(make, method[0])(payload) if safe else payload
            if code == jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG:
                return make(payload)
            if code == jsonplus.EXT_CONSTRUCTOR_POS_ARGS:
                if (module, name) != ("langgraph.types", "Send"):
                    return make(*payload)
                return make(*payload[:2], **({"timeout": payload[2]} if payload[2:] else {}))
            try:
                return make(**payload)
            except Exception:  # noqa: BLE001  # a validator of an older state: as LangGraph does
                return getattr(make, "model_construct", make.construct)(**payload)
        except Exception:  # noqa: BLE001  # a type that has changed: its data, as LangGraph does
            return payload


def _leaf(part: Any) -> Any:
    if not is_leaf(part):
        raise TypeError(type(part).__name__)
    return jsonplus._msgpack_default(part)  # pyright: ignore[reportPrivateUsage]  # as above


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
        serde = serde or StoreSerializer()
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
        configurable = config.get("configurable", {})
        keys = {
            "thread_id": str(configurable["thread_id"]),  # without one any thread would match
            "checkpoint_ns": str(configurable.get("checkpoint_ns", "")),
            "checkpoint_id": configurable.get("checkpoint_id") or None,
        }
        with self._reading() as db:
            row = next(self._search(db, keys), None)
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
        configurable = config.get("configurable", {}) if config is not None else {}
        end = get_checkpoint_id(before) if before else None
        with self._reading() as db:
            rows = [row[:3] for row in islice(self._search(db, configurable, filter, end), limit)]
        for row in rows:
            saved = self.get_tuple(config_at(*row))
            if saved is not None:  # else it was deleted meanwhile
                yield saved

    def _search(
        self,
        db: sqlite3.Connection,
        configurable: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        before: str | None = None,
    ) -> Iterator[Any]:
        """Rows that match, newest first; `metadata` are fields and their values."""
        tests = {
            "thread = ?": configurable.get("thread_id"),
            "ns = ?": configurable.get("checkpoint_ns"),
            "checkpoint = ?": configurable.get("checkpoint_id"),
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
        configurable = config.get("configurable", {})
        thread, ns = str(configurable["thread_id"]), str(configurable.get("checkpoint_ns", ""))
        key: CheckpointKey = (thread, ns, checkpoint["id"])
        parent = configurable.get("checkpoint_id")
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
        configurable = config.get("configurable", {})
        ns = str(configurable.get("checkpoint_ns", ""))
        head = head_key((str(configurable["thread_id"]), ns, str(configurable["checkpoint_id"])))
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
