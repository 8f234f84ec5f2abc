"""One input that a fix script is run on, the run where no gold can be read, and its judgement."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.core import (
    BadInput,
    Score,
    Task,
    UnfitFile,
    failed,
    read_foreign,
    read_work_file,
    temporary_work_folder,
)
from harness.sandbox import Limits, Sandbox
from harness.tasks import INPUT_NAME, family, input_name, output_file

CellKey = tuple[str, int, int]
"""Sheet, row and column of a cell."""
# Holds the task's prompt in the folder that a fix script runs in.
TASK_FILE = "task.txt"
SCRIPT = "fix.py"
MAX_SCRIPT_BYTES = 200_000
FIX_LIMITS = Limits(wall_s=60.0, cpu_s=60, memory_mb=1024, output_bytes=1_000_000, disk_mb=128)
_OPEN = """\
import sys
for name in sys.argv[1:]:
    try:
        open(name, "rb").close()
        print(name)
    except OSError:
        pass
"""


@dataclass(frozen=True)
class Trial:
    """One input of a proof.

    Attributes:
        name: `clean`, or how the input was perturbed.
        kind: as of :class:`harness.evolve.types.ProofRun`.
        files: name in the script's folder -> content; no gold among them.
        task: the task with this input's gold as `answer`; of a control, with the old gold.
        base: folder that relative paths of the task start at.
        idle: whether leaving the input as it is may be right (a control is not failed for it).
        computed: judged cells of a control whose old value stands nowhere in the clean input:
            they cannot all keep it.
    """

    name: str
    kind: Literal["clean", "predicted", "control"]
    files: Mapping[str, bytes]
    task: Task
    base: Path
    idle: bool = False
    computed: frozenset[CellKey] = frozenset()

    @property
    def output_file(self) -> str:
        """File that the script must write; "" where it prints the answer."""
        return output_file(self.task)


@dataclass(frozen=True)
class FixRun:
    """Outcome of one run of a fix script.

    Attributes:
        output: what it wrote or printed; the very bytes that were judged.
        score: of them, by the task family.
        detail: why it is no pass, in words that give no expected value away.
    """

    output: bytes
    score: Score
    detail: str


def single_case(task: Task, case: int = 1) -> Task:
    """One test case of a task, with its input under the name of the first.

    Args:
        task: of any family; only spreadsheet tasks have several cases.
        case: counted from 1.
    """
    if task.check != "spreadsheet" or not isinstance(task.answer, list):
        return task
    cases = {input_name(number) for number in range(1, len(task.answer) + 1)}
    files = {name: path for name, path in task.files.items() if name not in cases}
    files[INPUT_NAME] = task.files[input_name(case)]
    meta = {key: value for key, value in task.meta.items() if key != "cases"}
    answer = task.answer[case - 1]
    return task.model_copy(update={"files": files, "answer": answer, "meta": meta})


def clean_trial(task: Task, base: Path) -> Trial:
    """The first case of a task as it is."""
    first = single_case(task)
    return Trial("clean", "clean", read_inputs(first, base), first, base)


def own_trials(task: Task, base: Path) -> list[Trial]:
    """Further test cases, and variants of `meta["variants"]`: the analyst was given neither.

    A variant is an object with `answer`, and `prompt` or `files` as changed.

    Raises:
        BadInput: if `variants` is something else, or a file of one is missing.
    """
    answers = task.answer if task.check == "spreadsheet" else None
    count = len(answers) if isinstance(answers, list) else 1
    trials: list[Trial] = []
    for number in range(2, count + 1):
        case = single_case(task, number)
        trials.append(Trial(f"case {number}", "predicted", read_inputs(case, base), case, base))
    rows = task.meta.get("variants", [])
    if not isinstance(rows, list):
        raise BadInput(f"task {task.id!r}: expected meta 'variants' to be a list, found {rows!r}")
    first = single_case(task)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or "answer" not in row:
            raise BadInput(
                f"task {task.id!r}: expected variant {number} to be an object with 'answer', "
                f"found {row!r:.200}"
            )
        fields = {key: row[key] for key in ("prompt", "files", "answer") if key in row}
        variant = Task.model_validate({**first.model_dump(), **fields})
        try:
            files = read_inputs(variant, base)
        except OSError as error:
            raise BadInput(f"task {task.id!r}: variant {number}: {error}") from error
        trials.append(Trial(f"variant {number}", "predicted", files, variant, base))
    return trials


def read_inputs(task: Task, base: Path) -> dict[str, bytes]:
    """The contents of a task's input files, with the prompt as a file for tasks about text.

    Raises:
        OSError: if one cannot be read.
    """
    files = {name: read_foreign(base / path) for name, path in task.files.items()}
    if task.check != "spreadsheet":
        files.setdefault(TASK_FILE, task.prompt.encode())
    return files


def reachable(paths: Sequence[Path], folder: Path, sandbox: Sandbox) -> list[str]:
    """List the `paths` that a program in the sandbox can read from the work folder `folder`."""
    names = [str(path.resolve()) for path in paths]
    if not names:
        return []
    result = sandbox.exec([sys.executable, "-c", _OPEN, *names], workdir=folder)
    if not result.ok:
        raise BadInput(f"the sandbox {sandbox.name!r} runs no program: {result.stderr[-200:]!r}")
    return result.stdout.splitlines()


def run_fix(script: bytes, trial: Trial, sandbox: Sandbox, limits: Limits = FIX_LIMITS) -> FixRun:
    """Run a fix script on a fresh copy of a trial's input and judge what it gives.

    A written output is read once; those bytes are hashed, put into a folder that the script never
    saw, and judged there. Blocking.

    Raises:
        BadInput: if the task's gold or check cannot be used.
    """
    with temporary_work_folder("fix-") as parent:
        folder, judged = parent / "run", parent / "judged"
        folder.mkdir()
        judged.mkdir()
        files = {**trial.files, SCRIPT: script}
        command = [sys.executable, SCRIPT]
        result = sandbox.exec(command, workdir=folder, files=files, limits=limits)
        output, answer, problem = b"", None, ""
        if result.limit is not None:
            problem = f"the script was stopped: {result.limit} limit"
        elif result.exit_code != 0:
            last = (result.stderr.strip().splitlines() or [""])[-1]
            problem = f"the script ended with exit code {result.exit_code}: {last[:200]}"
        elif trial.output_file:
            try:
                output = read_work_file(folder, trial.output_file)
                (judged / trial.output_file).write_bytes(output)
            except FileNotFoundError:
                problem = f"there is no file {trial.output_file}"
            except UnfitFile as error:
                problem = str(error)
        else:
            answer = result.stdout.strip()
            output = answer.encode()
            if not output and trial.kind == "control":
                problem = "it printed nothing"
        if problem:
            return FixRun(output, failed(problem), problem)
        outcome = judged if trial.output_file else folder
        score = family(trial.task, sandbox).score(trial.task, trial.base, outcome, answer)
        return FixRun(output, score, "" if score.outcome == "pass" else disclosed(score))


def disclosed(score: Score) -> str:
    """Reduce a score to what may be said: cells, or that the answer differs; no expected value."""
    differences = score.detail.get("differences")
    if not isinstance(differences, list):
        return "the answer differs"
    if not differences:
        return "the output cannot be compared: a judged sheet is missing, or it is no workbook"
    cells: list[str] = []
    for row in differences:
        if isinstance(row, dict):
            expected, got = row.get("expected"), row.get("got")
            how = "value"
            if got is None:
                how = "missing"
            elif expected is not None and isinstance(expected, str) != isinstance(got, str):
                how = "type"
            cells.append(f"{row['cell']} ({how})")
    return f"{score.detail.get('different_cells')} cells differ: {', '.join(cells)}"
