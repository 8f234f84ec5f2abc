"""Threads of LangGraph's own savers: opened read-only, copied into a store, forked there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from harness.checkpoints import config_at
from harness.core import BadInput, decoding, grouped
from harness.core.plugins import install_command

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from harness.checkpoints import CheckpointStore

_THREADS = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
_CHECKPOINTS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id
"""
_WRITES = """
SELECT task_id, {path}, channel, type, value FROM writes
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx
"""
_POSTGRES_WRITES = """
SELECT task_id, task_path, channel, type, blob FROM checkpoint_writes
WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s ORDER BY task_id, idx
"""


Saved = tuple[str, str, str | None, Any, Any, list[tuple[str, str, str, Any]]]
"""A checkpoint of another saver: namespace, id, its parent's, the checkpoint, its metadata, and
its writes: task, its path (its place in the step, as LangGraph writes it), channel, value."""


def thread_ids(uri: str) -> list[str]:
    """The threads of a saver.

    Raises:
        BadInput: if there is none at `uri`, or something else.
    """
    with _opened(uri) as source:
        return source.thread_ids()


def copy_thread(uri: str, thread: str, store: CheckpointStore, target: str | None = None) -> str:
    """Copy a thread of `SqliteSaver` or `PostgresSaver` into `store`; its id there.

    The saver is opened read-only and may be in use. Values are copied as they are serialised;
    types of the application are restored when a graph that knows them is opened on the store.

    Args:
        uri: a path, `file:…`, `sqlite:///…` or `postgresql://…`.
        thread: the thread's id.
        store: where to.
        target: the id to give it; by default the same.

    Raises:
        BadInput: if the saver or the thread is not there, or `target` is taken.
    """
    import ormsgpack
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    target = target or thread
    if target in store.threads():
        raise BadInput(f"the store has a thread {target!r} already; name another target")
    with _opened(uri) as source:
        names = source.thread_ids()
        if thread not in names:
            raise BadInput(f"no thread {thread!r} there; it has {names[:10]}")
        # An object of a type stays the bytes that stand for it.
        reader = JsonPlusSerializer(__unpack_ext_hook__=ormsgpack.Ext)
        for ns, name, parent, checkpoint, metadata, rows in source.checkpoints(thread, reader):
            versions = dict(checkpoint["channel_versions"])
            store.put(config_at(target, ns, parent), checkpoint, metadata, versions)
            tasks = grouped(((task, path), (channel, value)) for task, path, channel, value in rows)
            for (task, path), writes in tasks.items():
                store.put_writes(config_at(target, ns, name), writes, task, path)
    return target


@contextmanager
def _opened(uri: str) -> Generator[_Sqlite | Postgres]:
    """An open saver, which is only read."""
    if uri.startswith(("postgres:", "postgresql:")):
        with open_postgres(uri) as source:
            yield source
        return
    path = Path(unquote(urlsplit(uri).path) if "://" in uri or uri.startswith("file:") else uri)
    if not path.is_file():
        raise BadInput(
            f"expected a file of LangGraph's SqliteSaver, found nothing at {str(path)!r}"
        )
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as db:
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
        """Every thread in it, sorted."""
        return [row[0] for row in self._db.execute(_THREADS)]

    def checkpoints(self, thread: str, serde: SerializerProtocol) -> Iterator[Saved]:
        """A thread's checkpoints in all namespaces, oldest first."""
        columns = {row[1] for row in self._db.execute("PRAGMA table_info(writes)")}
        query = _WRITES.format(path="task_path" if "task_path" in columns else "''")
        for ns, name, parent, kind, data, metadata in self._db.execute(_CHECKPOINTS, (thread,)):
            rows = self._db.execute(query, (thread, ns, name))
            with decoding(f"checkpoint {name}"):
                writes = [(*head, serde.loads_typed((form, value))) for *head, form, value in rows]
                values = serde.loads_typed((kind, data)), json.loads(metadata or b"{}")
            yield ns, name, parent, *values, writes


@contextmanager
def open_postgres(uri: str) -> Generator[Postgres]:
    """The saver behind `postgresql://…`, in one snapshot that cannot write.

    Raises:
        BadInput: if the packages are missing, the server does not answer or has no such tables.
    """
    try:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver  # pyright: ignore[reportMissingTypeStubs]  # ships none
        from psycopg.rows import dict_row
    except ImportError as error:
        raise BadInput(f"threads of Postgres need: {install_command('postgres')}") from error
    try:
        with psycopg.connect(uri, connect_timeout=20) as opened:
            connection: Any = opened
            connection.row_factory = dict_row
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield Postgres(connection, PostgresSaver)
            connection.rollback()
    except psycopg.Error as error:
        parts = urlsplit(uri)  # without the password
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise BadInput(
            f"expected a database of LangGraph's PostgresSaver, found {address!r}: "
            f"{str(error).strip()}"
        ) from error


class Postgres:
    """A database of `PostgresSaver`."""

    def __init__(self, connection: Any, saver: Any) -> None:
        self._connection, self._saver = connection, saver

    def thread_ids(self) -> list[str]:
        """Every thread in it, sorted."""
        return [row["thread_id"] for row in self._connection.execute(_THREADS)]

    def checkpoints(self, thread: str, serde: SerializerProtocol) -> Iterator[Saved]:
        """A thread's checkpoints in all namespaces, oldest first."""
        saver = self._saver(self._connection, serde=serde)
        for saved in reversed([*saver.list({"configurable": {"thread_id": thread}})]):
            configurable, before = saved.config["configurable"], saved.parent_config
            ns, name = configurable["checkpoint_ns"], configurable["checkpoint_id"]
            parent = None if before is None else before["configurable"]["checkpoint_id"]
            rows = self._connection.execute(_POSTGRES_WRITES, (thread, ns, name)).fetchall()
            writes = [
                (
                    row["task_id"],
                    row["task_path"],
                    row["channel"],
                    serde.loads_typed((row["type"], bytes(row["blob"]))),
                )
                for row in rows
            ]
            yield ns, name, parent, saved.checkpoint, saved.metadata, writes
