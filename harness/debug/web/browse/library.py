"""Eval runs, matrices and evolutions in a folder, by name; nothing else can be asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from harness.core import BadInput, Trajectory
from harness.core.redaction import redact
from harness.core.rundir import RunReader
from harness.core.segments import read_at, read_placed
from harness.evals import EvalReport, ItemRecord, summarise
from harness.trajectories import find_trajectory

Kind = Literal["eval", "evolution", "matrix"]
Kept = Callable[[Path, str], Trajectory]
"""Gives a trajectory that an evolution in a folder kept itself; BadInput if it kept none."""
DEPTH = 5
"""Folders below the root that are looked into."""
TASK = 2000
"""Characters of a task that are listed and searched."""
MARKS: dict[str, Kind] = {"run.json": "eval", "evolve.json": "evolution", "matrix.json": "matrix"}
_NAMES = {"eval": "an eval run", "evolution": "an evolution", "matrix": "a matrix"}
_SKIPPED = frozenset(("work", "patches", "skill", "export", "node_modules"))

clean_text = lru_cache(maxsize=512)(redact)
"""A text without secrets. Texts repeat: in a copy each is cleaned for its transcript and again on
its way out."""


class EvalRun:
    """A run folder, which a run may still be writing: read once, then only what was appended since.

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
            appended = self._appended("items.seg")
            new = {row["id"]: ItemRecord.model_validate(row) for _, row in appended}
            if new:  # others may be reading the one before
                self._items = {**self._items, **new}
            return self._items

    def report(self) -> EvalReport:
        """The report so far."""
        items = list(self.items().values())
        return summarise(
            self.lock, self.path.name, items, sum(item.usage.seconds for item in items)
        )

    def same_tasks(self, run: EvalRun) -> bool:
        """Return whether both runs are attempts at the same tasks."""
        names = ("suite", "split", "tasks", "limit")
        return all(self.lock.get(name) == run.lock.get(name) for name in names)

    def texts(self) -> dict[str, str]:
        """Return the tasks of all attempts that left a trajectory, cut at :data:`TASK`."""
        with self._mutex:
            texts: dict[str, str] = {}
            for offset, row in self._appended("trajectories.seg"):
                name = str(row.get("trajectory_id", ""))
                self._offsets[name] = offset
                texts[name] = redact(_task_text(row))[:TASK]
            if texts:
                self._texts = {**self._texts, **texts}
            return self._texts

    def has(self, item: str) -> bool:
        """Return whether the attempt left a trajectory."""
        return item in self.texts()

    def trajectory(self, item: str) -> Trajectory:
        """Return the trajectory of an attempt.

        Raises:
            BadInput: if it left no trajectory.
        """
        if not self.has(item):
            raise BadInput(f"no trajectory of {item!r} in {str(self.path)!r}")
        row = read_at(self.path / "trajectories.seg", self._offsets[item])
        return Trajectory.model_validate(row)

    def _appended(self, name: str) -> Iterator[tuple[int, Any]]:
        """Records since the last look, from the last one known: behind it a torn one may lie."""
        path = self.path / name
        size = path.stat().st_size if path.is_file() else 0
        last, read_size = self._read.get(name, (0, 0))
        if size == read_size:
            return
        for offset, row in read_placed(path, last):
            last = offset
            yield offset, row
        self._read[name] = (last, size)


def _task_text(row: dict[str, Any]) -> str:
    """The task's own words, else the first message of the user."""
    extra: dict[str, Any] = row.get("extra") or {}
    harness: dict[str, Any] = extra.get("harness") or {}
    task: dict[str, Any] = harness.get("task") or {}
    if isinstance(task.get("prompt"), str):
        return task["prompt"]
    messages = [step["message"] for step in row["steps"] if step["source"] == "user"]
    return messages[0] if messages and isinstance(messages[0], str) else ""


@dataclass(frozen=True)
class Place:
    """A folder that can be shown.

    Attributes:
        name: its path below the root, `.` for the root itself.
        changed: when its records changed last, seconds since 1970.
    """

    name: str
    path: Path
    kind: Kind
    changed: float


