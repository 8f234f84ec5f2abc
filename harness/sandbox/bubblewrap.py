"""Bubblewrap: user, mount, process, IPC and network namespaces, from its command line."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from harness.sandbox import seccomp
from harness.sandbox.plan import Launch, Plan


def prlimit_command(plan: Plan) -> list[str]:
    """`prlimit` of util-linux with the limits that a process carries."""
    limits = plan.limits
    return [
        shutil.which("prlimit") or "prlimit",
        f"--data={limits.memory_mb << 20}",
        f"--fsize={plan.max_file_bytes}",
        f"--cpu={limits.cpu_s}:{limits.cpu_s + 2}",
        f"--nproc={limits.processes}",
        "--core=0",
        "--",
    ]


class Bubblewrap:
    """Needs the program `bwrap` and user namespaces."""

    name = "bubblewrap"
    watch = True

    def diagnose(self) -> str | None:
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

    def launch(self, plan: Plan) -> Launch:
        read, write = os.pipe()
        os.write(write, seccomp.program("namespaces"))
        os.close(write)
        work, tmp = str(plan.workdir), str(plan.scratch / "tmp")
        argv = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--unshare-user"]
        argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        argv += ["--proc", "/proc", "--dev", "/dev", "--bind", tmp, "/dev/shm"]
        argv += ["--bind", tmp, "/tmp"]
        for path in plan.readable:
            # Debian's /bin and /lib are links into /usr.
            if os.path.islink(path) and Path(path).parent == Path("/"):  # noqa: PTH114
                argv += ["--symlink", os.readlink(path), path]  # noqa: PTH115
            else:
                argv += ["--ro-bind", path, path]
        argv += ["--bind", work, work, "--chdir", work]
        argv += ["--remount-ro", "/dev", "--remount-ro", "/", "--seccomp", str(read), "--"]
        return Launch([*argv, *prlimit_command(plan), *plan.command], plan.env, (read,))
