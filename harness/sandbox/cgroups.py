"""The kernel's own memory limit, where this user may make control groups.

It also counts what no list of processes shows: pages of a shared mapping that nobody maps any
more, and the buffers of sockets.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

# Version -> (file of the limit, further settings, file that counts processes killed for memory).
_FILES: dict[int, tuple[str, dict[str, str], str]] = {
    2: ("memory.max", {"memory.swap.max": "0", "memory.oom.group": "1"}, "memory.events"),
    1: ("memory.limit_in_bytes", {}, "memory.oom_control"),
}
_LAUNCHER_MB = 48
"""For what starts the command inside the same group."""
_ENTER = 'echo $$ > "$0" && exec "$@"'


class MemoryGroup(NamedTuple):
    """A control group with a memory limit, for one execution."""

    folder: Path
    version: int

    def enter(self, argv: list[str]) -> list[str]:
        """The command line that joins the group before it becomes `argv`."""
        return ["/bin/sh", "-c", _ENTER, str(self.folder / "cgroup.procs"), *argv]

    def overrun(self) -> bool:
        """Return True if the kernel has killed a process in it because of the limit."""
        with suppress(OSError):
            lines = (self.folder / _FILES[self.version][2]).read_text().splitlines()
            return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)
        return False

    def remove(self) -> None:
        """Remove it once its processes are gone."""
        for turn in range(100):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:  # the kernel may need a moment
                time.sleep(turn / 1000)


def memory_group(megabytes: int) -> MemoryGroup | None:
    """A new group with a limit of that many MiB; None where this user may not make one."""
    parent = group_place()
    return None if parent is None else _made(*parent, megabytes)


@cache
def group_place() -> tuple[Path, int] | None:
    """Folder in which groups can be made, and the version of the hierarchy; tried out once."""
    for folder, version in _candidates():
        for group in folder.glob("harness-*-*"):  # of processes that were killed
            if not Path("/proc", group.name.split("-")[1]).exists():
                with suppress(OSError):
                    group.rmdir()
        with suppress(OSError):
            group = _made(folder, version, 64)
            if group is None:
                continue
            try:
                if (
                    subprocess.run(
                        group.enter(["true"]), capture_output=True, check=False
                    ).returncode
                    == 0
                ):
                    return folder, version
            finally:
                group.remove()
    return None


def _made(folder: Path, version: int, megabytes: int) -> MemoryGroup | None:
    name, settings, _ = _FILES[version]
    group = MemoryGroup(folder / f"harness-{os.getpid()}-{secrets.token_hex(4)}", version)
    try:
        group.folder.mkdir()
        (group.folder / name).write_text(str(megabytes + _LAUNCHER_MB << 20))
    except OSError:
        with suppress(OSError):
            group.folder.rmdir()
        return None
    for setting, value in settings.items():
        with suppress(OSError):  # a kernel without swap has no such limit
            (group.folder / setting).write_text(value)
    return group


def _candidates() -> list[tuple[Path, int]]:
    """Folders in which a group of this process may have a neighbour (version 2) or a child (1)."""
    parents: list[tuple[Path, int]] = []
    with suppress(OSError, ValueError):
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for _, mount, kind, options, *_ in mounts:
                if not controllers and kind == "cgroup2":
                    # Next to ours: a group with processes may have no children with limits.
                    above = Path(f"{mount}{path}")
                    above = above if path == "/" else above.parent
                    if "memory" in (above / "cgroup.subtree_control").read_text().split():
                        parents.append((above, 2))
                elif kind == "cgroup" and "memory" in controllers.split(","):
                    parents += [(Path(f"{mount}{path}"), 1)] * ("memory" in options.split(","))
    return [(folder, version) for folder, version in parents if os.access(folder, os.W_OK)]
