"""The back ends: what each needs, and how it starts a command."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

from harness.sandbox import landlock_child, seccomp
from harness.sandbox.execution import Launch, Plan, Sandbox

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
MOST_SIGNALS = 512
MOST_OPEN = min(1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
"""Descriptors of a process; each takes memory of the kernel's, which no limit counts."""
"""Signals that wait at one time; they are counted for the whole user."""
_HIDDEN = (
    *("cmdline", "config.gz", "kallsyms", "kcore", "kpagecgroup", "kpagecount", "kpageflags"),
    *("iomem", "key-users", "keys", "modules", "pagetypeinfo", "slabinfo", "timer_list"),
    "vmallocinfo",
)
"""Files of /proc about the host: how it was started, its keys, and where its memory lies."""


def _prlimit(plan: Plan) -> list[str]:
    """`prlimit` of util-linux with the limits that a process carries."""
    limits = plan.limits
    return [
        shutil.which("prlimit") or "prlimit",
        f"--data={limits.memory_mb << 20}",
        f"--fsize={plan.max_file_bytes}",
        f"--cpu={limits.cpu_s}:{limits.cpu_s + 2}",
        f"--nproc={limits.processes}",
        f"--sigpending={MOST_SIGNALS}",
        f"--nofile={MOST_OPEN}",
        "--",
    ]


def diagnose_bubblewrap() -> str | None:
    """Needs the program `bwrap` and user namespaces."""
    if not shutil.which("bwrap"):
        return "program bwrap not found; install the package bubblewrap."
    if not shutil.which("prlimit"):
        return "program prlimit not found; install the package util-linux."
    if not seccomp.supported():
        return "no system call table for this processor."
    knob = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if os.geteuid() and knob.exists() and knob.read_text().strip() == "1":
        return (
            "AppArmor restricts user namespaces; an administrator may set "
            "kernel.apparmor_restrict_unprivileged_userns=0 or add a profile for bwrap."
        )
    return None


def launch_bubblewrap(plan: Plan) -> Launch:
    """User, mount, process, IPC and network namespaces, from the command line of `bwrap`.

    To the kernel, root in a namespace without any capability still owns every switch below
    /proc/sys, and the mode and times of the host's /dev/null: /proc is read-only, and root gets
    device nodes of its own (bubblewrap cannot bind a device read-only).
    """
    read, write = os.pipe()
    os.write(write, seccomp.program("namespaces"))
    os.close(write)
    work, tmp = str(plan.workdir), str(plan.scratch / "tmp")
    # Set in front of the filter, which keeps it: 0 would leave a crash to a handler of the host's.
    programs = [shutil.which(name) or name for name in ("prlimit", "bwrap")]
    argv = [programs[0], "--core=1", "--", programs[1], "--unshare-all", "--unshare-user"]
    argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc", "/proc"]
    argv += ["--dev", "/dev", "--bind", tmp, "/dev/shm", "--bind", tmp, "/tmp"]
    for path in plan.readable:
        # Debian's /bin and /lib are links into /usr.
        if os.path.islink(path) and Path(path).parent == Path("/"):  # noqa: PTH114
            argv += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        else:
            argv += ["--ro-bind", path, path]
    argv += ["--bind", work, work, "--chdir", work]
    for node in _own_devices(plan.outside):
        argv += ["--dev-bind", str(node), f"/dev/{node.name}"]
    empty = plan.outside / "empty"
    empty.touch()
    hidden = [f"/proc/{name}" for name in _HIDDEN if Path("/proc", name).exists()]
    argv += [word for path in hidden for word in ("--ro-bind", str(empty), path)]
    # Pseudo terminals are counted for the whole machine.
    argv += [
        "--tmpfs",
        "/dev/pts",
        "--remount-ro",
        "/dev/pts",
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/proc",
        "--remount-ro",
        "/",
    ]
    argv += ["--seccomp", str(read), "--"]
    return Launch([*argv, *_prlimit(plan), *plan.command], plan.env, (read,))


def _own_devices(folder: Path) -> list[Path]:
    """Fresh device nodes for this execution; none for a user who may not make them."""
    if os.geteuid() or os.statvfs(folder).f_flag & os.ST_NODEV:
        return []
    nodes: list[Path] = []
    for path in map(Path, (*DEVICES, "/dev/tty")):
        with suppress(OSError):
            node = folder / path.name
            os.mknod(node, 0o666 | stat.S_IFCHR, path.stat().st_rdev)
            node.chmod(0o666)
            nodes.append(node)
    return nodes


def diagnose_landlock() -> str | None:
    """Needs Linux 6.2, or better 6.12, where Landlock also confines signals."""
    if not sys.platform.startswith("linux"):
        return f"needs Linux, found {sys.platform!r}."
    version = landlock_child.abi()
    if not version:
        return "the kernel has no Landlock (Linux 5.13 with lsm=landlock); enable it at boot."
    if version < 3:
        return f"needs Landlock ABI 3 (Linux 6.2), which confines truncation; found {version}."
    return None if seccomp.supported() else "no system call table for this processor."


def launch_landlock(plan: Plan, unshare: bool = True) -> Launch:
    """Landlock for files and signals, seccomp for sockets and metadata, rlimits for the others.

    Landlock cannot refuse UDP, nor connecting to a socket file, so the seccomp filter refuses
    every `socket` call; socket pairs still work. No namespace is needed, but one is used where it
    is allowed (and `unshare` is true), because the kernel then ends all processes with the first.
    """
    limits = plan.limits
    message = {
        "command": plan.command,
        "readable": plan.readable,
        "writable": [str(plan.workdir)],
        "devices": [path for path in DEVICES if os.path.exists(path)],  # noqa: PTH110
        "cpu": limits.cpu_s,
        "memory": limits.memory_mb << 20,
        "file": plan.max_file_bytes,
        "processes": limits.processes + 1,
        "signals": MOST_SIGNALS,
        "open": MOST_OPEN,
        "unshare": unshare,
        "seccomp": seccomp.program("landlock").hex(),
    }
    child = str(Path(landlock_child.__file__).resolve())
    return Launch([sys.executable, "-I", "-S", child, json.dumps(message)], plan.env)


def launch_unconfined(plan: Plan) -> Launch:
    """Limits only. Used when `none` is typed, never by itself."""
    if not (sys.platform.startswith("linux") and shutil.which("prlimit")):
        return Launch(list(plan.command), plan.env)
    # Without a namespace --nproc would count every process of the user.
    limits = [part for part in _prlimit(plan) if not part.startswith("--nproc")]
    return Launch([*limits, *plan.command], plan.env)


# `auto` takes the first that stops every attack. In namespaces LibreOffice runs; landlock denies
# it its local socket.
BACKENDS = {
    "bubblewrap": Sandbox("bubblewrap", diagnose_bubblewrap, launch_bubblewrap),
    "landlock": Sandbox("landlock", diagnose_landlock, launch_landlock),
}
UNCONFINED = Sandbox("none", lambda: None, launch_unconfined)
