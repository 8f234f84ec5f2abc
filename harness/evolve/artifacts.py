"""Where the stages of an evolution leave what they made: values by their digest, in one file.

Graph state carries the digests alone, so a checkpoint stays small however long the trajectories
are, and no stage holds more than it works on.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import TypeVar

import zstandard
from pydantic import BaseModel

from harness.core import BadInput, digest

ValueT = TypeVar("ValueT", bound=BaseModel)
NAME = "work.sqlite"


class Shelf:
    """Values by digest in `work.sqlite`; putting a value twice keeps one copy.

    A value is on disk when :meth:`put` returns: a checkpoint that names it can be resumed from.

    Args:
        path: the file, made if absent; None keeps everything in memory.

    Raises:
        BadInput: if the file is no shelf, or the disk is full.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._name = str(path or "memory")
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The graph library runs plain functions on threads of its own.
            self._db = sqlite3.connect(
                path or ":memory:", isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS shelf (digest TEXT PRIMARY KEY, value BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise BadInput(f"cannot open {self._name!r}: {error}") from error
        self._held: dict[type[BaseModel], tuple[str, BaseModel]] = {}
        self._lock = threading.Lock()
        self._packer = zstandard.ZstdCompressor(level=3)
        self._unpacker = zstandard.ZstdDecompressor()

    def put(self, value: BaseModel) -> str:
        """Keep a value; its digest.

        Raises:
            BadInput: if it cannot be written.
        """
        data = value.model_dump_json().encode()
        key = digest(data)
        try:
            with self._lock:
                row = (key, self._packer.compress(data))
                self._db.execute("INSERT OR IGNORE INTO shelf VALUES (?, ?)", row)
        except sqlite3.Error as error:
            raise BadInput(f"cannot write {self._name!r}: {error}; free space, resume") from error
        return key

    def get(self, key: str, kind: type[ValueT]) -> ValueT:
        """The value of that digest.

        Raises:
            BadInput: if there is none.
        """
        with self._lock:
            row = self._db.execute("SELECT value FROM shelf WHERE digest = ?", (key,)).fetchone()
            data = self._unpacker.decompress(row[0]) if row else b""
        if row is None:
            raise BadInput(f"{self._name!r} does not hold {key[:12]}: it belongs to another run")
        return kind.model_validate_json(data)

    def hold(self, key: str, kind: type[ValueT]) -> ValueT:
        """As :meth:`get`, and kept in memory until another value of its kind is asked for."""
        known = self._held.get(kind)
        if known is None or known[0] != key:
            known = (key, self.get(key, kind))
            self._held[kind] = known
        assert isinstance(known[1], kind)
        return known[1]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
