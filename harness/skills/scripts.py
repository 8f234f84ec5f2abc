"""Scripts of a skill are tried in a sandbox before they are admitted.

This room knows no sandbox: the caller hands in the function that runs a command in one.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from harness.skills.types import Level, Problem, Skill

CHECKS: dict[str, tuple[str, ...]] = {
    "python3": ("-m", "py_compile"),
    "bash": ("-n",),
    "sh": ("-n",),
    "node": ("--check",),
}
SUFFIXES = {".py": "python3", ".sh": "bash", ".bash": "bash", ".js": "node", ".mjs": "node"}
NOT_FOUND = 127
USAGE = (0, 1, 2)  # what programs end with when they are asked for help, understood or not
_NETWORK = re.compile(
    r"(?i)network is unreachable|name or service not known|temporary failure in name resolution"
    r"|could not resolve host|getaddrinfo|ENETUNREACH|EAI_AGAIN"
)


class Finished(Protocol):
    """What a command did: exit code (None if a limit killed it) and its output."""

    @property
    def exit_code(self) -> int | None: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...


class Execute(Protocol):
    """Runs a command in `workdir` after writing `files` there; no network, limits, no escape.

    `functools.partial(sandbox.exec, limits=...)` of the sandbox room is one.
    """

    def __call__(
        self, command: Sequence[str], *, workdir: Path, files: Mapping[str, bytes] | None = None
    ) -> Finished: ...


def admit_scripts(skill: Skill, execute: Execute) -> list[Problem]:
    """Try every script: it must parse, and end by itself when asked for help, without a network.

    Each run starts from a fresh copy of the skill. Errors are reasons not to admit the skill;
    warnings say what could not be tried.
    """
    problems: list[Problem] = []
    for path in scripts_of(skill):
        interpreter = _interpreter(skill, path)
        if interpreter is None:
            problems.append(_problem("warning", path, "no interpreter known: it was not tried"))
        else:
            problems += _try(skill, path, interpreter, execute)
    return problems


def scripts_of(skill: Skill) -> list[str]:
    """Files that a client may run: under `scripts/`, executable, or starting with `#!`."""
    return [
        path
        for path, data in skill.files.items()
        if path.startswith("scripts/") or path in skill.executable or data.startswith(b"#!")
    ]


def _interpreter(skill: Skill, path: str) -> str | None:
    first = skill.files[path].split(b"\n", 1)[0].decode(errors="replace")
    if first.startswith("#!"):
        words = first[2:].replace("/usr/bin/env -S", "/usr/bin/env").split()
        names = [PurePosixPath(word).name for word in words if not word.startswith("-")]
        name = next((one for one in names if one != "env"), "")
        return {"python": "python3", "zsh": None}.get(name, name if name in CHECKS else None)
    return SUFFIXES.get(PurePosixPath(path).suffix.lower())


def _try(skill: Skill, path: str, interpreter: str, execute: Execute) -> Iterator[Problem]:
    parsed = _run(skill, [interpreter, *CHECKS[interpreter], path], execute)
    if parsed.exit_code == NOT_FOUND:
        yield _problem("warning", path, f"{interpreter} is not here: it was not tried")
        return
    if parsed.exit_code != 0:
        yield _problem("error", path, f"does not parse: {_last_line(parsed)}")
        return
    asked = _run(skill, [interpreter, path, "--help"], execute)
    if asked.exit_code is None:
        yield _problem("error", path, "does not end by itself when asked for --help")
    elif _NETWORK.search(asked.stdout + asked.stderr):
        yield _problem("error", path, f"wants the network for --help: {_last_line(asked)}")
    elif asked.exit_code not in USAGE:
        yield _problem("error", path, f"--help ends with {asked.exit_code}: {_last_line(asked)}")
    elif asked.exit_code == 1:
        yield _problem("warning", path, f"--help ends with 1: {_last_line(asked)}")


def _run(skill: Skill, command: list[str], execute: Execute) -> Finished:
    with tempfile.TemporaryDirectory(prefix="skill-") as folder:
        return execute(command, workdir=Path(folder), files=skill.all_files)


def _last_line(done: Finished) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"


def _problem(level: Level, path: str, message: str) -> Problem:
    return Problem(level=level, file=path, message=message)
