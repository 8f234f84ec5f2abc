"""Threads of LangGraph's PostgresSaver, read in one read-only transaction."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.core import BadInput
from harness.debug.foreign import Saved, Write

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

_THREADS = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
_WRITES = """
SELECT task_id, task_path, channel, type, blob FROM checkpoint_writes
WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s ORDER BY task_id, idx
"""


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
        raise BadInput(
            "threads of Postgres need: pip install 'agent-skill-harness[postgres]'"
        ) from error
    try:
        with psycopg.connect(uri, connect_timeout=20) as opened:
            connection: Any = opened
            connection.row_factory = dict_row
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield Postgres(connection, PostgresSaver)
            connection.rollback()
    except psycopg.Error as error:
        raise BadInput(
            f"expected a database of LangGraph's PostgresSaver, found {_without_password(uri)!r}: "
            f"{str(error).strip()}"
        ) from error


class Postgres:
    """A database of `PostgresSaver` (:class:`harness.debug.foreign.Source`)."""

    def __init__(self, connection: Any, saver: Any) -> None:
        self._connection, self._saver = connection, saver

    def thread_ids(self) -> list[str]:
        """See :class:`harness.debug.foreign.Source`."""
        return [row["thread_id"] for row in self._connection.execute(_THREADS)]

    def checkpoints(self, thread: str, serde: SerializerProtocol) -> Iterator[Saved]:
        """See :class:`harness.debug.foreign.Source`."""
        saver = self._saver(self._connection, serde=serde)
        found: list[Any] = list(saver.list({"configurable": {"thread_id": thread}}))
        for one in reversed(found):
            place = one.config["configurable"]
            ns, name = place["checkpoint_ns"], place["checkpoint_id"]
            before = one.parent_config
            parent = None if before is None else before["configurable"]["checkpoint_id"]
            rows = self._connection.execute(_WRITES, (thread, ns, name)).fetchall()
            writes = [
                Write(
                    row["task_id"],
                    row["task_path"],
                    row["channel"],
                    serde.loads_typed((row["type"], bytes(row["blob"]))),
                )
                for row in rows
            ]
            yield Saved(ns, name, parent, one.checkpoint, one.metadata, writes)


def _without_password(uri: str) -> str:
    parts = urlsplit(uri)
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}"
