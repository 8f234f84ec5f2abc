"""Running a fix script where no gold can be read, and judging what it left outside."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import BadInput, Score, digest, failed
from harness.evolve.analysts.agentic.trial import Trial
from harness.sandbox import Limits, Result, Sandbox
from harness.tasks import family
from harness.tasks.workbooks import MAX_FILE_BYTES

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
class Outcome:
    """What one run of a fix script came to.

    Attributes:
        output: what it wrote or printed; the very bytes that were judged.
        score: of them, by the task family.
        detail: why it is no pass, in words that give no expected value away.
    """

    output: bytes
    score: Score
    detail: str

    @property
    def digest(self) -> str:
        """SHA-256 of the output, "" if there is none."""
        return digest(self.output) if self.output else ""


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of an ordinary file that has no second name; links are not followed.

    Raises:
        ValueError: if it is missing, a link, no ordinary file, or too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path.name}") from None
    except OSError:
        raise ValueError(f"{path.name} is a link or cannot be opened") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            raise ValueError(f"{path.name} is no ordinary file of its own")
        if facts.st_size > limit:
            raise ValueError(f"{path.name} has more than {limit} bytes")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def reachable(paths: Sequence[Path], folder: Path, sandbox: Sandbox) -> list[str]:
    """Those of `paths` that a program in the sandbox can read from the work folder `folder`."""
    wanted = [str(path.resolve()) for path in paths]
    if not wanted:
        return []
    result = sandbox.exec([sys.executable, "-c", _OPEN, *wanted], workdir=folder)
    if not result.ok:
        raise BadInput(f"the sandbox {sandbox.name!r} runs no program: {result.stderr[-200:]!r}")
    return result.stdout.splitlines()


def run_fix(script: bytes, trial: Trial, sandbox: Sandbox, limits: Limits = FIX_LIMITS) -> Outcome:
    """Run a fix script on a fresh copy of a trial's input and judge what it gives.

    A written output is read once; those bytes are hashed, put into a folder that the script never
    saw, and judged there. Blocking.

    Raises:
        BadInput: if the task's gold or check cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="fix-") as name:
        folder, judged = Path(name, "run"), Path(name, "judged")
        folder.mkdir()
        judged.mkdir()
        files = {**trial.files, SCRIPT: script}
        command = [sys.executable, SCRIPT]
        result = sandbox.exec(command, workdir=folder, files=files, limits=limits)
        problem = _problem(result)
        output, answer = b"", None
        if not problem and trial.output_file:
            try:
                output = read_regular(folder / trial.output_file, MAX_FILE_BYTES)
                (judged / trial.output_file).write_bytes(output)
            except ValueError as error:
                problem = str(error)
        elif not problem:
            answer = result.stdout.strip()
            output = answer.encode()
            if not output and trial.kind == "control":
                problem = "it printed nothing"
        if problem:
            return Outcome(output, failed(problem), problem)
        place = judged if trial.output_file else folder
        score = family(trial.task, sandbox).score(trial.task, trial.base, place, answer)
        return Outcome(output, score, "" if score.outcome == "pass" else told(score))


def _problem(result: Result) -> str:
    if result.limit is not None:
        return f"the script was stopped: {result.limit} limit"
    if result.exit_code != 0:
        last = (result.stderr.strip().splitlines() or [""])[-1]
        return f"the script ended with exit code {result.exit_code}: {last[:200]}"
    return ""


def told(score: Score) -> str:
    """What may be told of a score: which cells or that the answer differs, no expected value."""
    differences = score.detail.get("differences")
    if not isinstance(differences, list):
        return "the answer differs"
    if not differences:
        return "the output cannot be compared: a judged sheet is missing, or it is no workbook"
    cells = [f"{one['cell']} {_how(one)}" for one in differences if isinstance(one, dict)]
    return f"{score.detail.get('different_cells')} cells differ: {', '.join(cells)}"


def _how(difference: Mapping[str, object]) -> str:
    expected, got = difference.get("expected"), difference.get("got")
    if got is None:
        return "(missing)"
    if expected is not None and isinstance(expected, str) != isinstance(got, str):
        return "(type)"
    return "(value)"
