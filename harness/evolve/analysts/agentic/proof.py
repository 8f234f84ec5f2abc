"""The proof of a fix: the harness runs the script itself, on clean and on perturbed inputs."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.core import BadInput, Task, digest
from harness.evolve.analysts.agentic.perturb_text import text_trials
from harness.evolve.analysts.agentic.perturb_workbook import WorkbookPerturber
from harness.evolve.analysts.agentic.trial import (
    CellKey,
    Trial,
    cases,
    clean_trial,
    read_inputs,
    single_case,
)
from harness.evolve.analysts.agentic.variants import variants
from harness.evolve.analysts.agentic.workbook_cells import judged_values, repacked
from harness.evolve.analysts.agentic.workspace import FIX_LIMITS, Outcome, run_fix
from harness.evolve.types import Proof, ProofRun
from harness.sandbox import Limits, Sandbox
from harness.tasks.cells import cells_equal
from harness.tasks.spreadsheet import INPUT_NAME

MOST_PREDICTED = 3
FEWEST_PERTURBED = 2


def prove(
    script: bytes, task: Task, base: Path, sandbox: Sandbox, *, limits: Limits = FIX_LIMITS
) -> Proof:
    """Run a fix script on the clean input and on perturbed ones, and judge every result.

    The first run that fails ends the proof. Blocking.

    Raises:
        BadInput: if the task's files, gold or check cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="proof-") as store:
        found: list[ProofRun] = []
        earlier: list[bytes] = []
        for trial in _made(task, base, Path(store), sandbox):
            outcome = run_fix(script, trial, sandbox, limits)
            detail = _objection(trial, outcome, earlier)
            earlier.append(outcome.output)
            found.append(
                ProofRun(
                    input=trial.name,
                    kind=trial.kind,
                    passed=not detail,
                    output=outcome.digest,
                    detail=detail,
                )
            )
            if detail:
                break
        return Proof(script=digest(script), runs=tuple(found))


def _made(task: Task, base: Path, store: Path, sandbox: Sandbox) -> list[Trial]:
    try:
        return trials(task, base, store, sandbox)
    except BadInput:
        raise
    except Exception as error:  # openpyxl raises nearly anything on damaged files
        found = f"{type(error).__name__}: {error}"
        raise BadInput(f"task {task.id!r}: its input cannot be perturbed: {found}") from error


def trials(task: Task, base: Path, store: Path, sandbox: Sandbox | None = None) -> list[Trial]:
    """The clean input, at most three with a known result, and controls (two if none is known).

    Args:
        task: the task.
        base: folder that its paths start at.
        store: private folder for perturbed gold.
        sandbox: where formulas of perturbed workbooks are recomputed; None: in the open.

    Raises:
        BadInput: if the task's files or gold cannot be used.
    """
    clean = clean_trial(task, base)
    known = [*_cases(task, base), *variants(task, base)]
    if task.check == "spreadsheet":
        return _of_workbook(clean, known, WorkbookPerturber(clean, store, sandbox), _seed(task))
    predicted, controls = text_trials(clean, _seed(task))
    kept = [*known, *predicted][:MOST_PREDICTED]
    return [clean, *kept, *controls[: max(0, FEWEST_PERTURBED - len(kept))]]


def _of_workbook(
    clean: Trial, known: list[Trial], made: WorkbookPerturber, seed: int
) -> list[Trial]:
    """Always one control at least: it alone sees results that only look copied."""
    kept = [*known, *made.predicted(seed)][:MOST_PREDICTED]
    drawn = (made.control(seed, number) for number in (1, 2, 3))
    controls = [trial for trial in drawn if trial is not None]
    controls = controls[: max(1, FEWEST_PERTURBED - len(kept))]
    again = {**clean.files, INPUT_NAME: repacked(clean.files[INPUT_NAME])}
    found = [replace(clean, files=again), *kept, *controls]
    if kept or len(controls) < FEWEST_PERTURBED:
        return found
    same = made.same_result(seed)  # it does not count towards the two
    return found if same is None else [*found, same]


def _seed(task: Task) -> int:
    return int(hashlib.sha256(task.id.encode()).hexdigest()[:8], 16)


def _cases(task: Task, base: Path) -> list[Trial]:
    """Further test cases of a task, which the analyst was not given."""
    others = [(number, single_case(task, number)) for number in range(2, cases(task) + 1)]
    return [
        Trial(f"case {number}", "predicted", read_inputs(one, base), one, base)
        for number, one in others
    ]


def _objection(trial: Trial, outcome: Outcome, earlier: Sequence[bytes]) -> str:
    """Why a run does not pass, "" if it does."""
    passed = outcome.score.outcome == "pass"
    if trial.kind != "control":
        return "" if passed else outcome.detail
    if not outcome.output or outcome.score.outcome == "invalid":
        return outcome.detail or "it gave nothing that can be judged"
    if passed:
        return "it still gives the old result"
    if not trial.output_file:
        return ""
    if outcome.score.detail.get("different_cells") == 0:
        return outcome.detail  # it could not be compared
    with tempfile.TemporaryDirectory(prefix="control-") as name:
        return _suspicion(trial, outcome.output, earlier, Path(name))


def _suspicion(trial: Trial, output: bytes, earlier: Sequence[bytes], folder: Path) -> str:
    """Why a workbook cannot be the right result of a control, though it is not the old one."""
    position = str(trial.task.meta["answer_position"])
    values = _values(output, folder / "output.xlsx", position)
    if not values:
        return ""  # formulas without stored values: the comparison computed them
    if values == _values(trial.files[INPUT_NAME], folder / "input.xlsx", position):
        return "" if trial.idle else "it leaves the judged cells as they were"
    if any(
        values == _values(other, folder / f"{number}.xlsx", position)
        for number, other in enumerate(earlier)
    ):
        return "it gives the result of another input"
    gold = judged_values(trial.base / str(trial.task.answer), position)
    computed = [key for key in gold if key in trial.computed]
    if computed and all(cells_equal(gold[key], values.get(key)) for key in computed):
        return "it still gives the old result in every cell that is computed"
    return ""


def _values(data: bytes, path: Path, position: str) -> dict[CellKey, object]:
    path.write_bytes(data)
    return judged_values(path, position)
