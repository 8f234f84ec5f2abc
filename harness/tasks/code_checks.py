"""Checks that are code: a function `file.py:name`, or a command whose exit code 0 is a pass."""

from __future__ import annotations

import json
import logging
import secrets
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.core import (
    BadInput,
    Score,
    Task,
    assets,
    failed,
    invalid,
    last_words,
    passed,
    write_work_file,
)
from harness.core.trust import own_folder
from harness.sandbox import Limits, Result, Sandbox
from harness.tasks.check_runner import UNFIT, bind_check

_log = logging.getLogger(__name__)
_RUNNER = Path(__file__).with_name("check_runner.py")
_REQUEST = ".check-request.json"
ANSWER_FILE = "answer.txt"
_EXPECTED = "expected True, False, a number from 0 to 1, or a dict with 'passed' or 'value'"
DEFAULT_SECONDS = 120.0
MOST_ENTRIES = 1000
"""Of a suite's folder; each is made readable by itself."""


def run_function(
    task: Task, base: Path, workdir: Path, answer: str | None, sandbox: Sandbox | None
) -> Score:
    """Judge with a function, `file.py:name`.

    Its parameters are any of `answer` (str | None), `expected` (the task's answer), `prompt`,
    `task` (dict) and `workdir` (str), by name. It returns a bool, a number in [0, 1] (1 passes),
    or a dict with `passed` or `value`, and optionally `reason` and `detail`.

    Raises:
        BadInput: if the file is missing or cannot be imported, has no such function, or this takes
            something else.
    """
    assert task.check is not None
    row = task.model_dump(mode="json")
    if sandbox is None:
        function = assets.load_object(task.check, base)
        try:
            call = bind_check(function, row, str(workdir), answer)
        except TypeError as error:
            raise BadInput(f"check {task.check!r}: {error}") from None
        try:
            verdict = function(*call.args, **call.kwargs)
        except Exception as error:  # noqa: BLE001  # a fault of the check says nothing about the answer
            return invalid(f"check {task.check!r} failed: {type(error).__name__}: {error}")
        return _score(task, verdict)
    file, _, name = task.check.rpartition(":")
    path = (base / file).resolve()
    if not path.is_file():
        raise BadInput(
            f"task {task.id!r}: expected its check at {str(path)!r}, found no such file: "
            "put it there, or correct 'check' (paths are relative to the task file)"
        )
    marker = secrets.token_hex(16)
    request = {"task": row, "workdir": str(workdir.resolve()), "answer": answer, "marker": marker}
    command = [sys.executable, "-I", str(_RUNNER), str(path), name, _REQUEST]
    files = {_REQUEST: json.dumps(request).encode()}
    readable = path.parent if Path(file).is_absolute() else base
    result = _run(task, sandbox, command, workdir, files, readable)
    if result.exit_code == UNFIT:
        raise BadInput(f"check {task.check!r} cannot be used: {last_words(result.stderr.strip())}")
    if not result.ok:
        return invalid(f"check {task.check!r} {_how_it_ended(result)}")
    lines = [line for line in result.stdout.splitlines() if line.startswith(marker + " ")]
    if not lines:
        return invalid(f"check {task.check!r} ended without a verdict")
    return _score(task, json.loads(lines[-1].removeprefix(marker + " ")))


def try_function(task: Task, base: Path, sandbox: Sandbox | None) -> None:
    """Call the check of a task, a function, once with the expected answer in an empty folder.

    That it fails there says nothing, and that it raises is a warning: it may want files, or an
    answer of another form.

    Raises:
        BadInput: as :func:`run_function`, or if it returns no verdict.
    """
    answer = task.answer if isinstance(task.answer, str) else ""
    with tempfile.TemporaryDirectory() as folder:
        score = run_function(task, base, Path(folder), answer, sandbox)
    if score.outcome == "invalid" and _EXPECTED in score.reason:
        raise BadInput(score.reason)
    if score.outcome == "invalid":
        how = "tried before the first call, with the expected answer in an empty folder"
        _log.warning("%s (%s)", score.reason, how)


