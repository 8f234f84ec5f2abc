"""The reversible store: sources by content, and what was left out of them under an ID."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import zstandard

from harness.core import BadInput, cache_root
from harness.rag.compress.markers import EXPANDABLE, ID_LENGTH

# Characters of a stored block: a range is read without the rest of its source.
BLOCK = 1 << 18
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sources (digest TEXT PRIMARY KEY, characters INTEGER);
CREATE TABLE IF NOT EXISTS blocks (digest TEXT, number INTEGER, data BLOB,
                                   PRIMARY KEY (digest, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS omissions (id TEXT, place INTEGER, digest TEXT, start INTEGER,
                                      "end" INTEGER, PRIMARY KEY (id, place)) WITHOUT ROWID;
"""
# Digest of a source, first character, character behind the last one.
Part = tuple[str, int, int]


def text_digest(blocks: Iterable[str]) -> str:
    """SHA-256 of a text in UTF-8, however it is divided; lone surrogates stand as they are."""
    hashed = hashlib.sha256()
    for block in blocks:
        hashed.update(block.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


def part_id(parts: Sequence[Part]) -> str:
    """ID of what `parts` hold: the same for the same parts of the same texts, on any machine."""
    lines = "\n".join(f"{digest} {start} {end}" for digest, start, end in parts)
    return hashlib.sha256(lines.encode()).hexdigest()[:ID_LENGTH]


class Store:
    """Sources and omissions in one SQLite file, safe for several processes.

    Args:
        folder: made if absent, readable by its owner only; default `compress` in the cache
            folder of :func:`harness.core.cache_root`.

    Raises:
        BadInput: if the folder cannot be written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_root() / "compress"
        self._path = self.folder / "store.sqlite"

    def put_source(self, digest: str, blocks: Iterable[str]) -> None:
        """Keep a source; nothing is written where it is there already.

        Args:
            digest: :func:`text_digest` of the text.
            blocks: the text in order, divided anywhere.
        """
        packer = zstandard.ZstdCompressor()
        with self._open() as database:
            if database.execute("SELECT 1 FROM sources WHERE digest = ?", (digest,)).fetchone():
                return
            characters = 0
            for number, block in enumerate(_even(blocks)):
                data = packer.compress(block.encode("utf-8", "surrogatepass"))
                database.execute(
                    "INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", (digest, number, data)
                )
                characters += len(block)
            database.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (digest, characters))

    def put_omissions(self, omissions: Iterable[Sequence[Part]]) -> None:
        """Keep what each omission's ID stands for; its sources must be there."""
        rows = [
            (part_id(parts), position, *part)
            for parts in omissions
            for position, part in enumerate(parts)
        ]
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO omissions VALUES (?, ?, ?, ?, ?)", rows)

    def expand(self, id_: str) -> str:
        """The text that was left out under an ID, older markers inside it expanded too.

        Parts of several documents come in order, blank lines between them.

        Raises:
            BadInput: if the store has no such ID.
        """
        if not self._path.is_file():
            raise BadInput(f"nothing was compressed into {str(self.folder)!r} yet")
        query = 'SELECT digest, start, "end" FROM omissions WHERE id = ? ORDER BY place'
        with self._open() as database:
            parts = database.execute(query, (id_,)).fetchall()
            if not parts:
                raise BadInput(
                    f"no part with the ID {id_!r} in {str(self.folder)!r}: expected the "
                    f"{ID_LENGTH} hexadecimal digits of a marker, '[… expand ID]'"
                )
            text = "\n\n".join(_stored_text(database, *part) for part in parts)
        return EXPANDABLE.sub(self._inner, text)

    def _inner(self, marker: re.Match[str]) -> str:
        """Expand an older marker inside a part; an unknown one stays."""
        try:
            return self.expand(marker[1])
        except BadInput:
            return marker[0]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(sqlite3.connect(self._path, timeout=30)) as database:
                os.chmod(self._path, 0o600)  # noqa: PTH101  # one call, no second look-up
                database.executescript(_SCHEMA)
                with database:
                    yield database
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"cannot use the store {str(self._path)!r}: {error}") from error


def _even(blocks: Iterable[str]) -> Iterable[str]:
    """Divide a text anew into blocks of :data:`BLOCK` characters."""
    waiting = ""
    for block in blocks:
        waiting += block
        while len(waiting) >= BLOCK:
            yield waiting[:BLOCK]
            waiting = waiting[BLOCK:]
    if waiting:
        yield waiting


def _stored_text(database: sqlite3.Connection, digest: str, start: int, end: int) -> str:
    first, last = start // BLOCK, max(start, end - 1) // BLOCK
    rows = database.execute(
        "SELECT data FROM blocks WHERE digest = ? AND number BETWEEN ? AND ? ORDER BY number",
        (digest, first, last),
    )
    text = "".join(
        zstandard.ZstdDecompressor().decompress(data).decode("utf-8", "surrogatepass")
        for (data,) in rows
    )
    return text[start - first * BLOCK : end - first * BLOCK]
