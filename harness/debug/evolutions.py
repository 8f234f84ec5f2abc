"""A finished evolution post-mortem: its graph state, node by node, without a call."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from harness.core import BadInput

CHECKPOINTS = "checkpoints.sqlite"


def is_evolution(run: Path) -> bool:
    """Whether a folder is what `harness evolve --out` leaves."""
    return (run / CHECKPOINTS).is_file()


def copy_state(run: Path, path: Path) -> None:
    """Copy an evolution's graph state into a new store at `path`.

    The folder is only read. Its nodes are served from what they wrote; run live they would need
    the evolution's own context, which `harness evolve --resume` has.

    Raises:
        BadInput: if the state cannot be read.
    """
    source = (run / CHECKPOINTS).resolve()
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as db,
            closing(sqlite3.connect(path)) as copy,
        ):
            db.backup(copy)
    except sqlite3.Error as error:
        raise BadInput(f"expected graph state at {str(source)!r}, found {error}") from error
