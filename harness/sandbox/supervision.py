"""Run a launched command to its end: read its output, enforce the limits, kill the whole tree.

One loop in the calling thread; no lock, no thread, so any number may run side by side.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from harness.sandbox.cgroups import MemoryGroup
from harness.sandbox.disk import UnseenFiles, folder_size, inits, read_live
from harness.sandbox.types import LimitHit, Limits, Result

_TICK_S = 0.02
_CPU_CODES = (-signal.SIGXCPU, 128 + signal.SIGXCPU)
_OWN_PROCESSES = 3  # launcher, init and reaper
_HAS_PROC = Path("/proc/self/stat").exists()


def supervise(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    pass_fds: Sequence[int],
    workdir: Path,
    limits: Limits,
    disk_before: float,
    backend: str,
    group: MemoryGroup | None = None,
) -> Result:
    """Start a command and return when nothing of it is left.

    Args:
        argv: argument vector, with what confines the command.
        env: its complete environment.
        pass_fds: file descriptors that it inherits.
        workdir: its current folder.
        limits: of time, memory, processes, output and disk.
        disk_before: bytes in `workdir` at the start.
        backend: name for the result.
        group: control group that limits its memory, too.
    """
    begin = time.monotonic()
    process = subprocess.Popen(
        argv,
        cwd=workdir,
        env=env,
        stdin=subprocess.PIPE,  # at its end from the start; /dev/null would be the host's
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.close()
    output = _Output(process, limits.output_bytes)
    disk_limit = disk_before + (limits.disk_mb << 20)
    unseen = UnseenFiles(process.pid, workdir, limits.disk_mb << 20)
    hit: LimitHit | None = None
    tick_due = disk_due = 0.0
    try:
        while hit is None and process.poll() is None:
            output.wait()
            now = time.monotonic()
            if now - begin > limits.wall_s:
                hit = "time"
            elif output.full:
                hit = "output"
            elif now >= tick_due:
                tick_due = now + _TICK_S
                hit = _exceeded(process.pid, limits, busy=now - begin > limits.cpu_s)
                if hit is None and now >= disk_due:
                    hidden = unseen.bytes([*_descendants(process.pid)])
                    hit = "disk" if folder_size(workdir)[0] + hidden > disk_limit else None
                    # Looked at rarely enough that looking costs at most a tenth.
                    disk_due = now + max(0.05, 10 * (time.monotonic() - now))
    finally:
        if process.returncode is None:
            _kill_tree(process.pid)
            process.wait()
        else:
            _send(os.killpg, process.pid, signal.SIGKILL)
        output.close()
    if hit is None and output.full:
        hit = "output"
    elif hit is None and group is not None and group.overrun():
        hit = "memory"
    elif hit is None and process.returncode in _CPU_CODES:
        hit = "cpu"
    elif hit is None and folder_size(workdir)[0] > disk_limit:
        hit = "disk"
    stdout, stderr = (data.decode("utf-8", "replace") for data in output.data)
    return Result(
        exit_code=None if hit else process.returncode,
        stdout=stdout,
        stderr=stderr,
        seconds=time.monotonic() - begin,
        limit=hit,
        backend=backend,
    )


class _Output:
    """Both output streams of a process, stored up to a number of bytes together."""

    def __init__(self, process: subprocess.Popen[bytes], limit: int) -> None:
        assert process.stdout is not None and process.stderr is not None
        self.room = limit
        self.full = False
        self.streams = (process.stdout, process.stderr)
        self.data = (bytearray(), bytearray())
        self.selector = selectors.DefaultSelector()
        for index, stream in enumerate(self.streams):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, index)
        self.pidfd = -1
        # An old kernel or another system has none: the next tick notices the end.
        with suppress(AttributeError, OSError):
            self.pidfd = os.pidfd_open(process.pid)
            self.selector.register(self.pidfd, selectors.EVENT_READ)

    def wait(self) -> None:
        """Read what comes within a tick; return early if the process ends."""
        for key, _ in self.selector.select(_TICK_S):
            if key.data is not None and not self._read(key.data):
                self.selector.unregister(key.fileobj)

    def _read(self, index: int) -> bool:
        data: bytes | None = self.streams[index].read(65536)  # None: nothing there yet
        if data is None:  # pyright: ignore[reportUnnecessaryComparison] # non-blocking streams do
            return True
        self.data[index].extend(data[: self.room])
        self.full = self.full or len(data) > self.room
        self.room = max(0, self.room - len(data))
        return bool(data)

    def close(self) -> None:
        """Take what the pipes still hold (a pipe holds 64 KiB) and close them."""
        for index, stream in enumerate(self.streams):
            for _ in range(32):
                before = len(self.data[index])
                if not self._read(index) or len(self.data[index]) == before:
                    break
            stream.close()
        self.selector.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)


def _exceeded(root: int, limits: Limits, *, busy: bool) -> LimitHit | None:
    """The limit of processes or memory that the processes below `root` exceed together.

    Memory is private, plus shared-anonymous, plus page tables (reading a vast empty mapping fills
    those alone); threads count as processes. If `busy`, also the processor time of one that goes on
    after its signal.
    """
    most = limits.processes + _OWN_PROCESSES
    pids = [*islice(_descendants(root), most + 1)]  # of a bomb's no more
    threads = memory_kb = 0
    for pid in pids:
        with suppress(OSError):
            for line in read_live(pid, "status", b"RssAnon:").splitlines():
                if line.startswith((b"RssAnon:", b"RssShmem:", b"VmPTE:")):
                    memory_kb += int(line.split()[1])
                elif line.startswith(b"Threads:"):
                    threads += int(line.split()[1])
            if busy:
                times = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[11:13]
                if sum(map(int, times)) > limits.cpu_s * os.sysconf("SC_CLK_TCK"):
                    return "cpu"
    if len(pids) > most:
        return "processes"
    if memory_kb > limits.memory_mb << 10:
        return "memory"
    return "processes" if threads > most else None


def _descendants(root: int) -> Iterator[int]:
    """Every live process below `root`, parents before children; `root` is not among them."""
    todo = [root] if _HAS_PROC else []
    while todo:
        pid = todo.pop()
        children: list[int] = []
        with suppress(OSError):  # the process ended meanwhile
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:  # noqa: PTH123
                    children += map(int, stream.read().split())
        yield from children
        todo += children


def _kill_tree(root: int) -> None:
    """Stop, then kill, everything below `root`; `root` goes last so that no child escapes it."""
    for pid in inits(root):  # with the first of a namespace the kernel ends all of them
        _send(os.kill, pid, signal.SIGKILL)
    deadline = time.monotonic() + 5.0
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        fresh = [pid for pid in _descendants(root) if pid not in stopped]
        if not fresh:
            break
        for pid in fresh:
            _send(os.kill, pid, signal.SIGSTOP)
        stopped.update(fresh)
    for pid in stopped:
        _send(os.kill, pid, signal.SIGKILL)
    _send(os.killpg, root, signal.SIGKILL)
    _send(os.kill, root, signal.SIGKILL)


def _send(call: Callable[[int, int], None], pid: int, number: signal.Signals) -> None:
    """Signal a process or group that may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        call(pid, number)
