"""Trajectories that an evolution kept for itself, read from its folder without writing there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import zstandard

from harness.core import BadInput, Trajectory
from harness.evolve.artifacts import NAME
from harness.evolve.runs import Runs

_HEAD = b'{"runs":[{'
"""How the list of trajectories begins, as :class:`Runs` is written."""


def kept_trajectory(out: Path, trajectory_id: str) -> Trajectory:
    """The trajectory of that id that the evolution in the folder `out` learned from.

    Raises:
        BadInput: if it kept none of that id.
    """
    path = (out / NAME).resolve()
    log = path.with_name(f"{NAME}-wal")
    try:
        with closing(_opened(path)) as db:
            for key in _index(path, (_stamp(path), _stamp(log))).get(trajectory_id, ()):
                row = db.execute("SELECT value FROM shelf WHERE digest = ?", (key,)).fetchone()
                if row is not None:
                    return Trajectory.model_validate_json(_unpacked(row[0]))
    except sqlite3.Error as error:
        raise BadInput(f"expected what an evolution kept at {str(path)!r}: {error}") from error
    raise BadInput(f"{str(out)!r} keeps no trajectory {trajectory_id!r}: name --trajectories")


Stamp = tuple[int, int] | None
"""When a file was written, and its size; None where there is none."""


@lru_cache(maxsize=4)
def _index(path: Path, stamps: tuple[Stamp, Stamp]) -> dict[str, list[str]]:
    """Id -> digests of the trajectories of that id, in all lists of trajectories that are kept.

    Args:
        path: of the shelf.
        stamps: of the shelf and its write-ahead log: another one is another index.
    """
    found: dict[str, list[str]] = {}
    with closing(_opened(path)) as db:
        for (value,) in db.execute("SELECT value FROM shelf"):
            if zstandard.ZstdDecompressor().stream_reader(value).read(len(_HEAD)) == _HEAD:
                for run in Runs.model_validate_json(_unpacked(value)).runs:
                    found.setdefault(run.id, []).append(run.digest)
    return found


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _unpacked(value: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(value)
