"""Scripts of a skill are tried in a sandbox before they are admitted.

This room knows no sandbox: the caller hands in the function that runs a command in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Protocol

from harness.core import temporary_work_folder
from harness.skills.skill import Problem, Skill, error, warning

CHECKS: dict[str, tuple[str, ...]] = {
    "python3": ("-m", "py_compile"),
    "bash": ("-n",),
    "sh": ("-n",),
    "node": ("--check",),
}
SUFFIXES = {".py": "python3", ".sh": "bash", ".bash": "bash", ".js": "node", ".mjs": "node"}
NOT_FOUND = 127
HELP_CODES = (0, 1, 2)  # exit codes of programs asked for help, understood or not
_NETWORK = re.compile(
    r"(?i)network is unreachable|name or service not known|temporary failure in name resolution"
    r"|could not resolve host|getaddrinfo|ENETUNREACH|EAI_AGAIN"
)


class Finished(Protocol):
    """The end of a command: exit code (None if a limit killed it) and its output."""

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
    return [problem for path in skill.scripts for problem in _try(skill, path, execute)]


def _interpreter(skill: Skill, path: str) -> str | None:
    first = skill.files[path].split(b"\n", 1)[0].decode(errors="replace")
    if not first.startswith("#!"):
        return SUFFIXES.get(PurePosixPath(path).suffix.lower())
    words = first[2:].replace("/usr/bin/env -S", "/usr/bin/env").split()
    names = [PurePosixPath(word).name for word in words if not word.startswith("-")]
    name = next((name for name in names if name != "env"), "")
    return "python3" if name == "python" else name if name in CHECKS else None


def _try(skill: Skill, path: str, execute: Execute) -> Iterator[Problem]:
    interpreter = _interpreter(skill, path)
    if interpreter is None:
        yield warning("no interpreter known: it was not tried", file=path)
        return

    def run(*arguments: str) -> tuple[int | None, str, str]:
        with temporary_work_folder("skill-") as folder:
            end = execute([interpreter, *arguments], workdir=folder, files=skill.all_files)
        output = (end.stderr or end.stdout).splitlines()
        lines = [line.strip() for line in output if line.strip()] or ["no output"]
        return end.exit_code, lines[-1][:200], end.stdout + end.stderr

    code, last_line, _ = run(*CHECKS[interpreter], path)
    if code == NOT_FOUND:
        yield warning(f"{interpreter} is not here: it was not tried", file=path)
        return
    if code != 0:
        yield error(f"does not parse: {last_line}", file=path)
        return
    code, last_line, output = run(path, "--help")
    if code is None:
        yield error("does not end by itself when asked for --help", file=path)
    elif _NETWORK.search(output):
        yield error(f"wants the network for --help: {last_line}", file=path)
    elif code not in HELP_CODES:
        yield error(f"--help ends with {code}: {last_line}", file=path)
    elif code == 1:
        yield warning(f"--help ends with 1: {last_line}", file=path)
