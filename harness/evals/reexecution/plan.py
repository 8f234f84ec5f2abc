"""From a recorded trajectory to what must be run: code, input path and output path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.core import BadInput, Trajectory, Value
from harness.trajectories import content_text

_PATH = re.compile(r"^###\s*(spreadsheet_path|output_path)[ \t]*\n+[ \t]*(/\S+)", re.MULTILINE)
_FENCE = re.compile(r"```python[ \t]*\n(.*?)```", re.DOTALL)


class RunPlan(Value):
    """What one recorded run executed, and where.

    Attributes:
        id: trajectory id.
        task_id: the task it worked on.
        root: the folder on the recording machine that held input and output.
        input: the input workbook, relative to `root`.
        output: the output workbook, relative to `root`.
        codes: the scripts, in order; they shared one namespace.
    """

    id: str
    task_id: str
    root: str
    input: str
    output: str
    codes: tuple[str, ...]


def plan_run(trajectory: Trajectory) -> RunPlan:
    """Read a plan from a trajectory whose first user message names both paths.

    Of each reply, the first Python fence counts: that is what the recording runner executed. A
    reply without a fence was executed whole there, ended in a syntax error, and has no effect here.

    Raises:
        BadInput: if the first user message does not name both paths, under one folder.
    """
    name = trajectory.trajectory_id or "?"
    prompt = next((content_text(s.message) for s in trajectory.steps if s.source == "user"), "")
    # The last one of each: a skill text before the task may show the same headings.
    paths = {match[1]: match[2] for match in _PATH.finditer(prompt)}
    try:
        source, target = paths["spreadsheet_path"], paths["output_path"]
    except KeyError as error:
        raise BadInput(f"{name}: the first user message names no {error.args[0]}") from error
    root = os.path.commonpath([source, target])
    if root == "/" or ".." in PurePosixPath(source).parts + PurePosixPath(target).parts:
        raise BadInput(
            f"{name}: expected input and output under one folder, {source!r}, {target!r}"
        )
    return RunPlan(
        id=name,
        task_id=str(trajectory.harness.get("task_id") or name),
        root=root,
        input=os.path.relpath(source, root),
        output=os.path.relpath(target, root),
        codes=tuple(_codes(trajectory)),
    )


def _codes(trajectory: Trajectory) -> Iterator[str]:
    for step in trajectory.steps:
        found = _FENCE.search(content_text(step.message)) if step.source == "agent" else None
        if found is not None:
            yield found[1]
