"""One trajectory for people."""

from __future__ import annotations

import json
from pathlib import Path

from harness.core import BadInput, Step, Trajectory
from harness.trajectories.formats import open_trajectories
from harness.trajectories.store import TrajectoryStore
from harness.trajectories.text import content_text


def find_trajectory(path: Path, trajectory_id: str) -> Trajectory:
    """The trajectory of that id in anything that can be read.

    Raises:
        BadInput: if there is none, or `path` cannot be read.
    """
    if (path / "trajectories.seg").is_file() and not (path / "run.json").exists():
        return TrajectoryStore(path).get(trajectory_id)
    for trajectory in open_trajectories(path):
        if trajectory.trajectory_id == trajectory_id:
            return trajectory
    raise BadInput(f"no trajectory {trajectory_id!r} in {str(path)!r}: `list` shows what is there")


def describe(trajectory: Trajectory, step_id: int | None = None, width: int = 400) -> str:
    """Text of a trajectory, or of one step.

    Args:
        trajectory: what to show.
        step_id: only this step, counted from 1.
        width: characters of each text; 0 for all.

    Raises:
        BadInput: if there is no such step.
    """
    steps = [step for step in trajectory.steps if step_id in (None, step.step_id)]
    if not steps:
        raise BadInput(f"expected a step from 1 to {len(trajectory.steps)}, got {step_id!r}")
    agent = trajectory.agent
    outcome = trajectory.harness.get("outcome") or "unlabelled"
    head = f"{trajectory.trajectory_id}  {outcome}  {agent.name} {agent.model_name or ''}".rstrip()
    return "\n".join([head, *(line for step in steps for line in _lines(step, width))])


def _lines(step: Step, width: int) -> list[str]:
    lines = [f"[{step.step_id}] {step.source}: {_cut(content_text(step.message), width)}"]
    for call in step.tool_calls or ():
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        lines.append(f"    call {call.function_name}({_cut(arguments, width)})")
    results = step.observation.results if step.observation else ()
    return lines + [f"    -> {_cut(content_text(r.content or ''), width)}" for r in results]


def _cut(text: str, width: int) -> str:
    if not width or len(text) <= width:
        return text
    return f"{text[:width]}... ({len(text) - width:,} more characters)"
