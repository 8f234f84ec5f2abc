"""A file of threads that somebody damaged, or made to do harm, is named; reading it ends."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from harness.checkpoints import open_store
from harness.core import BadInput
from tests.checkpoints.graphs import talk, thread

DAMAGES = {
    "a list that is part of itself": "UPDATE nodes SET parent = id",
    "values that are gone": "DELETE FROM blobs",
    "lists that are gone": "DELETE FROM nodes",
    "values of another kind": "UPDATE blobs SET type = 'odd'",
    "values that are no bytes": "UPDATE blobs SET data = 7",
    "headers": "UPDATE checkpoints SET header = x'01ff'",
    "references": "UPDATE checkpoints SET refs = x'91'",
    "metadata": "UPDATE checkpoints SET metadata = '[1]'",
    "facts of a thread": "UPDATE threads SET info = '{'",
    "no tables": "DROP TABLE blobs",
}


def read_all(path: Path) -> None:
    """Read everything that the debugger reads."""
    with open_store(path) as store:
        for name in store.threads():
            store.outline(name)
            store.values([write.ref for write in store.writes(name)])
            for saved in store.list(thread(name)):
                assert saved.checkpoint["channel_values"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one thread."""
    with open_store(tmp_path / "c.sqlite") as store:
        talk(3).compile(checkpointer=store).invoke({"messages": [], "turn": 0}, thread("a"))
        store.describe("a", {"graph": "g"})
    return tmp_path / "c.sqlite"


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(DAMAGES[damage])
    with pytest.raises(BadInput, match=r"c\.sqlite' is damaged"):
        read_all(path)


def test_a_checkpoint_that_is_its_own_parent_can_be_pruned(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE checkpoints SET parent = checkpoint, metadata = ?",
                   ('{"counters_since_delta_snapshot": ["nowhere"]}',))  # fmt: skip
    with open_store(path) as store:
        store.prune(["a"])
        assert len(store.outline("a")) == 1


def test_a_value_does_not_swell(path: Path) -> None:
    swollen = zstandard.ZstdCompressor().compress(bytes(600_000_000))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE blobs SET packed = 1, data = ?", (swollen,))
    with pytest.raises(BadInput, match="unpacks to more than"):
        read_all(path)


def test_a_torn_file_is_named(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(BadInput, match="damaged"):
        read_all(path)
