"""Values in the store: each content once, each list as a path in a tree of prefixes.

A list that grows by an item costs one node and the item, however long the list is. The list's
serialised bytes are compared with those of the list saved before it: what follows a common start
is all that is packed and written.
"""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, cast

from harness.checkpoints.keys import blob_key
from harness.checkpoints.lists import LastList, Lists
from harness.checkpoints.packing import pack, unpack

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

ITEM_BYTES = 64
"""Lists whose items are smaller than this on average are one blob: a row costs more than it."""
CACHE_BYTES = 32 * 1024 * 1024
"""Of blobs kept in memory."""


SMALL = 48
"""Bytes of a value that stands in the row that names it: a row of its own costs more."""

Ref = int | bytes
"""Twice the key of a blob, twice the key of a node plus one, or a small value itself."""


def inline(ref: bytes) -> tuple[str, bytes]:
    """A small value: how it is serialised, and its bytes."""
    kind, _, data = ref.partition(b"\0")
    return kind.decode(), data


def _array_header(data: bytes) -> int:
    """Bytes before the first item of a msgpack array (msgpack specification, array family)."""
    return {0xDC: 3, 0xDD: 5}.get(data[0], 1)


class Values:
    """Put values in, get references; put references in, get values."""

    def __init__(self, serde: SerializerProtocol, *, split_lists: bool) -> None:
        """Use `serde` for the bytes; `split_lists` is for serialisers that write msgpack."""
        self._serde = serde
        self._split = split_lists
        self._lists = Lists()
        self._blobs: dict[int, tuple[str, bytes]] = {}
        self._held = 0

    def forget(self) -> None:
        """Forget everything cached: a transaction was rolled back, or another process wrote."""
        self._lists.clear()
        self._blobs.clear()
        self._held = 0

    def with_serde(self, serde: SerializerProtocol) -> Values:
        """The same values, read by another serialiser."""
        clone = copy.copy(self)
        clone._serde = serde
        return clone

    def put(self, db: sqlite3.Connection, value: Any, place: Hashable = None) -> Ref:
        """Store `value` and return its reference; a small value is its own.

        Args:
            db: inside a transaction.
            value: anything the serialiser takes.
            place: where the value belongs (thread, namespace, channel); the list saved for the
                same place before is the one it is compared with.
        """
        kind, data = self._serde.dumps_typed(value)
        if len(data) <= SMALL:
            return kind.encode() + b"\0" + data
        if not (self._split and kind == "msgpack" and type(value) is list and value):
            return 2 * self._put_blob(db, kind, data)
        items = cast("list[Any]", value)
        body = data[_array_header(data) :]
        if len(body) < ITEM_BYTES * len(items):
            return 2 * self._put_blob(db, kind, data)
        start = self._lists.known_start(place, body)
        new = items[start.length :]
        node = start.node
        if len(new) == 1:
            node = self._lists.child(db, node, self._put_blob(db, kind, body[len(start.body) :]))
        else:
            for item in new:
                blob = self._put_blob(db, *self._serde.dumps_typed(item))
                node = self._lists.child(db, node, blob)
        self._lists.remember(place, LastList(body, len(items), node))
        return 2 * node + 1

    def get(self, db: sqlite3.Connection, refs: Sequence[Ref]) -> list[Any]:
        """The values of `refs`, in their order, every one an object of its own."""
        paths = [self._path(db, ref) for ref in refs]
        found = self._load(db, {blob for path in paths for blob in path})
        loads = self._serde.loads_typed
        values: list[Any] = []
        for ref, path in zip(refs, paths, strict=True):
            if isinstance(ref, bytes):
                values.append(loads(inline(ref)))
            elif ref % 2:
                values.append([loads(found[blob]) for blob in path])
            else:
                values.append(loads(found[path[0]]))
        return values

    def _path(self, db: sqlite3.Connection, ref: Ref) -> list[int]:
        """The blobs that a value is made of."""
        if isinstance(ref, bytes):
            return []
        return self._lists.path(db, ref // 2) if ref % 2 else [ref // 2]

    def raw(self, db: sqlite3.Connection, ref: int) -> list[tuple[str, bytes]]:
        """The serialised items of a list, or the one item of another value."""
        blobs = self._path(db, ref)
        found = self._load(db, set(blobs))
        return [found[blob] for blob in blobs]

    def put_raw(
        self, db: sqlite3.Connection, items: list[tuple[str, bytes]], *, split: bool
    ) -> int:
        """Store what :meth:`raw` of another store gave."""
        if not split:
            return 2 * self._put_blob(db, *items[0])
        node = 0
        for item in items:
            node = self._lists.child(db, node, self._put_blob(db, *item))
        return 2 * node + 1

    def _put_blob(self, db: sqlite3.Connection, kind: str, data: bytes | bytearray) -> int:
        key, content = blob_key(kind, data), (kind, bytes(data))
        while self._blobs.get(key) != content:
            if _insert(db, key, content):
                self._hold(key, content)
                break
            key += 1
        return key

    def _load(self, db: sqlite3.Connection, blobs: set[int]) -> dict[int, tuple[str, bytes]]:
        found = {blob: self._blobs[blob] for blob in blobs if blob in self._blobs}
        missing = sorted(blobs - found.keys())
        for start in range(0, len(missing), 500):
            some = missing[start : start + 500]
            marks = ",".join("?" * len(some))
            query = f"SELECT id, type, packed, data FROM blobs WHERE id IN ({marks})"
            for blob, kind, packed, data in db.execute(query, some):
                found[blob] = (kind, unpack(data) if packed else data)
                self._hold(blob, found[blob])
        return found

    def _hold(self, blob: int, content: tuple[str, bytes]) -> None:
        if self._held > CACHE_BYTES:
            self._blobs.clear()
            self._held = 0
        self._blobs[blob] = content
        self._held += len(content[1])


def _insert(db: sqlite3.Connection, key: int, content: tuple[str, bytes]) -> bool:
    """Store a value under a key; False if another value has it."""
    packed, stored = pack(content[1])
    row = (key, content[0], packed, stored)
    if db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", row).rowcount:
        return True
    kind, was_packed, data = db.execute(
        "SELECT type, packed, data FROM blobs WHERE id = ?", (key,)
    ).fetchone()
    return (kind, unpack(data) if was_packed else data) == content
