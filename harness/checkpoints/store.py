"""A LangGraph checkpoint saver that keeps each channel value once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from harness.checkpoints import rows, threads, upkeep
from harness.checkpoints.database import Database
from harness.checkpoints.threaded import ThreadedSaver
from harness.checkpoints.values import Ref, Values

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")


class CheckpointStore(ThreadedSaver):
    """Checkpoints in one SQLite file; for synchronous and asynchronous graphs alike.

    A channel that a step did not write (by `new_versions`) keeps its parent's reference, so a
    value that a node changed in place, without returning it, is not saved.

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
        self._database = Database(path)
        split = isinstance(self.serde, JsonPlusSerializer)
        self._values = Values(self.serde, split_lists=split)
        self._recent = rows.Recent()

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Close the file. What is still queued is written first."""
        self.shut()
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

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or its thread's latest."""
        with self._database.reading() as db:
            self._check()
            row = rows.find(db, config)
            return None if row is None else rows.load(db, self._values, self.serde, row)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first; each is read when it is asked for."""
        with self._database.reading() as db:
            found = rows.search(
                db, config, filter, get_checkpoint_id(before) if before else None, limit
            )
        for row in found:
            with self._database.reading() as db:
                self._check()
                again = rows.again(db, row)
                if again is not None:
                    yield rows.load(db, self._values, self.serde, again)

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save one checkpoint; on disk when it returns."""
        step = rows.Step(config, checkpoint, metadata, new_versions)
        return self._write(lambda db: rows.save(db, self._values, self._recent, self.serde, step))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote."""
        special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        numbered = [
            (WRITES_IDX_MAP.get(channel, index), channel, value)
            for index, (channel, value) in enumerate(writes)
        ]
        task = rows.Task(task_id, task_path, replace=special)
        self._write(lambda db: rows.save_writes(db, self._values, config, task, numbered))

    def _write(self, action: Callable[[Any], T]) -> T:
        with self._database.lock:
            try:
                with self._database.transaction() as db:
                    self._check()
                    return action(db)
            except BaseException:
                self._forget()
                raise

    def _check(self) -> None:
        if self._database.changed():
            self._forget()

    def _forget(self) -> None:
        self._values.forget()
        self._recent.clear()

    # Threads

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread; its values stay until :meth:`vacuum` or :meth:`prune`."""
        self._write(lambda db: upkeep.delete_thread(db, str(thread_id)))
        self._forget()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Forget the checkpoints of runs and their writes."""
        self._write(lambda db: upkeep.delete_for_runs(db, run_ids))
        self._forget()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its namespaces, ids and writes; values are shared."""
        self._write(lambda db: upkeep.copy_thread(db, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace (or `delete` all) and free the space.

        What a kept checkpoint's delta channels are rebuilt from is kept too.
        """
        self._write(lambda db: upkeep.prune(db, thread_ids, strategy))
        self.vacuum()

    def vacuum(self) -> None:
        """Drop values that no checkpoint names and give the space back to the file system."""
        self._write(upkeep.sweep)
        self._forget()
        self._database.vacuum()

    def export_thread(self, thread_id: str, path: Path) -> None:
        """Write one thread into a store of its own at `path` (a new file).

        Raises:
            BadInput: if the thread is unknown or the file exists.
        """
        threads.check_export(path)
        with self._database.reading() as db:
            threads.check_known(db, thread_id, self.path)
        target = CheckpointStore(path, serde=self.serde)
        try:
            with self._database.reading() as source, target._database.transaction() as db:
                threads.transfer((source, self._values), (db, target._values), thread_id)
        finally:
            target.close()

    def threads(self) -> dict[str, dict[str, Any]]:
        """Every thread in the file, with what :meth:`describe` was told."""
        with self._database.reading() as db:
            return threads.known(db)

    def outline(self, thread_id: str) -> list[threads.Outline]:
        """A thread's checkpoints in all namespaces without their values, oldest first."""
        with self._database.reading() as db:
            return threads.outline(db, thread_id)

    def writers(self, thread_id: str) -> dict[tuple[str, str], dict[str, tuple[str, list[str]]]]:
        """(namespace, checkpoint) -> id of each task that wrote -> its path and its channels."""
        with self._database.reading() as db:
            return threads.writers(db, thread_id)

    def written(self, thread_id: str) -> list[threads.Written]:
        """A thread's writes to its state, without their values, oldest checkpoint first."""
        with self._database.reading() as db:
            return threads.written(db, thread_id)

    def values(self, refs: Sequence[Ref]) -> list[Any]:
        """The values behind the references of :meth:`written`; equal references, equal values."""
        with self._database.reading() as db:
            self._check()
            return self._values.get(db, refs)

    def copy_checkpoints(
        self, source: str, target: str, wanted: Collection[tuple[str, str]]
    ) -> None:
        """Copy some checkpoints (namespace, id), with their writes, to another thread."""
        self._write(lambda db: threads.copy_some(db, source, target, wanted))

    def drop_writes(
        self,
        thread_id: str,
        place: tuple[str, str],
        task: str | None = None,
        channels: Collection[str] = (),
    ) -> None:
        """Drop the writes at a checkpoint (namespace, id), all or those of a task or channels."""
        key = (thread_id, *place)
        self._write(lambda db: threads.drop_writes(db, key, task, channels))

    def describe(self, thread_id: str, info: dict[str, Any]) -> None:
        """Keep `info` (JSON) with a thread."""
        self._write(lambda db: threads.describe(db, thread_id, info))
