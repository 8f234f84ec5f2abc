"""Landlock for files and signals, seccomp for sockets and metadata, rlimits for the rest.

Landlock cannot refuse UDP, nor connecting to a socket file, so the seccomp filter refuses every
`socket` call; socket pairs still work. No namespace is needed, but one is used where it is
allowed, because the kernel then ends all processes with the first.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from harness.sandbox import landlock_child, seccomp
from harness.sandbox.plan import DEVICES, Launch, Plan

_CHILD = str(Path(landlock_child.__file__).resolve())


class Landlock:
    """Needs Linux 5.13, or better 6.12, where Landlock also confines signals."""

    name = "landlock"
    watch = True

    def diagnose(self) -> str | None:
        if not sys.platform.startswith("linux"):
            return f"needs Linux, found {sys.platform!r}."
        version = landlock_child.abi()
        if not version:
            return "the kernel has no Landlock (Linux 5.13 with lsm=landlock); enable it at boot."
        if version < 3:
            return f"needs Landlock ABI 3 (Linux 6.2), which confines truncation; found {version}."
        if not seccomp.supported():
            return "no system call table for this processor."
        return None

    def launch(self, plan: Plan) -> Launch:
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
            "seccomp": seccomp.program("landlock").hex(),
            "try_namespaces": True,
        }
        exe = sys.executable
        return Launch([exe, "-I", "-S", _CHILD, json.dumps(message)], plan.env)
