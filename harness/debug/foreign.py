"""Threads of LangGraph's own SQLite saver: opened read-only, copied into a store, forked there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from harness.core import BadInput

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore

_CHECKPOINTS = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id
"""


def thread_ids(uri: str) -> list[str]:
    """The threads in a file of `SqliteSaver`.

    Raises:
        BadInput: if there is no such file, or it is another kind of file.
    """
    with closing(_open(uri)) as db:
        rows = _rows(db, uri, "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id", ())
        return [row[0] for row in rows]


def copy_thread(uri: str, thread: str, store: CheckpointStore, target: str | None = None) -> str:
    """Copy a thread of `SqliteSaver` into `store`; its id there.

    The file is opened read-only and may be in use. Values restore as plain data and LangChain
    messages; types that a graph's schema names are restored when the graph runs.

    Args:
        uri: a path, `file:…` or `sqlite:///…`.
        thread: the thread's id.
        store: where to.
        target: the id to give it; by default the same.

    Raises:
        BadInput: if the file or the thread is not there, or `target` is taken.
    """
    import json

    target = target or thread
    if target in store.threads():
        raise BadInput(f"the store has a thread {target!r} already; name another target")
    with closing(_open(uri)) as db:
        rows = _rows(db, uri, _CHECKPOINTS, (thread,))
        if not rows:
            raise BadInput(f"no thread {thread!r} in {uri!r}; it has {thread_ids(uri)[:10]}")
        for ns, checkpoint_id, parent, kind, data, metadata in rows:
            checkpoint = store.serde.loads_typed((kind, data))
            place = {"thread_id": target, "checkpoint_ns": ns, "checkpoint_id": parent}
            versions = dict(checkpoint["channel_versions"])
            store.put({"configurable": place}, checkpoint, json.loads(metadata or b"{}"), versions)
            _copy_writes(db, uri, store, (thread, target), (ns, checkpoint_id))
    return target


def _copy_writes(
    db: sqlite3.Connection,
    uri: str,
    store: CheckpointStore,
    threads: tuple[str, str],
    place: tuple[str, str],
) -> None:
    path = "task_path" if _has_path(db) else "''"
    query = (
        f"SELECT task_id, {path}, idx, channel, type, value FROM writes "
        "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx"
    )
    by_task: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for task, where, _, channel, kind, value in _rows(db, uri, query, (threads[0], *place)):
        write = (channel, store.serde.loads_typed((kind, value)))
        by_task.setdefault((task, where), []).append(write)
    config = {"thread_id": threads[1], "checkpoint_ns": place[0], "checkpoint_id": place[1]}
    for (task, where), writes in by_task.items():
        store.put_writes({"configurable": config}, writes, task, where)


def _has_path(db: sqlite3.Connection) -> bool:
    return any(row[1] == "task_path" for row in db.execute("PRAGMA table_info(writes)"))


def _open(uri: str) -> sqlite3.Connection:
    path = Path(unquote(urlsplit(uri).path) if "://" in uri or uri.startswith("file:") else uri)
    if uri.startswith("postgres"):
        raise BadInput(f"threads of Postgres are not read yet, found {uri!r}; name a SQLite file")
    if not path.is_file():
        raise BadInput(
            f"expected a file of LangGraph's SqliteSaver, found nothing at {str(path)!r}"
        )
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)


def _rows(db: sqlite3.Connection, uri: str, query: str, arguments: tuple[str, ...]) -> list[Any]:
    try:
        return db.execute(query, arguments).fetchall()
    except sqlite3.DatabaseError as error:
        raise BadInput(
            f"expected a file of LangGraph's SqliteSaver, found {uri!r}: {error}"
        ) from error
