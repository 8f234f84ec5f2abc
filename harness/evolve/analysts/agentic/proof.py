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
    FIX_LIMITS,
    CellKey,
    FixRun,
    Trial,
    clean_trial,
    own_trials,
    run_fix,
)
from harness.evolve.analysts.agentic.workbooks import judged_values, repacked
from harness.evolve.types import Proof, ProofRun
from harness.sandbox import Limits, Sandbox
from harness.tasks import INPUT_NAME, cells_equal

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
        try:
            inputs = trials(task, base, Path(store), sandbox)
        except BadInput:
            raise
        except Exception as error:  # openpyxl raises nearly anything on damaged files
            reason = f"{type(error).__name__}: {error}"
            raise BadInput(f"task {task.id!r}: its input cannot be perturbed: {reason}") from error
        runs: list[ProofRun] = []
        earlier: list[bytes] = []
        for trial in inputs:
            run = run_fix(script, trial, sandbox, limits)
            detail = _objection(trial, run, earlier)
            earlier.append(run.output)
            output = digest(run.output) if run.output else ""
            runs.append(
                ProofRun(
                    input=trial.name,
                    kind=trial.kind,
                    passed=not detail,
                    output=output,
                    detail=detail,
                )
            )
            if detail:
                break
        return Proof(script=digest(script), runs=tuple(runs))


def trials(task: Task, base: Path, store: Path, sandbox: Sandbox | None = None) -> list[Trial]:
    """The clean input, at most three with a known result, and controls (two if none is known).

    Of a workbook there is always one control at least: it alone sees results that only look
    copied.

    Args:
        task: the task.
        base: folder that its paths start at.
        store: private folder for perturbed gold.
        sandbox: where perturbed workbooks are recomputed; None: see :func:`recalculate`.

    Raises:
        BadInput: if the task's files or gold cannot be used.
    """
    clean, variants = clean_trial(task, base), own_trials(task, base)
    seed = int(hashlib.sha256(task.id.encode()).hexdigest()[:8], 16)
    if task.check != "spreadsheet":
        predicted, controls = text_trials(clean, seed)
        predicted = [*variants, *predicted][:MOST_PREDICTED]
        return [clean, *predicted, *controls[: max(0, FEWEST_PERTURBED - len(predicted))]]
    perturber = WorkbookPerturber(clean, store, sandbox)
    predicted = [*variants, *perturber.predicted(seed)][:MOST_PREDICTED]
    drawn = (perturber.control(seed, number) for number in (1, 2, 3))
    controls = [trial for trial in drawn if trial is not None]
    controls = controls[: max(1, FEWEST_PERTURBED - len(predicted))]
    # Other bytes, so that a script cannot know the clean workbook by a hash of the file.
    files = {**clean.files, INPUT_NAME: repacked(clean.files[INPUT_NAME])}
    inputs = [replace(clean, files=files), *predicted, *controls]
    if not predicted and len(controls) >= FEWEST_PERTURBED:
        same = perturber.same_result(seed)  # it does not count towards the two
        inputs += [] if same is None else [same]
    return inputs


def _objection(trial: Trial, run: FixRun, earlier: Sequence[bytes]) -> str:
    """Give the reason why a run does not pass, "" if it does."""
    passed = run.score.outcome == "pass"
    if trial.kind != "control":
        return "" if passed else run.detail
    if not run.output or run.score.outcome == "invalid":
        return run.detail or "it gave nothing that can be judged"
    if passed:
        return "it still gives the old result"
    if not trial.output_file:
        return ""
    if run.score.detail.get("different_cells") == 0:
        return run.detail  # it could not be compared
    position = str(trial.task.meta["answer_position"])
    with tempfile.TemporaryDirectory(prefix="control-") as name:

        def judged(data: bytes) -> dict[CellKey, object]:
            path = Path(name, "book.xlsx")
            path.write_bytes(data)
            return judged_values(path, position)

        values = judged(run.output)
        if not values:
            return ""  # formulas without stored values: the comparison computed them
        if values == judged(trial.files[INPUT_NAME]):
            return "" if trial.idle else "it leaves the judged cells as they were"
        if any(values == judged(output) for output in earlier):
            return "it gives the result of another input"
    # A workbook that is not the old result as a whole may still be no right one.
    gold = judged_values(trial.base / str(trial.task.answer), position)
    computed = [key for key in gold if key in trial.computed]
    if computed and all(cells_equal(gold[key], values.get(key)) for key in computed):
        return "it still gives the old result in every cell that is computed"
    return ""
