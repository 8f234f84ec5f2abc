"""Trajectories on disk: an append-only segment and a small index of offsets."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from harness.core import BadInput, Trajectory, read_foreign, write_atomic
from harness.core.segments import SegmentWriter, only_writer, read_at, read_latest, read_placed

_FRAME = struct.Struct("<II")  # length and CRC-32 of the payload: see harness.core.segments


def dump(trajectory: Trajectory) -> dict[str, Any]:
    """The ATIF document of a trajectory, without empty fields."""
    return trajectory.model_dump(mode="json", exclude_none=True)


class TrajectoryStore:
    """A folder with `trajectories.seg` and `index.jsonl` (id and byte offset of every record).

    The index is derived: one that is missing or short after a kill is made again from the segment.
    One process may append at a time; reading needs no lock and holds one record at a time.

    Args:
        path: the folder; it is made when the first record is appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._segment = path / "trajectories.seg"
        self._index_file = path / "index.jsonl"
        self._writer: SegmentWriter | None = None
        self._guard: TextIO | None = None
        self._index = self._load_index()

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, trajectory_id: object) -> bool:
        return trajectory_id in self._index

    def __iter__(self) -> Iterator[Trajectory]:
        for record in read_latest(self._segment, "trajectory_id"):
            yield Trajectory.model_validate(record)

    def __enter__(self) -> TrajectoryStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ids(self) -> list[str]:
        """All ids, in the order they were appended."""
        return list(self._index)

    def get(self, trajectory_id: str) -> Trajectory:
        """Read one trajectory.

        Raises:
            BadInput: if there is none of that id.
        """
        if trajectory_id not in self._index:
            first = ", ".join(list(self._index)[:5])
            raise BadInput(
                f"no trajectory {trajectory_id!r} in {str(self.path)!r} ({len(self)} there: {first}"
                f"{', ...' if len(self) > 5 else ''})"
            )
        return Trajectory.model_validate(read_at(self._segment, self._index[trajectory_id]))

    def append(self, trajectory: Trajectory) -> None:
        """Write one trajectory through to the disk.

        Raises:
            BadInput: if its id is empty or taken, another process writes, or the disk is full.
        """
        trajectory_id = trajectory.trajectory_id
        if not trajectory_id or trajectory_id in self._index:
            raise BadInput(
                f"expected a trajectory id that {str(self.path)!r} does not hold yet,"
                f" got {trajectory_id!r}"
            )
        writer = self._writer or self._open()
        offset = writer.append(dump(trajectory))
        self._index[trajectory_id] = offset
        with self._index_file.open("a", encoding="utf-8") as handle:
            handle.write(json.dumps({"id": trajectory_id, "offset": offset}) + "\n")

    def close(self) -> None:
        """Let another process write."""
        if self._writer is not None:
            self._writer.close()
        if self._guard is not None:
            self._guard.close()
        self._writer = self._guard = None

    def _open(self) -> SegmentWriter:
        self._guard = only_writer(self.path)
        self._writer = SegmentWriter(self._segment)
        lines = "".join(
            json.dumps({"id": name, "offset": offset}) + "\n"
            for name, offset in self._index.items()
        )
        write_atomic(self._index_file, lines)  # in place of a link
        return self._writer

    def _load_index(self) -> dict[str, int]:
        if not self._segment.exists():
            return {}
        index: dict[str, int] = {}
        try:
            for line in read_foreign(self._index_file).decode().splitlines():
                row = json.loads(line)
                index[row["id"]] = row["offset"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            index = {}
        return index if self._covers(index) else self._scan()

    def _covers(self, index: dict[str, int]) -> bool:
        """Return True if the last record of the index ends where the segment ends."""
        size = self._segment.stat().st_size
        last = max(index.values(), default=None)
        if last is None:
            return size == 0
        with self._segment.open("rb") as handle:
            handle.seek(last)
            head = handle.read(_FRAME.size)
        return len(head) == _FRAME.size and last + _FRAME.size + _FRAME.unpack(head)[0] == size

    def _scan(self) -> dict[str, int]:
        placed = read_placed(self._segment)
        return {str(record.get("trajectory_id", "")): offset for offset, record in placed}
