"""Values in the store: each content once, each list as a path in a tree of prefixes.

A list that grows by an item costs one node and the item, however long the list is. The list's
serialised bytes are compared with those of the list saved before it: what follows a common start
is all that is packed and written. Equal lists have the same node.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import sqlite3
import threading
import uuid
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import zstandard

from harness.core.files import MOST_UNPACKED, decompressed

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

ITEM_BYTES = 64
"""Lists whose items are smaller than this on average are one blob: a row costs more than it."""
SMALL = 48
"""Bytes of a value that stands in the row that names it: a row of its own costs more."""
PACKED = 160
"""Bytes from which a value is compressed, where that saves a tenth of it."""
CACHE_BYTES = 32 * 1024 * 1024
"""Of blobs kept in memory."""
NODES = 500_000
"""Nodes kept in memory."""
PLACES = 32
"""Lists whose last bytes are kept for comparison."""
RECENT = 256
"""Checkpoints whose references are kept, so that a child can share them without a query."""
# UNION, not UNION ALL: in a damaged file a list may be part of itself.
_PATH = """
WITH RECURSIVE path (id, parent, blob) AS (
    SELECT id, parent, blob FROM nodes WHERE id = ?
    UNION SELECT nodes.id, nodes.parent, nodes.blob FROM nodes JOIN path
    ON nodes.id = path.parent)
SELECT id, parent, blob FROM path
"""

HELD = "held"
"""The kind of what stands for a value that a session holds in memory beside its store: a token,
the value's type, whether the session has a copy, and what could be stored of it."""
_LEAVES = frozenset((date, datetime, time, timedelta, Decimal, uuid.UUID))
MASK = (1 << 61) - 1
"""Keys have 61 bits, so that a reference (twice a key plus one) is an SQLite integer."""

CheckpointKey = tuple[str, str, str]
"""Thread, namespace, checkpoint id."""
Ref = int | bytes
"""Twice the key of a blob, twice the key of a node plus one, or a small value itself."""


def blob_key(kind: str, data: bytes) -> int:
    """Key of a serialised value; two values of one key are told apart when they are stored."""
    digest = hashlib.blake2b(data, digest_size=8, person=kind.encode()[:16]).digest()
    return int.from_bytes(digest, "big") & MASK or 1


