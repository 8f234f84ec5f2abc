"""What a rung is told to run: the command, its environment, and the paths that it may see."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.sandbox.types import Limits

SYSTEM_DIRS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Only what programs need to start: no shadow, no ssh, no host keys.
ETC = (
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/libreoffice",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/mime.types",
    "/etc/ssl/certs",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
RESERVED_ENV = ("HOME", "TMPDIR", "TEMP", "TMP")


class Plan(NamedTuple):
    """One execution, ready for a rung.

    Attributes:
        command: argument vector.
        workdir: resolved; the only writable place.
        scratch: a folder inside `workdir` that holds HOME and TMPDIR, removed afterwards.
        env: the complete environment of the command.
        limits: to enforce.
        readable: every path that may be read, existing ones only.
        max_file_bytes: largest size a single file may reach.
    """

    command: tuple[str, ...]
    workdir: Path
    scratch: Path
    env: dict[str, str]
    limits: Limits
    readable: tuple[str, ...]
    max_file_bytes: int


class Launch(NamedTuple):
    """How a rung starts a plan: argument vector, environment, inherited file descriptors."""

    argv: list[str]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()


def python_paths() -> tuple[str, ...]:
    """The prefixes of the running interpreter, so that `sys.executable` works inside."""
    exe = Path(sys.executable)
    found = {sys.prefix, sys.base_prefix, str(exe.resolve().parent.parent)}
    return tuple(sorted(found - {"/usr", "/"}))


def readable_paths(extra: Sequence[Path]) -> tuple[str, ...]:
    """System folders, the interpreter, and `extra`, as far as they exist."""
    wanted = [*SYSTEM_DIRS, *ETC, *python_paths(), *(str(p.resolve()) for p in extra)]
    return tuple(dict.fromkeys(path for path in wanted if os.path.exists(path)))  # noqa: PTH110


def environment(scratch: Path, extra: Mapping[str, str] | None) -> dict[str, str]:
    """Fixed safe variables, then `extra`; HOME and TMPDIR always lie in `scratch`."""
    path = ":".join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
    tmp = str(scratch / "tmp")
    fixed = {
        "PATH": path,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        # One thread a library: the memory and process limits are for the work, not for pools.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    given = {key: value for key, value in (extra or {}).items() if key not in RESERVED_ENV}
    home = {"HOME": str(scratch / "home"), "TMPDIR": tmp, "TEMP": tmp, "TMP": tmp}
    return {**fixed, **given, **home}
