"""Threads of PostgresSaver on a real server: read without a change, replayed, forked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from harness.checkpoints import open_store
from harness.core import BadInput
from harness.debug import Debugger, compare, copy_thread, thread_ids, timeline
from tests.debug.shapes import Log, chain, inner, leaf

EMPTY: dict[str, Any] = {"path": []}
CONTENTS = """
SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM (
    SELECT checkpoint_id || coalesce(metadata::text, '') FROM checkpoints
    UNION ALL SELECT task_id || channel || md5(blob) FROM checkpoint_writes) AS t
"""


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own on a Unix socket."""
    folder = tmp_path_factory.mktemp("pg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # it warns of a default in place of it
        from pgserver.postgres_server import get_server  # pyright: ignore[reportMissingTypeStubs]  # ships none

    server: Any = get_server(folder / "data", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def contents(uri: str) -> Any:
    with psycopg.connect(uri) as connection:
        return connection.execute(CONTENTS).fetchone()


def test_a_thread_is_read_replayed_and_forked(uri: str, tmp_path: Path) -> None:
    log: Log = []
    graph = chain({"a": leaf(log, "a"), "sub": inner(log, "i", 2), "z": leaf(log, "z")})
    with PostgresSaver.from_conn_string(uri) as saver:
        saver.setup()
        graph.checkpointer = saver
        expected = graph.invoke(EMPTY, {"configurable": {"thread_id": "t"}}, durability="sync")
    before = contents(uri)
    graph.checkpointer = None
    log.clear()
    assert thread_ids(uri) == ["t"]
    with open_store(tmp_path / "c.sqlite") as store:
        copy_thread(uri, "t", store)
        debugger = Debugger(graph, store)
        stop = debugger.replay("t")
        assert (stop.reason, stop.values, log) == ("done", expected, [])
        assert compare(debugger.history("t"), debugger.history("t.1")).divergence is None
        events = timeline(debugger.graph, debugger.history("t"))
        point = next(event.point for event in events if event.node == "sub/i1")
        stop = debugger.fork(point, of="t", hold=False)
        assert (stop.values, log) == (expected, ["i1", "z"])
        with pytest.raises(BadInput, match="no thread 'u' there; it has \\['t'\\]"):
            copy_thread(uri, "u", store)
    assert contents(uri) == before


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(BadInput, match="PostgresSaver") as found:
        thread_ids("postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in str(found.value)


def test_nothing_can_be_written(uri: str) -> None:
    from harness.debug import open_postgres

    with open_postgres(uri) as source, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        source._connection.execute("CREATE TABLE x (n int)")  # pyright: ignore[reportPrivateUsage]  # what it must refuse
