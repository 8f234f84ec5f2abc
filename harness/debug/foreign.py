"""Threads of LangGraph's own savers: opened read-only, copied into a store, forked there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, unquote, urlsplit

from harness.core import BadInput

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from harness.checkpoints import CheckpointStore

_CHECKPOINTS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id
"""


class Write(NamedTuple):
    """One write of a task; `path` is its place in the step, as LangGraph writes it."""

    task: str
    path: str
    channel: str
    value: Any


class Saved(NamedTuple):
    """A checkpoint of another saver."""

    ns: str
    id: str
    parent: str | None
    checkpoint: Any
    metadata: Any
    writes: list[Write]


class Source(Protocol):
    """An open saver, which is only read."""

    def thread_ids(self) -> list[str]:
        """Every thread in it, sorted."""
        ...

    def checkpoints(self, thread: str, serde: SerializerProtocol) -> Iterator[Saved]:
        """A thread's checkpoints in all namespaces, oldest first."""
        ...


def thread_ids(uri: str) -> list[str]:
    """The threads of a saver.

    Raises:
        BadInput: if there is none at `uri`, or something else.
    """
    with _opened(uri) as source:
        return source.thread_ids()


def copy_thread(uri: str, thread: str, store: CheckpointStore, target: str | None = None) -> str:
    """Copy a thread of `SqliteSaver` or `PostgresSaver` into `store`; its id there.

    The saver is opened read-only and may be in use. Values restore as plain data and LangChain
    messages; types that a graph's schema names are restored when the graph runs.

    Args:
        uri: a path, `file:…`, `sqlite:///…` or `postgresql://…`.
        thread: the thread's id.
        store: where to.
        target: the id to give it; by default the same.

    Raises:
        BadInput: if the saver or the thread is not there, or `target` is taken.
    """
    target = target or thread
    if target in store.threads():
        raise BadInput(f"the store has a thread {target!r} already; name another target")
    with _opened(uri) as source:
        found = source.checkpoints(thread, store.serde)
        first = next(found, None)
        if first is None:
            raise BadInput(f"no thread {thread!r} there; it has {source.thread_ids()[:10]}")
        for saved in (first, *found):
            _keep(store, target, saved)
    return target


def _keep(store: CheckpointStore, thread: str, saved: Saved) -> None:
    place = {"thread_id": thread, "checkpoint_ns": saved.ns, "checkpoint_id": saved.parent}
    versions = dict(saved.checkpoint["channel_versions"])
    store.put({"configurable": place}, saved.checkpoint, saved.metadata, versions)
    by_task: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for task, path, channel, value in saved.writes:
        by_task.setdefault((task, path), []).append((channel, value))
    for (task, path), writes in by_task.items():
        own = {"thread_id": thread, "checkpoint_ns": saved.ns, "checkpoint_id": saved.id}
        store.put_writes({"configurable": own}, writes, task, path)


def _opened(uri: str) -> AbstractContextManager[Source]:
    if uri.startswith(("postgres:", "postgresql:")):
        from harness.debug.postgres import open_postgres

        return open_postgres(uri)
    return _open_sqlite(uri)


@contextmanager
def _open_sqlite(uri: str) -> Generator[Source]:
    path = Path(unquote(urlsplit(uri).path) if "://" in uri or uri.startswith("file:") else uri)
    if not path.is_file():
        raise BadInput(
            f"expected a file of LangGraph's SqliteSaver, found nothing at {str(path)!r}"
        )
    db = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    with closing(db):
        try:
            yield _Sqlite(db)
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"expected a file of LangGraph's SqliteSaver, found {uri!r}: {error}"
            ) from error


class _Sqlite:
    """A file of `SqliteSaver`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def thread_ids(self) -> list[str]:
        """See :class:`Source`."""
        rows = self._db.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")
        return [row[0] for row in rows]

    def checkpoints(self, thread: str, serde: SerializerProtocol) -> Iterator[Saved]:
        """See :class:`Source`."""
        for ns, name, parent, kind, data, metadata in self._db.execute(_CHECKPOINTS, (thread,)):
            checkpoint = serde.loads_typed((kind, data))
            writes = self._writes((thread, ns, name), serde)
            yield Saved(ns, name, parent, checkpoint, json.loads(metadata or b"{}"), writes)

    def _writes(self, place: tuple[str, str, str], serde: SerializerProtocol) -> list[Write]:
        has_path = any(row[1] == "task_path" for row in self._db.execute(_COLUMNS))
        path = "task_path" if has_path else "''"
        query = (
            f"SELECT task_id, {path}, channel, type, value FROM writes "
            "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx"
        )
        rows = self._db.execute(query, place)
        return [
            Write(task, path, channel, serde.loads_typed((kind, data)))
            for task, path, channel, kind, data in rows
        ]


_COLUMNS = "PRAGMA table_info(writes)"
