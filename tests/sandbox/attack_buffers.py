"""Attacks on memory that only a control group counts, loaded by `attack_payload.py` in a sandbox.

Standard library only. An attack returns whether it worked, or raises what stopped it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import socket
from contextlib import suppress
from typing import Any


def shared_memory(bait: dict[str, Any]) -> bool:
    """Pages of a shared mapping stay when no page table leads to them any more."""
    space = mmap.mmap(-1, bait["megabytes"] << 20)
    for place in range(0, len(space), 1 << 20):
        space[place : place + (1 << 20)] = bytes([1]) * (1 << 20)
        space.madvise(mmap.MADV_DONTNEED, place, 1 << 20)
    return sum(space[place] for place in range(0, len(space), 1 << 20)) == bait["megabytes"]


def socket_buffers(bait: dict[str, Any]) -> bool:
    """What is sent and never read lies in the kernel."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held: list[tuple[socket.socket, socket.socket]] = []
    size = 0
    while size < bait["megabytes"] << 20:
        pair = socket.socketpair()
        held.append(pair)
        for end in pair:
            end.setblocking(False)
            with suppress(BlockingIOError):
                while True:
                    size += end.send(bytes(60_000))
    return bool(held)


def pipe_buffers(bait: dict[str, Any]) -> bool:
    """What lies in pipes, lies in the kernel."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held, size = [os.pipe()], 0
    while size < bait["megabytes"] << 20:
        end = held[-1][1]
        os.set_blocking(end, False)
        with suppress(OSError):
            fcntl.fcntl(end, 1031, 1 << 20)  # F_SETPIPE_SZ
        with suppress(BlockingIOError):
            while True:
                size += os.write(end, bytes(1 << 16))
        held.append(os.pipe())
    return True
