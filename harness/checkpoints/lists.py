"""Lists as paths in a tree of prefixes, and what is remembered of them in memory."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

from harness.checkpoints.keys import node_key

PLACES = 32
"""Lists whose last bytes are kept for comparison."""
NODES = 500_000
"""Nodes kept in memory."""

_PATH = """
WITH RECURSIVE path (id, parent, blob) AS (
    SELECT id, parent, blob FROM nodes WHERE id = ?
    UNION ALL SELECT nodes.id, nodes.parent, nodes.blob FROM nodes JOIN path
    ON nodes.id = path.parent)
SELECT id, parent, blob FROM path
"""


class LastList(NamedTuple):
    """The list that was saved last for a place: its bytes, its length, its node."""

    body: bytes
    length: int
    node: int


EMPTY = LastList(b"", 0, 0)


class Lists:
    """The tree of lists. Equal lists have the same node."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[int, int]] = {}
        self._last: OrderedDict[Hashable, LastList] = OrderedDict()

    def clear(self) -> None:
        """Forget everything that is on disk anyway."""
        self._nodes.clear()
        self._last.clear()

    def known_start(self, place: Hashable, body: bytes) -> LastList:
        """The list saved last for `place` if `body` begins with it, else the empty list."""
        last = self._last.get(place)
        return last if last is not None and body.startswith(last.body) else EMPTY

    def remember(self, place: Hashable, last: LastList) -> None:
        """Compare the next list of `place` with this one."""
        if place is None:
            return
        self._last[place] = last
        self._last.move_to_end(place)
        if len(self._last) > PLACES:
            self._last.popitem(last=False)

    def child(self, db: sqlite3.Connection, parent: int, blob: int) -> int:
        """The node of the list `parent` with `blob` appended."""
        node = node_key(parent, blob)
        while self._nodes.get(node) != (parent, blob):
            row = (node, parent, blob)
            added = db.execute("INSERT OR IGNORE INTO nodes VALUES (?, ?, ?)", row).rowcount
            if added or db.execute("SELECT * FROM nodes WHERE id = ?", row[:1]).fetchone() == row:
                self._learn(node, parent, blob)
                break
            node += 1
        return node

    def _learn(self, node: int, parent: int, blob: int) -> None:
        if len(self._nodes) > NODES:
            self._nodes.clear()
        self._nodes[node] = (parent, blob)

    def path(self, db: sqlite3.Connection, node: int) -> list[int]:
        """The blobs of a list, first item first."""
        blobs: list[int] = []
        while node:
            if node not in self._nodes:
                for row in db.execute(_PATH, (node,)):
                    self._learn(*row)
            node, blob = self._nodes[node]
            blobs.append(blob)
        blobs.reverse()
        return blobs
