"""Which run folder holds an item, and what it recorded of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import BadInput, Trajectory
from harness.core.rundir import RunReader
from harness.models import CallStore, StoredCall

LISTED = 10
"""Ids that an error names."""


@dataclass(frozen=True)
class Found:
    """A finished item.

    Attributes:
        run: its run folder; inside the folder of an evolution for one of its attempts.
        lock: what the run depends on (`run.json`).
        record: the item's record, as JSON; of an invalid attempt that was repeated, the last.
        trajectory: what the attempt left.
        calls: answered model calls of the trajectory, in its order; those that are not stored
            (a foreign agent's) are missing.
    """

    run: Path
    lock: dict[str, Any]
    record: dict[str, Any]
    trajectory: Trajectory
    calls: tuple[StoredCall, ...]


def find_item(run: Path, item: str) -> Found:
    """The item of that id in a run folder, or in one of the runs below it.

    Raises:
        BadInput: if there is no run or no such item, or several runs below have it.
    """
    holding: list[tuple[RunReader, dict[str, Any]]] = []
    known: list[str] = []
    for reader in map(RunReader, run_folders(run)):
        rows = [(str(row.get("id")), row) for row in reader.items()]
        matching = [row for name, row in rows if name == item]
        if matching:
            holding.append((reader, matching[-1]))
        known += [name for name, _ in rows[: LISTED - len(known)]]
    if len(holding) > 1:
        names = ", ".join(str(reader.path) for reader, _ in holding[:LISTED])
        raise BadInput(f"{len(holding)} runs have an item {item!r}; name one with --run: {names}")
    if not holding:
        raise BadInput(f"no finished item {item!r} in {str(run)!r}; it has {', '.join(known)}, …")
    [(reader, record)] = holding
    left = [one for one in reader.trajectories() if one.get("trajectory_id") == item]
    if not left:
        raise BadInput(f"item {item!r} of {str(reader.path)!r} left no trajectory")
    trajectory = Trajectory.model_validate(left[-1])
    path = reader.path / "calls.sqlite"
    calls = asyncio.run(_calls(path, trajectory)) if path.is_file() else ()
    return Found(reader.path, reader.lock, record, trajectory, calls)


def run_folders(run: Path) -> list[Path]:
    """The run folder itself, or every run below it (an evolution's attempts), sorted.

    Raises:
        BadInput: if there is none.
    """
    found = [run] if (run / "run.json").is_file() else []
    found += sorted(path.parent for path in run.glob("*/**/run.json"))
    if not found:
        raise BadInput(f"no run at {str(run)!r} (expected a folder with run.json, or one above)")
    return found


async def _calls(path: Path, trajectory: Trajectory) -> tuple[StoredCall, ...]:
    ids = [step.call_id for step in trajectory.steps if step.call_id is not None]
    with CallStore(path) as store:
        stored = [await store.find(one) for one in ids]
    return tuple(call for call in stored if call is not None)
