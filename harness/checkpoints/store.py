"""A LangGraph checkpoint saver that keeps each channel value once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Generator,
    Iterator,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from harness.checkpoints import rows, threads
from harness.checkpoints.database import Database
from harness.checkpoints.values import Ref, Values
from harness.core import BadInput

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")


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


def _in_worker(name: str) -> Any:
    """The asynchronous twin of a method: the method, in the store's own thread."""

    async def call(store: CheckpointStore, *args: Any, **kwargs: Any) -> Any:
        method = partial(getattr(store, name), *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(store.worker, method)

    return call


class CheckpointStore(BaseCheckpointSaver[Any]):
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
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self._database = Database(path)
        self._values = Values(self.serde, split_lists=isinstance(self.serde, JsonPlusSerializer))

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Close the file. What is still queued is written first."""
        self.worker.shutdown()
        self._database.close()

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The number behind `current`; versions of other savers (text) stay text."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.0"
        return 1 if current is None else current + 1

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> CheckpointStore:
        """The same store, restoring the types of a graph's state schema too (LangGraph asks)."""
        clone = cast("CheckpointStore", super().with_allowlist(extra_allowlist))
        if clone is not self:
            clone._values = self._values.with_serde(clone.serde)
        return clone

    def _read(self, action: Callable[[Any], T]) -> T:
        with self._database.reading() as db:
            if self._database.changed():
                self._values.forget()
            return action(db)

    def _write(self, action: Callable[[Any], T]) -> T:
        with self._database.lock:
            try:
                with self._database.transaction() as db:
                    if self._database.changed():
                        self._values.forget()
                    return action(db)
            except BaseException:
                self._values.forget()
                raise

    # LangGraph's interface

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest."""

        def read(db: Any) -> CheckpointTuple | None:
            row = rows.find(db, config)
            return None if row is None else rows.load(db, self._values, row)

        return self._read(read)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; each is read when it is asked for."""
        end = get_checkpoint_id(before) if before else None
        for row in self._read(lambda db: rows.search(db, config, filter, end, limit)):
            saved = self.get_tuple(rows.config_of(row.thread, row.ns, row.checkpoint))
            if saved is not None:  # else it was deleted meanwhile
                yield saved

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save one checkpoint; on disk when it returns."""
        return self._write(
            lambda db: rows.save(db, self._values, config, checkpoint, metadata, new_versions)
        )

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote."""
        self._write(
            lambda db: rows.save_writes(db, self._values, config, writes, task_id, task_path)
        )

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread; its values stay until :meth:`vacuum` or :meth:`prune`."""
        self._write(lambda db: threads.delete_thread(db, str(thread_id)))
        self._values.forget()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints of runs and their writes."""
        self._write(lambda db: threads.delete_for_runs(db, run_ids))
        self._values.forget()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its namespaces, ids and writes; values are shared."""
        self._write(lambda db: threads.copy_thread(db, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace (or `delete` all) and free the space.

        What a kept checkpoint's delta channels are rebuilt from is kept too.
        """
        self._write(lambda db: threads.prune(db, thread_ids, strategy))
        self.vacuum()

    aget_tuple = _in_worker("get_tuple")
    aput = _in_worker("put")
    aput_writes = _in_worker("put_writes")
    adelete_thread = _in_worker("delete_thread")
    adelete_for_runs = _in_worker("delete_for_runs")
    acopy_thread = _in_worker("copy_thread")
    aprune = _in_worker("prune")

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

    # Beyond it: threads as the debugger uses them

    def vacuum(self) -> None:
        """Drop values that no checkpoint names and give the space back to the file system."""
        self._write(threads.sweep)
        self._values.forget()
        self._database.vacuum()

    def export_thread(self, thread_id: str, path: Path) -> None:
        """Write one thread into a store of its own at `path` (a new file).

        Raises:
            BadInput: if the thread is unknown or the file exists.
        """
        if path.exists():
            raise BadInput(f"expected a new file, found {str(path)!r}; remove it or name another")
        names = self.threads()
        if thread_id not in names:
            raise BadInput(
                f"expected a thread of {str(self.path)!r}, found {thread_id!r}; it has "
                f"{sorted(names)[:10]}"
            )
        target = CheckpointStore(path, serde=self.serde)
        try:
            with self._database.reading() as source, target._database.transaction() as db:
                threads.transfer((source, self._values), (db, target._values), thread_id)
        finally:
            target.close()

    def threads(self) -> dict[str, dict[str, Any]]:
        """Every thread in the file, with what :meth:`describe` was given."""
        return self._read(threads.descriptions)

    def describe(self, thread_id: str, info: dict[str, Any]) -> None:
        """Keep `info` (JSON) with a thread."""
        self._write(lambda db: threads.describe(db, thread_id, info))

    def outline(self, thread_id: str) -> list[threads.Outline]:
        """A thread's checkpoints in all namespaces without their values, oldest first."""
        return self._read(lambda db: threads.outline(db, thread_id))

    def writers(self, thread_id: str) -> dict[tuple[str, str], dict[str, tuple[str, list[str]]]]:
        """(namespace, checkpoint) -> id of each task that wrote -> its path and its channels."""
        return self._read(lambda db: threads.writers(db, thread_id))

    def written(self, thread_id: str) -> list[threads.Written]:
        """A thread's writes to its state, without their values, oldest checkpoint first."""
        return self._read(lambda db: threads.written(db, thread_id))

    def values(self, refs: Sequence[Ref]) -> list[Any]:
        """The values behind the references of :meth:`written`; equal references, equal values."""
        return self._read(lambda db: self._values.get(db, refs))

    def copy_checkpoints(
        self, source: str, target: str, places: Collection[tuple[str, str]]
    ) -> None:
        """Copy some checkpoints (namespace, id), with their writes, to another thread."""

        def copy(db: Any) -> None:
            for place in places:
                threads.copy_checkpoint(db, (source, *place), target)

        self._write(copy)

    def drop_writes(
        self,
        thread_id: str,
        place: tuple[str, str],
        task: str | None = None,
        channels: Collection[str] = (),
    ) -> None:
        """Drop the writes at a checkpoint (namespace, id), all or those of a task or channels."""
        self._write(lambda db: threads.drop_writes(db, (thread_id, *place), task, channels))
