"""One recorded run: from its trajectory to what must be run, and running that in the sandbox."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

from harness.core import BadInput, Trajectory, Value
from harness.sandbox import Limits, Sandbox
from harness.trajectories import content_text

_DRIVER = Path(__file__).with_name("driver.py")
_MEMORY_MB = 4096
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
    replies = [content_text(step.message) for step in trajectory.steps if step.source == "agent"]
    fences = filter(None, (_FENCE.search(reply) for reply in replies))
    return RunPlan(
        id=name,
        task_id=str(trajectory.harness.get("task_id") or name),
        root=root,
        input=os.path.relpath(source, root),
        output=os.path.relpath(target, root),
        codes=tuple(fence[1] for fence in fences),
    )


class Execution(Value):
    """What executing a run left.

    Attributes:
        output: the output workbook; None if there is none, or the time ran out.
        reason: why there is none; empty if there is one.
        errors: replies that ended in an exception.
        seconds: wall-clock time.
    """

    output: Path | None
    reason: str = ""
    errors: int = 0
    seconds: float


class Interpreter(Value):
    """A Python that runs the recorded code, and the folders that it must be able to read."""

    path: Path
    readable: tuple[Path, ...] = ()


def interpreter(path: Path | None = None) -> Interpreter:
    """Find out what an interpreter needs; None is the one that runs now.

    Raises:
        BadInput: if it does not start.
    """
    if path is None:
        return Interpreter(path=Path(sys.executable))
    question = "import sys; print(sys.prefix); print(sys.base_prefix)"
    try:
        answer = subprocess.run(
            [path, "-c", question], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"expected a Python interpreter at {str(path)!r}: {error}") from error
    folders = tuple(dict.fromkeys(Path(line) for line in answer.stdout.splitlines()))
    return Interpreter(path=path.absolute(), readable=folders)


def execute(
    plan: RunPlan,
    workbook: Path,
    workdir: Path,
    *,
    sandbox: Sandbox,
    timeout_s: float,
    python: Interpreter,
) -> Execution:
    """Run the scripts of a plan in order.

    Args:
        plan: what to run.
        workbook: the task's input; it is copied.
        workdir: fresh folder of this run, made here.
        sandbox: where the code runs.
        timeout_s: wall-clock limit of all scripts of the run together, seconds.
        python: the interpreter.
    """
    root = workdir / "root"
    source, target = root / plan.input, root / plan.output
    source.parent.mkdir(parents=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(workbook, source)
    facts = {"root": plan.root, "codes": plan.codes}
    result = sandbox.exec(
        [str(python.path), "driver.py"],
        workdir=workdir,
        files={"plan.json": json.dumps(facts).encode(), "driver.py": _DRIVER.read_bytes()},
        limits=Limits(wall_s=timeout_s, cpu_s=int(timeout_s) + 1, memory_mb=_MEMORY_MB),
        # Two runs share two processors: numeric libraries must not start threads for each.
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        readable=python.readable,
    )
    if result.limit is not None:
        why = f"stopped: {result.limit} limit"
        return Execution(output=None, reason=why, seconds=result.seconds)
    try:
        errors: list[str | None] = json.loads(result.stdout)
    except ValueError:
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        why = f"the interpreter ended with exit code {result.exit_code}: {last[:200]}"
        return Execution(output=None, reason=why, seconds=result.seconds)
    raised = sum(error is not None for error in errors)
    if target.is_symlink() or not target.is_file():
        return Execution(
            output=None, reason="no output file", errors=raised, seconds=result.seconds
        )
    return Execution(output=target, errors=raised, seconds=result.seconds)
