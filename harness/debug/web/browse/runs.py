"""One eval run as the page asks for it: read once, then only what was appended since."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, Trajectory
from harness.core.redaction import redact
from harness.core.rundir import RunReader
from harness.core.segments import read_at, read_placed
from harness.evals import EvalReport, ItemRecord, summarise

TASK = 2000
"""Characters of a task that are listed and searched."""


class EvalRun:
    """A run folder, which a run may still be writing.

    Args:
        path: the folder.

    Raises:
        BadInput: if it is no run folder of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock: dict[str, Any] = RunReader(path).lock
        self._mutex = threading.Lock()
        self._items: dict[str, ItemRecord] = {}
        self._offsets: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._read: dict[str, tuple[int, int]] = {}

    def items(self) -> dict[str, ItemRecord]:
        """The last record of every attempt by its id, in the order of first finishing."""
        with self._mutex:
            for _, row in self._appended("items.seg"):
                self._items[row["id"]] = ItemRecord.model_validate(row)
            return dict(self._items)

    def report(self) -> EvalReport:
        """The report so far."""
        items = list(self.items().values())
        return summarise(
            self.lock, self.path.name, items, sum(item.usage.seconds for item in items)
        )

    def same_tasks(self, other: EvalRun) -> bool:
        """Whether both runs are attempts at the same tasks."""
        names = ("suite", "split", "tasks", "limit")
        return all(self.lock.get(name) == other.lock.get(name) for name in names)

    def texts(self) -> dict[str, str]:
        """What was asked in every attempt that left a trajectory, cut at :data:`TASK`."""
        self._index()
        return dict(self._texts)

    def has(self, item: str) -> bool:
        """Whether the attempt left a trajectory."""
        self._index()
        return item in self._offsets

    def trajectory(self, item: str) -> Trajectory:
        """What an attempt did.

        Raises:
            BadInput: if it left no trajectory.
        """
        self._index()
        if item not in self._offsets:
            raise BadInput(f"no trajectory of {item!r} in {str(self.path)!r}")
        row = read_at(self.path / "trajectories.seg", self._offsets[item])
        return Trajectory.model_validate(row)

    def _index(self) -> None:
        with self._mutex:
            for at, row in self._appended("trajectories.seg"):
                name = str(row.get("trajectory_id", ""))
                self._offsets[name] = at
                self._texts[name] = redact(_asked(row))[:TASK]

    def _appended(self, name: str) -> Iterator[tuple[int, Any]]:
        """Records since the last look, from the last one known: behind it a torn one may lie."""
        path = self.path / name
        size = path.stat().st_size if path.is_file() else 0
        last, known = self._read.get(name, (0, 0))
        if size == known:
            return
        for at, row in read_placed(path, last):
            last = at
            yield at, row
        self._read[name] = (last, size)


def _asked(row: dict[str, Any]) -> str:
    """The task's own words, else the first message of the user."""
    extra: dict[str, Any] = row.get("extra") or {}
    harness: dict[str, Any] = extra.get("harness") or {}
    task: dict[str, Any] = harness.get("task") or {}
    if isinstance(task.get("prompt"), str):
        return task["prompt"]
    messages = [step["message"] for step in row["steps"] if step["source"] == "user"]
    return messages[0] if messages and isinstance(messages[0], str) else ""
