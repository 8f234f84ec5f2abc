"""Attacks by way of system calls, loaded by `attack_payload.py` inside a sandbox.

Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_COLUMN = 0 if platform.machine() == "x86_64" else 1
# System call numbers on x86_64 and aarch64.
_SYSLOG, _CLOCK_SETTIME, _REBOOT, _INIT_MODULE = (103, 116), (227, 112), (169, 142), (175, 105)
_DELETE_MODULE, _KEXEC_LOAD, _SWAPON, _ACCT = (176, 106), (246, 104), (167, 224), (163, 89)
_SETHOSTNAME, _CHROOT, _SCHED_SETATTR = (170, 161), (161, 51), (314, 274)
_QUEUE_SIGNAL, _PIDFD_OPEN, _PIDFD_SIGNAL, _TGKILL = (129, 138), (434, 434), (424, 424), (234, 131)
_IO_URING, _USERFAULTFD, _BPF, _PERF = (425, 425), (323, 282), (321, 280), (298, 241)
_ADD_KEY, _MEMFD_SECRET, _KCMP, _READV = (248, 217), (447, 447), (312, 272), (310, 270)
_MOVE_PAGES, _ROBUST_LIST, _MADVISE = (279, 239), (274, 100), (440, 440)
_MQ_OPEN, _FSOPEN, _OPEN_TREE, _UNSHARE = (240, 180), (430, 430), (428, 428), (272, 97)
_LANDLOCK_RULES, _SECCOMP, _IOPRIO_SET = (444, 444), (317, 277), (251, 30)
_STATMOUNT, _LISTMOUNT = (457, 457), (458, 458)
_NOTHING = ctypes.create_string_buffer(128)


def _call(number: tuple[int, int], *arguments: Any) -> bool:
    """Return True if the kernel did it; elsewhere the numbers mean other calls."""
    return sys.platform == "linux" and _LIBC.syscall(number[_COLUMN], *arguments) >= 0


def other_sockets(_: dict[str, Any]) -> bool:
    """Families beyond IP and local ones: no network namespace holds a virtual machine's vsock."""
    for family in (40, 17, 38, 44, 15, 31, 30, 21, 29, 39, 5, 9):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
            with suppress(OSError):
                socket.socket(family, kind).close()
                return True
    return False


def raw_sockets(_: dict[str, Any]) -> bool:
    """Packets made by hand."""
    for protocol in (socket.IPPROTO_ICMP, socket.IPPROTO_RAW):
        with suppress(OSError):
            socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol).close()
            return True
    return False


def kernel_log(_: dict[str, Any]) -> bool:
    """Read what the kernel wrote: addresses, devices, other users' programs."""
    with suppress(OSError):
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        return True
    return _call(_SYSLOG, 3, ctypes.create_string_buffer(4096), 4096)


def privileged_calls(_: dict[str, Any]) -> bool:
    """Calls for root, with arguments that change nothing: another error than 'not permitted'."""
    now = struct.pack("=qq", int(time.time()), 0)
    host = os.uname().nodename.encode()
    calls: list[tuple[Any, ...]] = [
        (_CLOCK_SETTIME, 0, now),
        (_REBOOT, 0, 0, 0, 0),
        (_INIT_MODULE, 0, 0, 0),
        (_DELETE_MODULE, b"none", 0),
        (_KEXEC_LOAD, 0, 0, 0, 0),
        (_SWAPON, b"/none", 0),
        (_ACCT, b"/none"),
        (_SETHOSTNAME, host, len(host)),
        (_CHROOT, b"."),
    ]
    for number, *arguments in calls:
        if _call(number, *arguments) or ctypes.get_errno() not in (1, 38):
            return True
    return False


def priority(_: dict[str, Any]) -> bool:
    """Time before every other process of the machine."""
    for policy in (os.SCHED_FIFO, os.SCHED_RR):
        with suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(1))
            return True
    deadline = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, 10_000_000, 20_000_000, 20_000_000)
    if _call(_SCHED_SETATTR, 0, deadline, 0):
        return True
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, before - 5)
    return os.getpriority(os.PRIO_PROCESS, 0) < before


