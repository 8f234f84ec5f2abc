"""Run a launched command to its end: pump its output, enforce the limits, kill the whole tree.

One loop in the calling thread; no lock, no thread, so any number may run side by side.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from harness.sandbox import tree
from harness.sandbox.plan import Launch
from harness.sandbox.types import LimitHit, Limits, Result

_TICK_S = 0.02
_CPU_CODES = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


class _Disk:
    """Growth of a folder, looked at rarely enough that looking costs at most a tenth."""

    def __init__(self, folder: Path, limit: int, before: int) -> None:
        self.folder, self.limit, self.before = folder, limit, before
        self.due = 0.0

    def exceeded(self, *, now: float) -> bool:
        if now < self.due:
            return False
        total, _ = tree.folder_size(self.folder)
        cost = time.monotonic() - now
        self.due = now + max(0.05, 10 * cost)
        return total - self.before > self.limit


def supervise(
    launch: Launch, *, workdir: Path, limits: Limits, disk_before: int, backend: str, watch: bool
) -> Result:
    """Start `launch` and return when nothing of it is left.

    Args:
        launch: what to start.
        workdir: its current folder.
        limits: of time, memory, processes, output and disk.
        disk_before: bytes in `workdir` at the start.
        backend: name for the result.
        watch: count memory and processes below the started process (off where they live
            elsewhere, as in a container engine).
    """
    begin = time.monotonic()
    process = subprocess.Popen(
        launch.argv,
        cwd=workdir,
        env=launch.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=launch.pass_fds,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    pump = _Pump(process.stdout, process.stderr, limits.output_bytes)
    disk = _Disk(workdir, limits.disk_mb << 20, disk_before)
    hit: LimitHit | None = None
    try:
        hit = _loop(process, pump, disk, limits, begin, watch)
    finally:
        if process.returncode is None:
            tree.kill_tree(process.pid)
            process.wait()
        else:
            _kill_group(process.pid)
        pump.drain()
    hit = hit or ("output" if pump.full else None)
    if hit is None and process.returncode in _CPU_CODES:
        hit = "cpu"
    disk.due = 0.0
    if hit is None and disk.exceeded(now=time.monotonic()):
        hit = "disk"
    code = process.returncode
    return Result(
        exit_code=None if hit else code,
        stdout=pump.text(0),
        stderr=pump.text(1),
        seconds=time.monotonic() - begin,
        limit=hit,
        backend=backend,
    )


def _loop(
    process: subprocess.Popen[bytes],
    pump: _Pump,
    disk: _Disk,
    limits: Limits,
    begin: float,
    watch: bool,
) -> LimitHit | None:
    due = 0.0
    with pump.selector as selector:
        try:
            pidfd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):
            pidfd = -1  # an old kernel or another system: the tick notices the end
        if pidfd >= 0:
            selector.register(pidfd, selectors.EVENT_READ, None)
        try:
            while process.poll() is None:
                pump.read(selector.select(_TICK_S))
                now = time.monotonic()
                if now - begin > limits.wall_s:
                    return "time"
                if pump.full:
                    return "output"
                if now >= due:
                    due = now + _TICK_S
                    if watch and (hit := _over(process.pid, limits)):
                        return hit
                    if disk.exceeded(now=now):
                        return "disk"
        finally:
            if pidfd >= 0:
                os.close(pidfd)
    return None


def _over(pid: int, limits: Limits) -> LimitHit | None:
    below = tree.descendants(pid)
    if len(below) > limits.processes + 3:  # launcher, init and reaper are ours
        return "processes"
    threads, memory = tree.usage(below)
    if memory > limits.memory_mb << 20:
        return "memory"
    return "processes" if threads > limits.processes + 3 else None


def _kill_group(group: int) -> None:
    try:  # noqa: SIM105
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


class _Pump:
    """Both output streams, kept up to a number of bytes together."""

    def __init__(self, stdout: IO[bytes], stderr: IO[bytes], limit: int) -> None:
        self.room = limit
        self.full = False
        self.streams = (stdout, stderr)
        self.kept = (bytearray(), bytearray())
        self.selector = selectors.DefaultSelector()
        for index, stream in enumerate(self.streams):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, index)

    def read(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in events:
            if key.data is not None and not self._take(key.data):
                self.selector.unregister(key.fileobj)

    def _take(self, index: int) -> bool:
        try:
            data: bytes | None = self.streams[index].read(65536)  # None: nothing there yet
        except ValueError:
            return False
        if data is None:  # pyright: ignore[reportUnnecessaryComparison] # non-blocking streams do
            return True
        self.kept[index].extend(data[: self.room])
        self.full = self.full or len(data) > self.room
        self.room = max(0, self.room - len(data))
        return bool(data)

    def drain(self) -> None:
        """Take what the pipes still hold (a pipe holds 64 KiB) and close them."""
        for index, stream in enumerate(self.streams):
            for _ in range(32):
                before = len(self.kept[index])
                if not self._take(index) or len(self.kept[index]) == before:
                    break
            stream.close()

    def text(self, index: int) -> str:
        return self.kept[index].decode("utf-8", "replace")
