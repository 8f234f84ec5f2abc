"""The run directory: append-only, one writer, resumable by any engine.

`run.json` is the lock of what the run depends on (digests of tasks, skill, prompts, model,
config, code version); `items.seg` and `trajectories.seg` hold records; `calls.sqlite` and
`checkpoints.sqlite` are opened by the rooms that own them.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from harness.core.documents import read_json
from harness.core.errors import BadInput
from harness.core.files import write_atomic
from harness.core.segments import SegmentWriter, only_writer, read_latest, read_segment

SCHEMA_VERSION = 1


def new_run_id(kind: str) -> str:
    """A sortable id such as `eval-20261121-045501-9f3a`."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def _lock_of(run: Path) -> dict[str, Any]:
    lock = read_json(run / "run.json")
    if not isinstance(lock, dict):
        raise BadInput(f"{str(run / 'run.json')!r}: expected a JSON object, got {lock!r:.60}")
    return cast("dict[str, Any]", lock)


class RunReader:
    """Reads a run directory, finished or not; never writes."""

    def __init__(self, path: Path) -> None:
        if not (path / "run.json").is_file():
            raise BadInput(f"no run at {str(path)!r} (expected a folder with run.json)")
        self.path = path
        self.lock = _lock_of(path)
        version = self.lock.get("schema_version")
        if version != SCHEMA_VERSION:
            raise BadInput(
                f"{path}: run of schema {version!r}, this version reads {SCHEMA_VERSION}"
            )

    def items(self) -> Iterator[dict[str, Any]]:
        """Item records in the order they finished: of several of one id, the last counts."""
        return read_segment(self.path / "items.seg")

    def trajectories(self) -> Iterator[dict[str, Any]]:
        """ATIF trajectories in the order they finished, the last one of every attempt."""
        return read_latest(self.path / "trajectories.seg", "trajectory_id")


def looks_of(path: Path) -> list[Path]:
    """The run folders of a gate's side, which runs its tasks in looks; none in any other folder."""
    return sorted(run.parent for run in path.glob("look-*/run.json"))


class RunWriter(RunReader):
    """The one writer of a run directory. Use as a context manager.

    A run that exists is resumed if what it depends on (`lock`) is unchanged.
    """

    def __init__(self, path: Path, lock: dict[str, Any]) -> None:
        self._guard = only_writer(path)
        try:
            for entry in list(os.scandir(path)):  # a run may come from a stranger
                if not entry.is_file(follow_symlinks=False) and not entry.is_dir(
                    follow_symlinks=False
                ):
                    raise BadInput(
                        f"{entry.path!r} is a link or no ordinary file: expected a run folder with "
                        "files of its own; copy what it leads to, or start a new run"
                    )
            expected = {"schema_version": SCHEMA_VERSION, **lock}
            if (path / "run.json").exists():
                stored = _lock_of(path)
                current = json.loads(json.dumps(expected))
                keys = sorted(stored.keys() | current.keys())
                if changed := [key for key in keys if stored.get(key) != current.get(key)]:
                    raise BadInput(
                        f"{str(path)!r} was started with other {', '.join(changed)}: start a new "
                        "run instead"
                    )
            else:
                text = json.dumps(expected, indent=2, sort_keys=True)
                write_atomic(path / "run.json", text + "\n")
            super().__init__(path)
        except BaseException:
            self._guard.close()
            raise
        self._items = SegmentWriter(path / "items.seg")
        self._trajectories = SegmentWriter(path / "trajectories.seg")

    @property
    def dropped_bytes(self) -> int:
        """Bytes of torn records that a kill had left and that opening cut off."""
        return self._items.dropped_bytes + self._trajectories.dropped_bytes

    def append_trajectory(self, record: dict[str, Any]) -> None:
        """Store a trajectory; write it before the item record that refers to it."""
        self._trajectories.append(record, sync=False)

    def append_item(self, record: dict[str, Any]) -> None:
        """Store the record that says an item is finished."""
        self._items.append(record, sync=False)

    def sync(self) -> None:
        """Wait until what was appended is on the disk; another thread may go on appending.

        A kill loses nothing that was appended. A loss of power may lose what was not synced: those
        attempts are made again, on replies that are stored.

        Raises:
            BadInput: if the disk is full.
        """
        self._trajectories.sync()
        self._items.sync()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.sync()
        finally:
            self._items.close()
            self._trajectories.close()
            self._guard.close()