def raised_limits(_: dict[str, Any]) -> bool:
    """More than a limit that cannot be raised."""
    for name in (
        "CPU",
        "FSIZE",
        "DATA",
        "CORE",
        "NPROC",
        "NOFILE",
        "MEMLOCK",
        "MSGQUEUE",
        "RTPRIO",
    ):
        number = getattr(resource, f"RLIMIT_{name}")
        soft, hard = resource.getrlimit(number)
        if hard == resource.RLIM_INFINITY:
            continue
        with suppress(OSError, ValueError):
            resource.setrlimit(number, (soft, hard + 1))
            if resource.getrlimit(number)[1] > hard:
                return True
    return False


def core_dump(_: dict[str, Any]) -> bool:
    """A crash whose memory the host's handler, a program of root's, would read."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGSEGV)
    return os.WCOREDUMP(os.waitpid(child, 0)[1])


def terminal(_: dict[str, Any]) -> bool:
    """Words typed into the terminal of who started us."""
    for number in (0, 1, 2):
        with suppress(OSError):
            fcntl.ioctl(number, 0x5412, b"\n")  # TIOCSTI
            return True
    os.close(os.open("/dev/tty", os.O_RDWR))
    return True


def open_descriptors() -> list[int]:
    """Descriptors beyond input, output and errors."""
    numbers: list[int] = []
    for number in range(3, 1024):
        with suppress(OSError):
            os.fstat(number)
            numbers.append(number)
    return numbers


def signal_queue(bait: dict[str, Any]) -> None:
    """A signal by `rt_sigqueueinfo` and by `tgkill`. The victim tells."""
    data = struct.pack("=iii", signal.SIGTERM, 0, -1).ljust(128, b"\0")
    _call(_QUEUE_SIGNAL, bait["victim"], signal.SIGTERM, data)
    _call(_TGKILL, bait["victim"], bait["victim"], signal.SIGTERM)


def signal_owner(bait: dict[str, Any]) -> None:
    """A signal that the kernel sends to who is called the owner of a socket. The victim tells."""
    left, right = socket.socketpair()
    fcntl.fcntl(left, fcntl.F_SETOWN, bait["victim"])
    fcntl.fcntl(left, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(left, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
    right.send(b"x")
    time.sleep(0.05)


def signal_parent(bait: dict[str, Any]) -> bool:
    """Return whether the process that judges us takes our signals; number 0 does nothing."""
    if bait["host"] in (os.getppid(), 1):
        os.kill(bait["host"], 0)
        return os.getppid() == bait["host"]
    return False


def look_into_others(bait: dict[str, Any]) -> bool:
    """Memory, pages, locks and descriptors of another process."""
    victim = bait["victim"]
    room = ctypes.create_string_buffer(16)
    local = struct.pack("=QQ", ctypes.addressof(room), 16)
    number = _LIBC.syscall(_PIDFD_OPEN[_COLUMN], victim, 0)
    calls: list[tuple[Any, ...]] = [
        (_READV, victim, local, 1, struct.pack("=QQ", 0x400000, 16), 1, 0),
        (_KCMP, os.getpid(), victim, 1, 0, 0),
        (_MOVE_PAGES, victim, 0, None, None, None, 0),
        (_ROBUST_LIST, victim, room, room),
        (_MADVISE, number, local, 1, 20, 0),
    ]
    return any(_call(number, *arguments) for number, *arguments in calls)


def reserved_space(_: dict[str, Any]) -> bool:
    """Blocks beyond the end of a file, all in one call."""
    stream = os.open("reserved", os.O_CREAT | os.O_WRONLY, 0o600)
    if _LIBC.fallocate(stream, 1, ctypes.c_long(0), ctypes.c_long(512 << 20)):
        return False
    return os.fstat(stream).st_blocks * 512 >= 512 << 20


def fixed_file(_: dict[str, Any]) -> bool:
    """A file that not even its owner can remove."""
    stream = os.open("fixed", os.O_CREAT | os.O_WRONLY, 0o600)
    for flag in (0x10, 0x20):  # immutable, append only
        with suppress(OSError):
            fcntl.ioctl(stream, 0x40086602, struct.pack("=l", flag))  # FS_IOC_SETFLAGS
            fcntl.ioctl(stream, 0x40086602, struct.pack("=l", 0))
            return True
    return False


def loosened_sandbox(bait: dict[str, Any]) -> bool:
    """A filter of our own that allows all, and a rule set of our own over all files."""
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = struct.pack("=HxxxxxxQ", 1, ctypes.addressof(allow))
    _call(_SECCOMP, 1, 0, ctypes.create_string_buffer(program))
    _call(_LANDLOCK_RULES, struct.pack("=Q", (1 << 13) - 1), 8, 0)
    with suppress(OSError):
        return bool(Path(bait["secret"]).read_text())
    return _call(_UNSHARE, 0x10000000)


def x32_calls(_: dict[str, Any]) -> bool:
    """The second call table of x86-64, whose numbers a filter may forget."""
    child = os.fork()
    if not child:
        os._exit(0 if _LIBC.syscall(0x40000000 | 41, socket.AF_INET, 1, 0) >= 0 else 1)
    return os.waitpid(child, 0)[1] == 0


def held_output(_: dict[str, Any]) -> None:
    """A process in the background holds our output open: who waits for its end, waits."""
    if not os.fork():
        os.setsid()
        time.sleep(60)
        os._exit(0)


def empty_files(_: dict[str, Any]) -> bool:
    """Files without a byte, which take their places on the disk all the same."""
    for index in range(20_000):
        os.close(os.open(f"empty{index}", os.O_CREAT | os.O_WRONLY, 0o600))
    time.sleep(0.3)
    return True


def _refused(call: tuple[int, int], *arguments: Any, unsupported: int = 0) -> bool:
    """Say whether a call is refused before the kernel looks at its arguments, which are wrong."""
    return not _call(call, *arguments) and ctypes.get_errno() in (1, 38, unsupported)


def leases(_: dict[str, Any]) -> bool:
    """Make whoever opens the file wait for us or tell us, and say how long it will live."""
    Path("leased").touch()
    hint = struct.pack("=Q", 2)
    for path, command, argument in (
        *(("leased", 1024, 0), (".", 1026, 0x8000003F)),
        *(("leased", 1036, hint), ("leased", 1038, hint)),
    ):
        with suppress(OSError):
            fcntl.fcntl(os.open(path, os.O_RDONLY), command, argument)
            return True
    return False


def marked_files(_: dict[str, Any]) -> bool:
    """Marks and versions of files that may only be read, by controls of file systems and by call.

    Ours stands for them: a refusal for another reason would prove nothing.
    """
    Path("marked").touch()
    stream = os.open("marked", os.O_RDONLY)
    for control in (0x40086602, 0x401C5820, 0x40086604, 0x40087602, 0x40806685, 0xC0506617):
        try:
            fcntl.ioctl(stream, control, bytes(128))
        except OSError as error:
            if error.errno == errno.ENOTTY:
                continue
        return True
    return not _refused((469, 469), -100, b"marked", bytes(32), 24, 0, unsupported=95)


def read_attributes(_: dict[str, Any]) -> bool:
    """Values of extended attributes, also of files that may not be read."""
    for path in ("/etc/shadow", sys.executable):
        try:
            os.getxattr(path, "user.none")
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOENT, errno.EACCES):
                return True
    return False


def scheduled_host(bait: dict[str, Any]) -> None:
    """Another process gets less time. The victim tells."""
    batch = struct.pack("=IIQiIQQQ", 48, 3, 0, 5, 0, 0, 0, 0)
    _call(_SCHED_SETATTR, bait["victim"], batch, 0)
    with suppress(OSError):
        os.sched_setscheduler(bait["victim"], os.SCHED_BATCH, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, bait["victim"], 7)


def priority_of_others(_: dict[str, Any]) -> bool:
    """All processes of the user or group: a priority that none may have changes nothing."""
    for which in (os.PRIO_USER, os.PRIO_PGRP):
        ctypes.set_errno(0)
        if _LIBC.setpriority(which, 0, -20) == 0 or ctypes.get_errno() != errno.EPERM:
            return True
    return not _refused(_IOPRIO_SET, 3, 0, 7 << 13)


def handled_crash(_: dict[str, Any]) -> bool:
    """A limit of core dumps other than 1 leaves a crash to a handler of the host's."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _LIBC.setrlimit(resource.RLIMIT_CORE, struct.pack("=QQ", 0, 0))
    return resource.getrlimit(resource.RLIMIT_CORE) != (1, 1)


