"""One execution in any back end: prepare the folder, launch, supervise, tidy up."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from harness.core import temporary_work_folder, write_work_file
from harness.core.errors import BadInput
from harness.sandbox.cgroups import memory_group
from harness.sandbox.disk import folder_size
from harness.sandbox.supervision import supervise
from harness.sandbox.types import Limits, Result

# Of /etc only what programs need to start: no shadow, no ssh, no host keys.
SYSTEM_PATHS = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/libreoffice", "/etc/localtime"),
    *("/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/mime.types", "/etc/ssl/certs"),
)
RESERVED_ENV = ("HOME", "TMPDIR", "TEMP", "TMP")


class Plan(NamedTuple):
    """One execution, ready for a back end.

    Attributes:
        command: argument vector.
        workdir: resolved; the only writable place.
        scratch: a folder inside `workdir` that holds HOME and TMPDIR, removed afterwards.
        outside: an empty folder that the command does not see, removed afterwards.
        env: the complete environment of the command.
        limits: to enforce.
        readable: every path that may be read, existing ones only.
        max_file_bytes: largest size a single file may reach.
    """

    command: tuple[str, ...]
    workdir: Path
    scratch: Path
    outside: Path
    env: dict[str, str]
    limits: Limits
    readable: tuple[str, ...]
    max_file_bytes: int


class Launch(NamedTuple):
    """Start of a plan by a back end: argument vector, environment, inherited file descriptors."""

    argv: list[str]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sandbox:
    """Runs a command with no network, and no access outside its work folder.

    Attributes:
        name: of its back end, as typed after `--sandbox`.
        diagnose: why the back end cannot run here and what would fix that; None if it may.
        launch: what to start for a plan.
    """

    name: str
    diagnose: Callable[[], str | None]
    launch: Callable[[Plan], Launch]

    def exec(
        self,
        command: Sequence[str],
        *,
        workdir: Path,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
    ) -> Result:
        """Run `command` in `workdir`, blocking.

        Args:
            command: argument vector; no shell is added.
            workdir: the only writable place; HOME and TMPDIR point inside it.
            files: relative path -> content, written into `workdir` first, in place of whatever
                an earlier command put there.
            limits: default `Limits()`.
            env: variables beyond the fixed safe ones; the host's environment never leaks in.
            readable: further paths that may be read.

        Raises:
            BadInput: an empty command, a missing work folder, or the name of a file outside it.
        """
        if not command:
            raise BadInput("sandbox: expected a command of at least one word, found none.")
        if not workdir.is_dir():
            raise BadInput(f"sandbox: expected an existing work folder, found {str(workdir)!r}.")
        folder = workdir.resolve()
        limits = limits or Limits()
        try:
            for name, content in (files or {}).items():
                write_work_file(folder, name, content)
            size, largest = folder_size(folder)
        except PermissionError:  # an earlier command has shut it
            size, largest = float("inf"), 0
        if size == float("inf"):
            problem = "sandbox: the work folder holds a folder that cannot be read."
            return Result(
                exit_code=None, stdout="", stderr=problem, seconds=0.0, limit="disk",
                backend=self.name,
            )  # fmt: skip
        with (
            temporary_work_folder(".sandbox-", folder) as scratch,
            temporary_work_folder("harness-sandbox-") as outside,
        ):
            descriptors: tuple[int, ...] = ()
            group = memory_group(limits.memory_mb)
            try:
                for name in ("home", "tmp"):
                    (scratch / name).mkdir()
                plan = Plan(
                    tuple(command),
                    folder,
                    scratch,
                    outside,
                    _environment(scratch, env or {}),
                    limits,
                    _readable_paths(readable),
                    largest + (limits.disk_mb << 20),
                )
                argv, environment, descriptors = self.launch(plan)
                return supervise(
                    argv if group is None else group.enter(argv),
                    env=environment,
                    pass_fds=descriptors,
                    workdir=folder,
                    limits=limits,
                    disk_before=size,
                    backend=self.name,
                    group=group,
                )
            finally:
                if group is not None:
                    group.remove()
                for descriptor in descriptors:
                    os.close(descriptor)


def _readable_paths(extra: Sequence[Path]) -> tuple[str, ...]:
    """System folders, the running interpreter's, and `extra`, as far as they exist."""
    interpreter = Path(sys.executable).resolve().parent.parent
    prefixes = {sys.prefix, sys.base_prefix, str(interpreter)} - {"/usr", "/"}
    paths = [*SYSTEM_PATHS, *sorted(prefixes), *toolchains()]
    paths += [str(path.resolve()) for path in extra]
    return tuple(dict.fromkeys(path for path in paths if os.path.exists(path)))  # noqa: PTH110


def toolchains() -> tuple[str, ...]:
    """Folders of the Rust, Go and Node that the user's PATH finds: few lie where the system's do.

    Of Rust the default toolchain itself: what rustup puts on the PATH are proxies that lie beside
    cargo's credentials.
    """
    rustup = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    return _toolchains(os.environ.get("PATH"), rustup, Path.home())


@cache
def _toolchains(path: str | None, rustup: Path, home: Path) -> tuple[str, ...]:
    programs = (shutil.which(program, path=path) for program in ("go", "node"))
    roots = [Path(program).resolve().parent.parent for program in programs if program]
    with suppress(OSError, ValueError):
        settings = tomllib.loads((rustup / "settings.toml").read_text("utf-8"))
        roots.append(rustup / "toolchains" / str(settings.get("default_toolchain")))
    # A folder of everything (`~/.local`, the home folder itself) is no toolchain's own.
    shared = ("usr", "local", ".local")
    return tuple(str(r) for r in roots if r.name not in shared and not home.is_relative_to(r))


def _environment(scratch: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Fixed safe variables, then `extra`; HOME and TMPDIR always lie in `scratch`."""
    tmp = str(scratch / "tmp")
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        + "".join(f":{root}/bin" for root in toolchains()),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        # One thread a library: the memory and process limits are for the work, not for pools.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # Our plugin of pytest lies in a checkout that the sandbox does not show; tests need none.
        "PYTEST_ADDOPTS": "-p no:harness",
        **{key: value for key, value in extra.items() if key not in RESERVED_ENV},
        "HOME": str(scratch / "home"),
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), tmp),
    }