class Library:
    """Runs and evolutions under a folder, read-only.

    Args:
        root: a run folder, an evolution's folder, or a folder of such.
        trajectories: where the trajectories of evolutions lie that were not made by a suite.
        kept: reads those that an evolution kept.
    """

    def __init__(
        self, root: Path, *, trajectories: Path | None = None, kept: Kept | None = None
    ) -> None:
        self.root = root
        self._trajectories, self._read_kept = trajectories, kept
        self._places: dict[str, Place] = {}
        self._runs: dict[Path, EvalRun] = {}

    def places(self) -> list[Place]:
        """Everything under the root, the latest first; links are not followed."""
        self._places = {entry.name: entry for entry in _walk(self.root)}
        return sorted(self._places.values(), key=lambda entry: (-entry.changed, entry.name))

    def whole(self) -> str:
        """Address of the root, where the root itself is something to show; else ""."""
        kinds = {entry.kind for entry in self.places() if entry.name == "."}
        names = {"evolution": "evolution", "matrix": "matrix", "eval": "run"}
        return next((f"{name}=." for kind, name in names.items() if kind in kinds), "")

    def place(self, name: str, kind: Kind) -> Place:
        """The place of that name.

        Raises:
            BadInput: if there is none of this kind.
        """
        if name not in self._places:
            self.places()
        entry = self._places.get(name)
        if entry is None or entry.kind != kind:
            raise BadInput(
                f"expected the name of {_NAMES[kind]} in {str(self.root)!r}, found {name!r}"
            )
        return entry

    def run(self, name: str) -> EvalRun:
        """The eval run of that name; what was read of it is kept.

        Raises:
            BadInput: if there is none, or it is one of another version.
        """
        path = self.place(name, "eval").path
        if path not in self._runs:
            self._runs[path] = EvalRun(path)
        return self._runs[path]

    def arms(self, name: str) -> list[str]:
        """Eval runs of the same tasks in the same folder, `name` first."""
        run = self.run(name)
        if name == ".":
            return [name]
        arms = [name]
        parent = run.path.parent
        for path in (parent / folder for folder in sorted(_listed(parent)[0]) if _shown(folder)):
            if path.is_symlink() or path == run.path or "run.json" not in _listed(path)[1]:
                continue
            beside = path.relative_to(self.root).as_posix()
            try:
                if self.run(beside).same_tasks(run):
                    arms.append(beside)
            except BadInput:
                continue  # of another version
        return arms

    def home(self, evolution: str, trajectory_id: str) -> str | None:
        """The eval run inside an evolution that holds a trajectory."""
        below = self.place(evolution, "evolution").path / "runs"
        for entry in self._places.values():
            inside = entry.kind == "eval" and entry.path.is_relative_to(below)
            if inside and self.run(entry.name).has(trajectory_id):
                return entry.name
        return None

    def taught(self, evolution: str, trajectory_id: str) -> Trajectory:
        """A trajectory that an evolution learned from, wherever it lies.

        Raises:
            BadInput: if it lies in none of the places that are known.
        """
        run = self.home(evolution, trajectory_id)
        if run is not None:
            return self.run(run).trajectory(trajectory_id)
        if self._trajectories is not None:
            return find_trajectory(self._trajectories, trajectory_id)
        if self._read_kept is not None:
            return self._read_kept(self.place(evolution, "evolution").path, trajectory_id)
        raise BadInput(
            f"the trajectories of {evolution!r} do not lie beside it: name them with --trajectories"
        )


def _walk(root: Path) -> Iterator[Place]:
    for folder, below, files in os.walk(root):
        path = Path(folder)
        name = path.relative_to(root).as_posix()
        for mark, kind in MARKS.items():
            if mark in files:
                records = (path / mark, path / "items.seg")
                times = [file.stat().st_mtime for file in records if file.exists()]
                yield Place(name, path, kind, max(times, default=0.0))
        deep = name.count("/") + 1 >= DEPTH or "run.json" in files
        below[:] = [] if deep else filter(_shown, sorted(below))


def _listed(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and the files in a folder; none where it cannot be read."""
    for _, below, files in os.walk(folder):
        return below, files
    return [], []


def _shown(name: str) -> bool:
    return name not in _SKIPPED and not name.startswith(".")