def waiting_signals(_: dict[str, Any]) -> bool:
    """Signals that nobody takes are counted for the user, who then gets none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    data = struct.pack("=iii", signal.SIGRTMIN, 0, -1).ljust(128, b"\0")
    return all(_call(_QUEUE_SIGNAL, os.getpid(), int(signal.SIGRTMIN), data) for _ in range(2000))


SHORT: dict[str, Callable[[dict[str, Any]], object]] = {
    # When memory is short, the kernel ends another process.
    "last_to_die": lambda _: (
        Path("/proc/self/oom_score_adj").write_text("-500")
        and Path("/proc/self/oom_score_adj").read_text().strip() == "-500"
    ),
    # Files that the host left open for us.
    "inherited_descriptors": lambda bait: bait["descriptors"],
    # A signal by the descriptor of a process. The victim tells.
    "signal_descriptor": lambda bait: _call(
        *(_PIDFD_SIGNAL, _LIBC.syscall(_PIDFD_OPEN[_COLUMN], bait["victim"], 0)),
        *(signal.SIGTERM, None, 0),
    ),
    # A key ring of the user outlives the sandbox, and other processes read it.
    "kernel_keys": lambda _: any(
        _call(_ADD_KEY, b"user", b"harness", b"x", 1, ring) for ring in (-3, -4, -5)
    ),
    # A message queue outlives its process and is no file of the work folder.
    "posix_queue": lambda _: _call(_MQ_OPEN, b"harness-queue", os.O_CREAT | os.O_RDWR, 0o600, None),
    # Calls that open wide parts of the kernel, or memory that nobody counts.
    "kernel_doors": lambda _: (
        _call(_IO_URING, 8, _NOTHING)
        or _call(_USERFAULTFD, 1)
        or _call(_BPF, 5, _NOTHING, 128)
        or _call(_PERF, struct.pack("=IIQ", 1, 120, 0).ljust(120, b"\0"), 0, -1, -1, 0)
        or _call(_MEMFD_SECRET, 0)
        or _call(_FSOPEN, b"tmpfs", 0)
        or _call(_OPEN_TREE, -100, b"/", 1)
        or _call(_UNSHARE, 0x10000000)
    ),
    # A file of a tebibyte without a block: who reads it, reads for hours.
    "unending_file": lambda _: (Path("unending").touch(), os.truncate("unending", 1 << 40)),
    # All of our processes stop, and so none ever ends.
    "stopped_group": lambda _: os.kill(0, signal.SIGSTOP),
    # Read what the host has mounted where.
    "mount_table": lambda _: not all(_refused(n, 0, 0, 0, 0) for n in (_STATMOUNT, _LISTMOUNT)),
    # Learn which programs the host runs by a watch on their folder.
    "watched_programs": lambda _: _LIBC.inotify_init1(0) >= 0 or _LIBC.fanotify_init(0x200, 0) >= 0,
    # The machine has so many, for all users.
    "pseudo_terminals": lambda _: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY) >= 0,
}
"""Attacks of one step or two."""
