"""Attacks on a sandbox, and the host's side of them: bait, and what became of it."""

from __future__ import annotations

import json
import os
import resource
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from harness.core import temporary_work_folder
from harness.sandbox.execution import Sandbox
from harness.sandbox.types import Limits, Result

# Harmless together in one process; each leaves a trace that the host can see.
REACHING = [
    "read_outside",
    "write_outside",
    "change_mode_outside",
    "change_times_outside",
    "planted_link",
    "made_link",
    "hard_link",
    "tcp",
    "udp",
    "abstract_socket",
    "unix_socket",
    "limit_host",
    "host_environment",
    "proc_environment",
    "trace_host",
    "kernel_switches",
    "device_times",
    "device_file",
    "setuid_file",
    "capabilities",
    "attributes",
    "kernel_queues",
    "undumpable",
    "other_sockets",
    "raw_sockets",
    "kernel_log",
    "privileged_calls",
    "priority",
    "raised_limits",
    "last_to_die",
    "core_dump",
    "terminal",
    "inherited_descriptors",
    "signal_parent",
    "kernel_doors",
    "kernel_keys",
    "posix_queue",
    "look_into_others",
    "unending_file",
    "reserved_space",
    "fixed_file",
    "x32_calls",
    "loosened_sandbox",
    "signal_queue",
    "signal_descriptor",
    "signal_owner",
    "signal_host",
    "standard_input",
    "kept_devices",
    "datagram",
    "marked_files",
    "leases",
    "read_attributes",
    "mount_table",
    "watched_programs",
    "host_facts",
    "pseudo_terminals",
    "scheduled_host",
    "priority_of_others",
    "handled_crash",
    "waiting_signals",
]
# Each needs an execution of its own.
CONSUMING = [
    "daemon",
    "forks",
    "memory",
    "memory_spread",
    "loop",
    "output",
    "big_file",
    "many_files",
    "unlinked_files",
    "mapped_files",
    "sent_files",
    "deep_files",
    "locked_folder",
    "page_tables",
    "held_output",
    "stopped_group",
    "empty_files",
    "headless_files",
    "headless_maps",
    "headless_memory",
]
ATTACKS = (*REACHING, *CONSUMING)
PROBE_LIMITS = Limits(
    wall_s=2.0, cpu_s=5, memory_mb=96, processes=12, output_bytes=100_000, disk_mb=4
)
PATIENCE = 5.0
"""How much longer an attack may take when it is tried again."""
_HERE = Path(__file__).parent
_PAYLOADS = (_HERE / "attack_payload.py", _HERE / "attack_calls.py")

# The victim sends back what it is sent. A stopped one does not.
ECHO = "import os\nwhile os.write(1, os.read(0, 1)): pass"
ANSWER_S = 5.0


