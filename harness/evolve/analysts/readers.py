"""Which analyst reads which trajectory."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.core import Task, Trajectory, digest
from harness.evolve.analysts.agentic import analyse_failure
from harness.evolve.analysts.single import Reading, analyse, lost
from harness.evolve.evidence import task_id
from harness.evolve.evolution import Read
from harness.evolve.types import AnalystType
from harness.models import Model
from harness.sandbox import Sandbox


def single_reader(model: Model, skill: str) -> Read:
    """One call reads one trajectory (the single-call analysts of the paper)."""

    async def read(trajectory: Trajectory, kind: AnalystType) -> Reading:
        return await analyse(trajectory, kind, model, skill)

    return read


def agentic_reader(
    model: Model,
    skill: str,
    *,
    tasks: Mapping[str, Task],
    base: Path,
    sandbox: Sandbox,
    folder: Path,
    max_turns: int,
) -> Read:
    """An analyst with tools reads a failure and proves its fix; one call reads a success.

    Args:
        model: answers every call.
        skill: text of the frozen skill.
        tasks: task id -> task; a failure of any other task cannot be proven and is a loss.
        base: folder that paths of the tasks start at.
        sandbox: where the analysts' tools and fixes run.
        folder: one work folder a trajectory is made here, afresh each time.
        max_turns: model calls of one analyst at most.
    """

    async def read(trajectory: Trajectory, kind: AnalystType) -> Reading:
        if kind == "success":
            return await analyse(trajectory, kind, model, skill)
        task = tasks.get(task_id(trajectory))
        if task is None:
            reason = f"no task {task_id(trajectory)!r} to prove a fix on: give --tasks SUITE"
            return Reading(losses=(lost(trajectory, reason),))
        workdir = folder / _name(trajectory.trajectory_id)
        await asyncio.to_thread(shutil.rmtree, workdir, ignore_errors=True)
        record, losses, usage = await analyse_failure(
            trajectory,
            task,
            base,
            model=model,
            sandbox=sandbox,
            workdir=workdir,
            skill=skill,
            max_turns=max_turns,
        )
        return Reading(record=record, losses=tuple(losses), usage=usage)

    return read


def _name(trajectory_id: str) -> str:
    """A folder name that tells trajectories apart and that a person can read."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", trajectory_id)[:60].strip(".") or "run"
    return f"{plain}-{digest(trajectory_id)[:8]}"
