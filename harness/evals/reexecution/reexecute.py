"""Re-execution of recorded runs: run their code again in the sandbox, recalculate, compare."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from harness.core import (
    BadInput,
    Task,
    Trajectory,
    UnfitFile,
    read_work_file,
    temporary_work_folder,
    write_work_file,
)
from harness.evals.reexecution.report import (
    Label,
    Recalculation,
    ReexecutionReport,
    RunResult,
    summarise,
)
from harness.sandbox import Limits, Sandbox
from harness.tasks import compare_workbooks, find_soffice, recalculate
from harness.trajectories import content_text

_INPUT = "input.xlsx"
_JUDGED = "judged.xlsx"
_BATCH_S = 300.0
"""Seconds of one start of LibreOffice."""
_DRIVER = Path(__file__).with_name("driver.py")
_MEMORY_MB = 4096
_PATH = re.compile(r"^###\s*(spreadsheet_path|output_path)[ \t]*\n+[ \t]*(/\S+)", re.MULTILINE)
_FENCE = re.compile(r"```python[ \t]*\n(.*?)```", re.DOTALL)


class RunPlan(NamedTuple):
    """What one recorded run executed, and where.

    Attributes:
        task_id: the task it worked on.
        root: the folder on the recording machine that held input and output.
        input: the input workbook, relative to `root`.
        output: the output workbook, relative to `root`.
        codes: the scripts, in order; they shared one namespace.
    """

    task_id: str
    root: str
    input: str
    output: str
    codes: tuple[str, ...]


class Execution(NamedTuple):
    """What executing a run left: a workbook, or the reason why there is none.

    Attributes:
        seconds: wall-clock time.
        errors: replies that ended in an exception.
    """

    output: Path | None
    reason: str = ""
    seconds: float = 0.0
    errors: int = 0


def reexecute(
    trajectories: Iterable[Trajectory],
    tasks: Iterable[Task],
    *,
    sandbox: Sandbox,
    recalc: Recalculation = "both",
    workers: int = 2,
    timeout_s: float = 120.0,
    python: Path | None = None,
    out: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReexecutionReport:
    """Run the code of recorded runs again, and compare its score with the recorded label.

    Args:
        trajectories: recorded runs, as `open_trajectories` reads them.
        tasks: their tasks, found by id.
        sandbox: where the recorded code, and LibreOffice, run.
        recalc: score with LibreOffice recalculation ("on"), without ("off"), or in both ways.
        workers: runs at one time.
        timeout_s: wall-clock limit of one run, seconds.
        python: an interpreter with other packages, such as an older pandas.
        out: empty or new folder that keeps the runs' work folders, numbered in the order of the
            trajectories; None: they are deleted.
        progress: called with (runs executed, all runs).

    Raises:
        BadInput: if recalculation is asked for and LibreOffice is missing, `out` is not empty, or
            `python` does not start.
    """
    if recalc != "off" and find_soffice() is None:
        raise BadInput("recalculation needs LibreOffice, which is not installed; or --recalc off")
    started = time.monotonic()
    runs = list(trajectories)
    by_id = {task.id: task for task in tasks}
    matched = [by_id.get(run.task_id) for run in runs]
    readable = _folders_of(python)
    with _folder(out) as base:

        def executed_again(number: int) -> Execution:
            try:
                plan = plan_run(runs[number])
                workbook = _only_input(matched[number], plan.task_id)
            except BadInput as error:
                return Execution(None, str(error))
            # A number, because ids may repeat and may hold any character.
            folder = base / f"{number:04d}"
            return execute(
                plan, workbook, folder,
                sandbox=sandbox, timeout_s=timeout_s, python=python, readable=readable,
            )  # fmt: skip

        executed: list[Execution] = []
        with ThreadPoolExecutor(workers) as pool:
            for execution in pool.map(executed_again, range(len(runs))):
                executed.append(execution)
                if progress is not None:
                    progress(len(executed), len(runs))
        outputs = [execution.output for execution in executed if execution.output]
        fresh: dict[Path, Path] = {}
        if recalc != "off":
            fresh = recalculate(outputs, base / "recalculated", timeout=_BATCH_S, sandbox=sandbox)
        results = tuple(
            score_run(run, execution, task, recalc, fresh)
            for run, execution, task in zip(runs, executed, matched, strict=True)
        )
    return summarise(results, recalc, time.monotonic() - started, sandbox.name)


@contextmanager
def _folder(out: Path | None) -> Generator[Path]:
    if out is None:
        with temporary_work_folder("replay-") as folder:
            yield folder
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"expected an empty or new folder, found {str(out)!r} in use")
    out.mkdir(parents=True, exist_ok=True)
    yield out.resolve()


def _only_input(task: Task | None, task_id: str) -> Path:
    if task is None:
        raise BadInput(f"no task {task_id!r} among the tasks")
    if not isinstance(task.answer, str) or len(task.files) != 1 or _INPUT not in task.files:
        raise BadInput(f"task {task_id!r}: expected one {_INPUT} and one golden workbook")
    return Path(task.files[_INPUT])


def _folders_of(python: Path | None) -> tuple[Path, ...]:
    """Folders that an interpreter must be able to read; the one that runs now needs no further.

    Raises:
        BadInput: if it does not start.
    """
    if python is None:
        return ()
    question = "import sys; print(sys.prefix); print(sys.base_prefix)"
    try:
        answer = subprocess.run(
            [python, "-c", question], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"expected a Python interpreter at {str(python)!r}: {error}") from error
    return tuple(dict.fromkeys(Path(line) for line in answer.stdout.splitlines()))


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
        task_id=trajectory.task_id,
        root=root,
        input=os.path.relpath(source, root),
        output=os.path.relpath(target, root),
        codes=tuple(fence[1] for fence in fences),
    )


def execute(
    plan: RunPlan,
    workbook: Path,
    workdir: Path,
    *,
    sandbox: Sandbox,
    timeout_s: float,
    python: Path | None = None,
    readable: tuple[Path, ...] = (),
) -> Execution:
    """Run the scripts of a plan in order.

    Args:
        plan: what to run.
        workbook: the task's input; it is copied.
        workdir: fresh folder of this run, made here.
        sandbox: where the code runs.
        timeout_s: wall-clock limit of all scripts of the run together, seconds.
        python: the interpreter; None is the one that runs now.
        readable: folders that it must be able to read.
    """
    root = workdir / "root"
    source, target = root / plan.input, root / plan.output
    source.parent.mkdir(parents=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(workbook, source)
    facts = {"root": plan.root, "codes": plan.codes}
    result = sandbox.exec(
        [str(python.absolute() if python else sys.executable), "driver.py"],
        workdir=workdir,
        files={"plan.json": json.dumps(facts).encode(), "driver.py": _DRIVER.read_bytes()},
        limits=Limits(wall_s=timeout_s, cpu_s=int(timeout_s) + 1, memory_mb=_MEMORY_MB),
        # Two runs share two processors: numeric libraries must not start threads for each.
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        readable=readable,
    )
    if result.limit is not None:
        why = f"stopped: {result.limit} limit"
        return Execution(None, why, result.seconds)
    try:
        errors: list[str | None] = json.loads(result.stdout)
    except ValueError:
        last = (result.stderr.strip().splitlines() or ["no output"])[-1]
        why = f"the interpreter ended with exit code {result.exit_code}: {last[:200]}"
        return Execution(None, why, result.seconds)
    raised = sum(error is not None for error in errors)
    try:
        data = read_work_file(root, plan.output)
    except FileNotFoundError:
        return Execution(None, "no output file", result.seconds, raised)
    except UnfitFile as error:
        return Execution(None, f"output file: {error}", result.seconds, raised)
    write_work_file(workdir, _JUDGED, data)
    return Execution(workdir / _JUDGED, "", result.seconds, raised)


def score_run(
    run: Trajectory,
    execution: Execution,
    task: Task | None,
    recalc: Recalculation,
    recalculated: dict[Path, Path],
) -> RunResult:
    """Compare a run's output with the golden workbook, in the ways asked for."""
    outcome = run.harness.get("outcome")
    label: Label | None = "pass" if outcome == "pass" else "fail" if outcome == "fail" else None
    reason, with_recalc, without_recalc = execution.reason, None, None
    output = execution.output
    if output is not None and task is not None:
        try:
            if recalc != "on":
                without_recalc = _equal(task, output)
            if recalc != "off" and output in recalculated:
                with_recalc = _equal(task, recalculated[output])
            elif recalc != "off":
                reason = "LibreOffice could not open or recalculate the output"
        except BadInput as error:
            reason = str(error)
    if not reason and label is None:
        reason = "no label was recorded"
    return RunResult(
        id=run.trajectory_id or "?",
        label=label,
        comparable=not reason,
        reason=reason,
        with_recalc=with_recalc,
        without_recalc=without_recalc,
        errors=execution.errors,
        seconds=round(execution.seconds, 3),
    )


def _equal(task: Task, output: Path) -> bool:
    sheet = task.meta.get("answer_sheet")
    position = str(task.meta.get("answer_position", ""))
    return compare_workbooks(
        Path(str(task.answer)), output, position, sheet if isinstance(sheet, str) else None
    ).equal
