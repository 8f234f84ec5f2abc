"""Sandlock: Landlock with a seccomp supervisor, from PyPI (https://github.com/multikernel/sandlock)."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

from harness.sandbox.bubblewrap import prlimit_command
from harness.sandbox.plan import DEVICES, Launch, Plan

_CHILD = str(Path(__file__).with_name("sandlock_child.py"))


class Sandlock:
    """Needs the package `sandlock` and Landlock ABI 6 (Linux 6.12)."""

    name = "sandlock"
    watch = True

    def diagnose(self) -> str | None:
        if not sys.platform.startswith("linux"):
            return f"needs Linux, found {sys.platform!r}."
        if importlib.util.find_spec("sandlock") is None:
            return "package sandlock not found; pip install sandlock."
        if not shutil.which("prlimit"):
            return "program prlimit not found; install the package util-linux."
        return None

    def launch(self, plan: Plan) -> Launch:
        spec = importlib.util.find_spec("sandlock")
        assert spec is not None and spec.origin is not None
        message = {
            "site": str(Path(spec.origin).parent.parent),
            "command": [*prlimit_command(plan), *plan.command],
            "readable": plan.readable,
            "writable": [str(plan.workdir), *(path for path in DEVICES if os.path.exists(path))],  # noqa: PTH110
            "memory": plan.limits.memory_mb << 20,
            "processes": plan.limits.processes,
            "cwd": str(plan.workdir),
        }
        # Isolated: the child must import nothing from the work folder.
        return Launch([sys.executable, "-I", "-S", _CHILD, json.dumps(message)], plan.env)
