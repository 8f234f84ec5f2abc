"""Eval runs, matrices and evolutions in a folder, by name; nothing else can be asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.core import BadInput, Trajectory
from harness.debug.web.browse.runs import EvalRun
from harness.trajectories import find_trajectory

Kind = Literal["eval", "evolution", "matrix"]
Kept = Callable[[Path, str], Trajectory]
"""Gives a trajectory that an evolution in a folder kept itself; BadInput if it kept none."""
DEPTH = 5
"""Folders below the root that are looked into."""
MARKS: tuple[tuple[str, Kind], ...] = (
    ("run.json", "eval"),
    ("evolve.json", "evolution"),
    ("matrix.json", "matrix"),
)
_ASIDE = frozenset(("work", "patches", "skill", "export", "node_modules"))


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
    """What lies under a folder, read-only.

    Args:
        root: a run folder, an evolution's folder, or a folder of such.
        trajectories: where the trajectories of evolutions lie that were not made by a suite.
        kept: reads those that an evolution kept.
    """

    def __init__(
        self, root: Path, *, trajectories: Path | None = None, kept: Kept | None = None
    ) -> None:
        self.root = root
        self._trajectories, self._kept = trajectories, kept
        self._places: dict[str, Place] = {}
        self._runs: dict[Path, EvalRun] = {}

    def places(self) -> list[Place]:
        """Everything under the root, the latest first; links are not followed."""
        found = {place.name: place for place in _walk(self.root)}
        self._places = found
        return sorted(found.values(), key=lambda one: (-one.changed, one.name))

    def whole(self) -> str:
        """Address of the root, where the root itself is something to show; else ""."""
        kinds = {place.kind for place in self.places() if place.name == "."}
        names = {"evolution": "evolution", "matrix": "matrix", "eval": "run"}
        return next((f"{name}=." for kind, name in names.items() if kind in kinds), "")

    def place(self, name: str, kind: Kind) -> Place:
        """The place of that name.

        Raises:
            BadInput: if there is none of this kind.
        """
        if name not in self._places:
            self.places()
        found = self._places.get(name)
        if found is None or found.kind != kind:
            what = {"eval": "an eval run", "evolution": "an evolution", "matrix": "a matrix"}[kind]
            raise BadInput(f"expected the name of {what} in {str(self.root)!r}, found {name!r}")
        return found

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
        mine = self.run(name)
        if name == ".":
            return [name]
        beside = (one.relative_to(self.root).as_posix() for one in _runs_in(mine.path.parent))
        same = (one for one in sorted(beside) if one != name and self._same_tasks(one, mine))
        return [name, *same]

    def _same_tasks(self, name: str, other: EvalRun) -> bool:
        try:
            return self.run(name).same_tasks(other)
        except BadInput:
            return False  # of another version

    def home(self, evolution: str, trajectory_id: str) -> str | None:
        """The eval run inside an evolution that holds a trajectory."""
        below = self.place(evolution, "evolution").path / "runs"
        for one in self._places.values():
            inside = one.kind == "eval" and one.path.is_relative_to(below)
            if inside and self.run(one.name).has(trajectory_id):
                return one.name
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
        if self._kept is not None:
            return self._kept(self.place(evolution, "evolution").path, trajectory_id)
        raise BadInput(
            f"the trajectories of {evolution!r} do not lie beside it: name them with --trajectories"
        )


def _walk(root: Path) -> Iterator[Place]:
    for folder, below, files in os.walk(root):
        path = Path(folder)
        name = path.relative_to(root).as_posix()
        for mark, kind in MARKS:
            if mark in files:
                yield Place(name, path, kind, _changed(path, mark))
        deep = name.count("/") + 1 >= DEPTH or "run.json" in files
        below[:] = [] if deep else [one for one in sorted(below) if _searched(one)]


def _runs_in(folder: Path) -> Iterator[Path]:
    """The eval runs that are folders of this folder, as :func:`_walk` finds them."""
    below, _ = _listed(folder)
    for path in (folder / name for name in below if _searched(name)):
        if not path.is_symlink() and "run.json" in _listed(path)[1]:
            yield path


def _listed(folder: Path) -> tuple[list[str], list[str]]:
    """Names of the folders and the files in a folder; none where it cannot be read."""
    for _, below, files in os.walk(folder):
        return below, files
    return [], []


def _searched(name: str) -> bool:
    return name not in _ASIDE and not name.startswith(".")


def _changed(path: Path, mark: str) -> float:
    times = [one.stat().st_mtime for one in (path / mark, path / "items.seg") if one.exists()]
    return max(times, default=0.0)
