"""The processes below one process: finding, measuring and killing them (Linux and others)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

_PROC = Path("/proc")
HAS_PROC = (_PROC / "self/stat").exists()


def descendants(root: int) -> list[int]:
    """Every live process below `root`, parents before children; `root` is not among them."""
    if not HAS_PROC:
        return []
    found: list[int] = []
    todo = [root]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:  # noqa: PTH123
                children += map(int, stream.read().split())
    except OSError:  # the process ended meanwhile
        pass
    return children


def usage(pids: list[int]) -> tuple[int, int]:
    """Threads and private plus shared-anonymous bytes of `pids` together."""
    threads = memory_kb = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status", "rb") as stream:  # noqa: PTH123
                for line in stream:
                    if line.startswith((b"RssAnon:", b"RssShmem:")):
                        memory_kb += int(line.split()[1])
                    elif line.startswith(b"Threads:"):
                        threads += int(line.split()[1])
        except OSError:
            continue
    return threads, memory_kb * 1024


def kill_tree(root: int) -> None:
    """Stop, then kill, everything below `root`; `root` goes last so that no child escapes it."""
    deadline = time.monotonic() + 5.0
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        fresh = [pid for pid in descendants(root) if pid not in stopped]
        if not fresh:
            break
        for pid in fresh:
            send(pid, signal.SIGSTOP)
        stopped.update(fresh)
    for pid in stopped:
        send(pid, signal.SIGKILL)
    try:  # noqa: SIM105
        os.killpg(root, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    send(root, signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    try:  # noqa: SIM105
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def folder_size(folder: Path) -> tuple[int, int]:
    """Allocated bytes below `folder` (4 KiB for each entry at least), and its largest file."""
    total = largest = 0
    todo = [str(folder)]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                facts = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                else:
                    largest = max(largest, facts.st_size)
            except OSError:
                continue
            total += max(4096, facts.st_blocks * 512)
    return total, largest