class _Zstd(threading.local):
    """zstd contexts must not be shared by threads."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=1).compress


_zstd = _Zstd()


def pack(data: bytes) -> tuple[bool, bytes]:
    """`data` compressed if that saves a tenth of it, and whether it was."""
    if PACKED <= len(data) <= MOST_UNPACKED:
        packed = _zstd.compress(data)
        if len(packed) * 10 < len(data) * 9:
            return True, packed
    return False, data


def unpack(packed: bool, data: bytes) -> bytes:
    """Undo :func:`pack`."""
    return decompressed(data) if packed else data


class _LastList(NamedTuple):
    """The list that was saved last for a place: its bytes, its length, its node."""

    body: bytes
    length: int
    node: int


class Values:
    """Put values in, get references; put references in, get values.

    What is on disk is kept in memory too, until another process writes.
    """

    def __init__(self, *, split_lists: bool) -> None:
        """`split_lists` is for serialisers that write msgpack."""
        self._split = split_lists
        self.forget()

    def forget(self) -> None:
        """Clear the memory: a transaction was rolled back, or another process wrote."""
        self._blobs: dict[int, tuple[str, bytes]] = {}
        self._held_bytes = 0
        self._nodes: dict[int, tuple[int, int]] = {}
        self._lists: OrderedDict[Hashable, _LastList] = OrderedDict()
        self._checkpoints: OrderedDict[CheckpointKey, tuple[dict[str, Any], dict[str, Ref]]] = (
            OrderedDict()
        )

    def recent(self, key: CheckpointKey) -> tuple[dict[str, Any], dict[str, Ref]]:
        """Channel versions and references of a checkpoint; empty if it is not remembered."""
        return self._checkpoints.get(key, ({}, {}))

    def remember(self, key: CheckpointKey, versions: dict[str, Any], refs: dict[str, Ref]) -> None:
        """Remember the versions and references of a checkpoint for its children."""
        self._checkpoints[key] = (versions, refs)
        if len(self._checkpoints) > RECENT:
            self._checkpoints.popitem(last=False)

    def put(
        self,
        db: sqlite3.Connection,
        serde: SerializerProtocol,
        value: Any,
        slot: Hashable = None,
    ) -> Ref:
        """Store `value` and return its reference; a small value is its own.

        Args:
            db: inside a transaction.
            serde: makes the bytes.
            value: anything the serialiser takes.
            place: where the value belongs (thread, namespace, channel); the list saved for the
                same place before is the one it is compared with.
        """
        kind, data = serde.dumps_typed(value)
        if len(data) <= SMALL:
            return kind.encode() + b"\0" + data
        if not (self._split and kind == "msgpack" and type(value) is list and value):
            return 2 * self._put_blob(db, kind, bytes(data))
        items = cast("list[Any]", value)
        # Bytes before the first item of an array (msgpack specification, array family).
        body = data[{0xDC: 3, 0xDD: 5}.get(data[0], 1) :]
        if len(body) < ITEM_BYTES * len(items):
            return 2 * self._put_blob(db, kind, bytes(data))
        lists = self._lists
        start = lists.get(slot)
        if start is None or not body.startswith(start.body):
            start = _LastList(b"", 0, 0)
        new, node = items[start.length :], start.node
        if len(new) == 1:
            node = self._child(db, node, self._put_blob(db, kind, bytes(body[len(start.body) :])))
        else:
            for item in new:
                item_kind, item_data = serde.dumps_typed(item)
                node = self._child(db, node, self._put_blob(db, item_kind, bytes(item_data)))
        if slot is not None:
            lists[slot] = _LastList(body, len(items), node)
            lists.move_to_end(slot)
            if len(lists) > PLACES:
                lists.popitem(last=False)
        return 2 * node + 1

    def get(
        self, db: sqlite3.Connection, serde: SerializerProtocol, refs: Sequence[Ref]
    ) -> list[Any]:
        """The values of `refs`, in their order, every one an object of its own."""
        paths = [self._path(db, ref) for ref in refs]
        blobs = self._load(db, {blob for path in paths for blob in path})
        loads = serde.loads_typed
        values: list[Any] = []
        for ref, path in zip(refs, paths, strict=True):
            if isinstance(ref, bytes):
                kind, _, data = ref.partition(b"\0")
                values.append(loads((kind.decode(), data)))
            elif ref % 2:
                values.append([loads(blobs[blob]) for blob in path])
            else:
                values.append(loads(blobs[path[0]]))
        return values

    def _put_blob(self, db: sqlite3.Connection, kind: str, data: bytes) -> int:
        key, content, blobs = blob_key(kind, data), (kind, data), self._blobs
        while blobs.get(key) != content:
            row = (key, kind, *pack(data))
            added = db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", row).rowcount
            if not added:
                blobs.pop(key, None)
            if added or self._load(db, {key})[key] == content:
                self._hold(key, content)
                break
            key += 1  # another value has the key
        return key

    def _load(self, db: sqlite3.Connection, blobs: set[int]) -> dict[int, tuple[str, bytes]]:
        loaded = {blob: self._blobs[blob] for blob in blobs if blob in self._blobs}
        missing = sorted(blobs - loaded.keys())
        if not missing:
            return loaded
        query = (
            "SELECT id, type, packed, data FROM blobs WHERE id IN (SELECT value FROM json_each(?))"
        )
        for blob, kind, packed, data in db.execute(query, (json.dumps(missing),)):
            loaded[blob] = (kind, unpack(packed, data))
            self._hold(blob, loaded[blob])
        return loaded

    def _hold(self, blob: int, content: tuple[str, bytes]) -> None:
        if self._held_bytes > CACHE_BYTES:
            self._blobs.clear()
            self._held_bytes = 0
        self._blobs[blob] = content
        self._held_bytes += len(content[1])

    def _child(self, db: sqlite3.Connection, parent: int, blob: int) -> int:
        """The node of the list `parent` with `blob` appended."""
        node = blob_key("node", b"%d,%d" % (parent, blob))
        while self._nodes.get(node) != (parent, blob):
            row = (node, parent, blob)
            added = db.execute("INSERT OR IGNORE INTO nodes VALUES (?, ?, ?)", row).rowcount
            if added or db.execute("SELECT * FROM nodes WHERE id = ?", row[:1]).fetchone() == row:
                self._learn(*row)
                break
            node += 1
        return node

    def _learn(self, node: int, parent: int, blob: int) -> None:
        if len(self._nodes) > NODES:
            self._nodes.clear()
        self._nodes[node] = (parent, blob)

    def _path(self, db: sqlite3.Connection, ref: Ref) -> list[int]:
        """The blobs that a value is made of, the first item of a list first."""
        if isinstance(ref, bytes):
            return []
        if ref % 2 == 0:
            return [ref // 2]
        blobs: list[int] = []
        node = ref // 2
        while node:
            if node not in self._nodes:
                for row in db.execute(_PATH, (node,)):
                    self._learn(*row)
            node, blob = self._nodes[node]
            blobs.append(blob)
            if len(blobs) > len(self._nodes):
                raise ValueError(f"list {ref} is part of itself")
        return blobs[::-1]


class Held(NamedTuple):
    """A value that is not stored as it is: its type's name, and whether a run can begin at it.

    It cannot where the session that holds it has no copy, or has ended and stored nothing of it.
    """

    type: str
    forks: bool


def is_leaf(value: Any) -> bool:
    """Tell values that LangGraph's msgpack restores, whatever they hold."""
    kind = cast("type[Any]", type(value))
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return value.dtype.kind in "biufcSU"
    message = kind.__module__.startswith("langchain_core.messages.")
    return kind in _LEAVES or isinstance(value, PurePath) or message