class Bait(ExitStack):
    """Bait for attacks, as a context: a secret, servers, a victim process, a token."""

    def __enter__(self) -> Bait:
        enter = self.enter_context
        self.outside = Path(enter(tempfile.TemporaryDirectory(prefix="harness-bait-")))
        self.secret, self.target = self.outside / "secret", self.outside / "target"
        self.secret.write_text("secret")
        self.secret.chmod(0o600)
        self.token = secrets.token_hex(16)
        self.tcp = enter(socket.create_server(("127.0.0.1", 0)))
        self.udp = enter(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        self.unix = enter(socket.socket(socket.AF_UNIX))
        self.unix.bind(str(self.outside / "socket"))
        self.unix.listen()
        self.datagrams = enter(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.datagrams.bind(str(self.outside / "datagrams"))
        self.abstract = f"harness-{self.token}"
        if sys.platform.startswith("linux"):
            listener = enter(socket.socket(socket.AF_UNIX))
            listener.bind("\0" + self.abstract)
            listener.listen()
        self.victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", ECHO],
            env={"HARNESS_PROBE_TOKEN": self.token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.callback(self.victim.__exit__, None, None, None)
        self.callback(self.victim.kill)
        self.null, self.schedule = Path(os.devnull).stat(), self._schedule()
        return self

    def _schedule(self) -> tuple[int, int]:
        """Policy and priority of the victim."""
        return os.sched_getscheduler(self.victim.pid), os.getpriority(0, self.victim.pid)

    def attack(
        self,
        sandbox: Sandbox,
        names: Sequence[str],
        limits: Limits = PROBE_LIMITS,
        payloads: Sequence[Path] = (),
    ) -> tuple[set[str], Result]:
        """Run the attacks in one execution; the names of those that got through, and its result."""
        with temporary_work_folder("harness-range-") as work:
            (work / "planted").symlink_to(self.secret)
            bait = {
                "secret": str(self.secret),
                "target": str(self.target),
                "outside": str(self.outside),
                "unix": str(self.outside / "socket"),
                "datagrams": self.datagrams.getsockname(),
                "abstract": self.abstract,
                "tcp": self.tcp.getsockname()[1],
                "udp": self.udp.getsockname()[1],
                "victim": self.victim.pid,
                "host": os.getpid(),
                "token": self.token,
                "forks": 40,
                "megabytes": 256,
                # A limit of time that ends after the attack has ended would stop nothing.
                "seconds": 2 * limits.wall_s,
            }
            program = [sys.executable, "-I", "-S", _PAYLOADS[0].name]
            result = sandbox.exec(
                [*program, ",".join(names), json.dumps(bait)],
                workdir=work,
                files={path.name: path.read_bytes() for path in (*_PAYLOADS, *payloads)},
                limits=limits,
            )
            lines = result.stdout.splitlines()
            escaped = {line[8:] for line in lines if line.startswith("ESCAPED ")}
            # An attack that never began proves nothing, so it counts against the back end.
            escaped |= {name for name in names if f"TRIED {name}" not in lines}
            if result.limit == "time" and "held_output" in names:
                escaped.add("held_output")
            return escaped | self._traces(names, work), result

    def _traces(self, names: Sequence[str], work: Path) -> set[str]:
        """Collect the traces that the host sees, whatever the attack printed."""
        secret, null, remaining = self.secret.stat(), Path(os.devnull).stat(), list(work.iterdir())
        alive, limit = self.victim.poll() is None, resource.RLIMIT_NOFILE
        traces = {
            "write_outside": self.target.exists(),
            "change_times_outside": secret.st_mtime == 0,
            "change_mode_outside": bool(secret.st_mode & 0o077),
            "setuid_file": any(path.lstat().st_mode & 0o6000 for path in remaining),
            "kept_devices": any(path.is_char_device() for path in remaining),
            "device_times": null.st_mtime == 0,
            "standard_input": null.st_mtime == 0 or null.st_mode != self.null.st_mode,
            "limit_host": alive and resource.prlimit(self.victim.pid, limit)[0] == 3,
            "scheduled_host": alive and self._schedule() != self.schedule,
        }
        seen = {name for name, changed in traces.items() if changed and name in names}
        if null.st_mtime == 0:
            os.utime(os.devnull)
        if "udp" in names:
            with suppress(BlockingIOError):
                self.udp.recv(64)
                seen.add("udp")
        signals = {name for name in names if name.startswith("signal_")}
        if signals and not self._victim_answers():
            seen |= signals
        if "daemon" in names and (work / "heartbeat").exists():
            before = (work / "heartbeat").stat().st_size
            time.sleep(0.1)
            if (work / "heartbeat").stat().st_size != before:
                seen.add("daemon")
        return seen

    def _victim_answers(self) -> bool:
        """Return True if the victim lives: a signal on its way reaches it before it can answer."""
        assert self.victim.stdin is not None and self.victim.stdout is not None
        with suppress(BrokenPipeError):
            self.victim.stdin.write(b"\n")
            if select.select([self.victim.stdout], [], [], ANSWER_S)[0]:
                return bool(self.victim.stdout.read(1))
        return False


def storm(sandbox: Sandbox) -> tuple[str, ...]:
    """Every attack on `sandbox`; the names of those that got through, in order.

    An attack that did not even begin counts as having got through. Attacks that consume are
    judged by limits in time, which a loaded machine can miss: those that got through are tried
    once more, one after the other, with more time. Those that reach for something outside are not:
    once is enough.
    """
    through = set(_wave(sandbox, [REACHING, *([name] for name in CONSUMING)], len(CONSUMING) + 1))
    suspects = [name for name in CONSUMING if name in through]
    through -= set(suspects)
    through |= _wave(sandbox, [[name] for name in suspects], 1, PATIENCE)
    return tuple(name for name in ATTACKS if name in through)


def _wave(
    sandbox: Sandbox, groups: Sequence[Sequence[str]], workers: int, patience: float = 1.0
) -> set[str]:
    """The attacks of each group in one execution; the names of those that got through."""

    def attack(names: Sequence[str]) -> set[str]:
        # Many attacks in one execution, none of them waiting for its limit: a loaded machine may
        # take long to begin them all, and one that never began counts as an escape.
        seconds = 15.0 if len(names) > 1 else 1.5 if "loop" in names else PROBE_LIMITS.wall_s
        limits = PROBE_LIMITS.model_copy(update={"wall_s": patience * seconds})
        return bait.attack(sandbox, names, limits)[0]

    with Bait() as bait, ThreadPoolExecutor(workers) as pool:
        return {name for escaped in pool.map(attack, groups) for name in escaped}