def _score(task: Task, verdict: Any) -> Score:
    """A score from what a check function returned."""
    fields: dict[str, Any] = {"value": verdict}
    if isinstance(verdict, dict):
        fields = {"value": verdict.get("passed"), **verdict}  # pyright: ignore[reportUnknownMemberType]  # a user's dict
    value, ok = fields["value"], fields.get("passed")
    detail: Any = fields.get("detail") or {}
    sound = isinstance(value, (bool, int, float)) and 0 <= value <= 1 and isinstance(detail, dict)
    if not sound or not isinstance(ok, (bool, type(None))):
        return invalid(f"check {task.check!r}: {_EXPECTED}, got {verdict!r:.300}")
    passes = value >= 1 if ok is None else ok
    reason = str(fields.get("reason") or "")
    return Score(
        outcome="pass" if passes else "fail",
        value=value,
        reason=reason or ("" if passes else f"check {task.check!r} gave {value:g}"),
        detail=detail,  # pyright: ignore[reportUnknownArgumentType]  # pydantic checks it
    )


def run_command(
    task: Task, base: Path, workdir: Path, answer: str | None, sandbox: Sandbox | None
) -> Score:
    """Judge with a command, run in `workdir`, with the answer in `answer.txt`; exit 0 passes.

    Raises:
        BadInput: as :func:`command_of`, or if (trusted) its program does not exist.
    """
    files = {ANSWER_FILE: (answer or "").encode()}
    result = _run(task, sandbox, command_of(task, base), workdir, files, base)
    if result.ok:
        return passed()
    if result.exit_code in (None, 126, 127):
        return invalid(f"check {task.check!r} {_how_it_ended(result)}")
    return failed(f"check {task.check!r} {_how_it_ended(result)}")


def command_of(task: Task, base: Path) -> list[str]:
    """The words of a check that is a command.

    `{base}` in it stands for the folder of the task file, `{python}` for our interpreter.

    Raises:
        BadInput: if it is no command line.
    """
    assert task.check is not None
    try:
        words = shlex.split(task.check)
    except ValueError as error:
        raise BadInput(f"task {task.id!r}: check {task.check!r} is no command: {error}") from error
    placeholders = {"{base}": str(base.resolve()), "{python}": sys.executable}
    command = words
    for name, path in placeholders.items():
        command = [word.replace(name, path) for word in command]
    if not command:
        raise BadInput(f"task {task.id!r}: 'check' is empty: name a scorer or a command")
    return command


def suite_paths(base: Path) -> list[Path]:
    """List what sandboxed code may read in a suite's folder; hidden entries are left out.

    Raises:
        BadInput: as :func:`harness.core.trust.own_folder`, or if there are more entries than
            :data:`MOST_ENTRIES`.
    """
    folder = own_folder(base)
    entries = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    if len(entries) > MOST_ENTRIES:
        raise BadInput(
            f"the suite's folder {str(folder)!r} has {len(entries)} entries, more than "
            f"{MOST_ENTRIES}: put its files into folders in it"
        )
    return [path for path in entries if path.resolve().is_relative_to(folder)]


def _run(
    task: Task,
    sandbox: Sandbox | None,
    command: list[str],
    workdir: Path,
    files: dict[str, bytes],
    base: Path,
) -> Result:
    """Run a check, its files written first; without a sandbox in the open, as the host does."""
    seconds = task.meta.get("check_seconds", DEFAULT_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise BadInput(
            f"task {task.id!r}: expected meta 'check_seconds' to be > 0, found {seconds!r}"
        )
    if sandbox is not None:
        limits = Limits(wall_s=float(seconds))
        readable = (_RUNNER, *suite_paths(base))
        return sandbox.exec(command, workdir=workdir, files=files, limits=limits, readable=readable)
    for name, content in files.items():
        write_work_file(workdir, name, content)
    texts, code = ["", ""], None
    try:
        process = subprocess.run(
            command, cwd=workdir, capture_output=True, timeout=seconds, check=False
        )
        texts = [text.decode(errors="replace") for text in (process.stdout, process.stderr)]
        code = process.returncode
    except subprocess.TimeoutExpired:
        pass
    except OSError as error:
        raise BadInput(f"task {task.id!r}: check {task.check!r} cannot start: {error}") from error
    return Result(
        exit_code=code, stdout=texts[0], stderr=texts[1], seconds=float(seconds),
        limit="time" if code is None else None, backend="none",
    )  # fmt: skip


def _how_it_ended(result: Result) -> str:
    if result.limit is not None:
        return f"was ended by its {result.limit} limit after {result.seconds:.0f} s"
    tail = last_words(result.stderr.strip() or result.stdout)
    return f"ended with exit code {result.exit_code}" + (f": {tail}" if tail else "")