def array_of(kind: str, shape: tuple[int, ...], order: Any, data: bytes) -> Any:
    """A copy of a stored array: the stored bytes cannot be written to."""
    import numpy

    return numpy.frombuffer(data, kind).reshape(shape, order=order).copy(order)


class Lost:
    """A stand-in for a value that another process held in memory."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}, held in memory by a session that has ended>"


def same(first: Any, second: Any) -> bool:
    """Compare two values by type and content, arrays and tables included."""
    if first is second:
        return True
    kind = cast("type[Any]", type(first))
    if kind is not type(second):
        return False
    if isinstance(first, Mapping):
        first_map, second_map = cast("Mapping[Any, Any]", first), cast("Mapping[Any, Any]", second)
        factories = (getattr(part, "default_factory", None) for part in (first_map, second_map))
        keys = same([*first_map], [*second_map]) and same(*factories)
        return keys and all(same(first_map[key], second_map[key]) for key in first_map)
    if isinstance(first, (list, tuple)):
        items, counterparts = cast("list[Any]", first), cast("list[Any]", second)
        return len(items) == len(counterparts) and all(map(same, items, counterparts))
    if dataclasses.is_dataclass(kind) or hasattr(kind, "model_fields"):
        private = (getattr(part, "__pydantic_private__", None) for part in (first, second))
        return same(*map(_fields, (first, second))) and same(*private)
    try:
        result = first == second
        if isinstance(result, bool) or type(result).__name__ == "bool_":
            if result or (first != first and second != second):  # NaN is not itself
                return True
            plain = kind.__eq__ is object.__eq__ and hasattr(first, "__dict__")
            return plain and same(vars(first), vars(second))
        return pickle.dumps(first) == pickle.dumps(second)
    except Exception:  # noqa: BLE001  # a user's type may fail to compare in any way
        return False


def _fields(value: Any) -> dict[str, Any]:
    slots = (name for base in type(value).__mro__ for name in getattr(base, "__slots__", ()))
    names = [*getattr(value, "__dict__", ()), *slots]
    return {name: getattr(value, name, None) for name in names if not name.startswith("__")}
