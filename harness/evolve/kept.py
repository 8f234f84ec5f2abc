"""Trajectories that an evolution kept for itself, read from its folder without writing there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import zstandard

from harness.core import BadInput, Trajectory
from harness.evolve.runs import Runs
from harness.evolve.shelf import NAME

_HEAD = b'{"runs":[{'
"""How the list of trajectories begins, as :class:`Runs` is written."""


def kept_trajectory(out: Path, trajectory_id: str) -> Trajectory:
    """The trajectory of that id that the evolution in the folder `out` learned from.

    Raises:
        BadInput: if it kept none of that id.
    """
    path = (out / NAME).resolve()
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db:
            for key in _named(db, trajectory_id):
                row = db.execute("SELECT value FROM shelf WHERE digest = ?", (key,)).fetchone()
                if row is not None:
                    return Trajectory.model_validate_json(_unpacked(row[0]))
    except sqlite3.Error as error:
        raise BadInput(f"expected what an evolution kept at {str(path)!r}: {error}") from error
    raise BadInput(f"{str(out)!r} keeps no trajectory {trajectory_id!r}: name --trajectories")


def _named(db: sqlite3.Connection, trajectory_id: str) -> list[str]:
    """Digests of the trajectories of that id, in all lists of trajectories that are kept."""
    lists = [
        Runs.model_validate_json(_unpacked(value))
        for (value,) in db.execute("SELECT value FROM shelf")
        if zstandard.ZstdDecompressor().stream_reader(value).read(len(_HEAD)) == _HEAD
    ]
    return [run.digest for one in lists for run in one.runs if run.id == trajectory_id]


def _unpacked(value: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(value)
