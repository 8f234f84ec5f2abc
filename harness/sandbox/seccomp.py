"""A small seccomp filter, as BPF bytes: what neither mounts nor Landlock can refuse.

Format: `struct sock_filter` of linux/filter.h; data layout: `struct seccomp_data`.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import Literal

_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name -> (x86_64, aarch64) system call numbers; -1: the architecture has none.
_NUMBERS = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "file_getattr": (468, 468),
    "file_setattr": (469, 469),
    "clone": (56, 220),
    "clone3": (435, 435),
    "prlimit64": (302, 261),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "fallocate": (285, 47),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "open_by_handle_at": (304, 265),
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "open": (2, -1),
    "openat": (257, 56),
    "openat2": (437, 437),
    "creat": (85, -1),
    "mknod": (133, -1),
    "mknodat": (259, 33),
    "prctl": (157, 167),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "fsopen": (430, 430),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "chmod": (90, -1),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, -1),
    "fchown": (93, 55),
    "lchown": (94, -1),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "utime": (132, -1),
    "utimes": (235, -1),
    "futimesat": (261, -1),
    "utimensat": (280, 88),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "getxattrat": (464, 464),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "listxattrat": (465, 465),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "fcntl": (72, 25),
    "setrlimit": (160, 164),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
_ALWAYS = [
    # Memory that no count of processes sees.
    *("shmget", "semget", "msgget", "mq_open", "memfd_create", "memfd_secret", "io_uring_setup"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "perf_event_open", "userfaultfd", "bpf"),
    *("pidfd_getfd", "open_by_handle_at"),
    *("unshare", "setns", "mount", "umount2", "pivot_root", "fsopen", "move_mount", "open_tree"),
    *("add_key", "request_key", "keyctl"),
    # They tell what the host runs and mounts.
    *("inotify_init", "inotify_init1", "fanotify_init", "statmount", "listmount"),
]
# Landlock has no right for these. They report success and do nothing, because copying a file
# (shutil.copy, shutil.copy2) sets its mode and times and must not fail.
_SILENT = [
    *("chmod", "fchmod", "fchmodat", "fchmodat2"),
    *("chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
]
# As on a file system without them, which programs that copy files know: file capabilities, access
# lists, and data that is not counted.
_UNSUPPORTED = [
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
    *("getxattr", "lgetxattr", "fgetxattr", "getxattrat"),
    *("listxattr", "llistxattr", "flistxattr", "listxattrat", "file_getattr", "file_setattr"),
    # It takes a whole disk in a moment, before anyone looks. Without it, libraries write zeros.
    "fallocate",
]
# Local, IPv4, IPv6, netlink: what a network namespace holds. A virtual machine's host (vsock) is
# beyond it, and so are the kernel's ciphers.
_FAMILIES = (1, 2, 10, 16)
# System call -> the argument that holds the mode of a file. A set-user-ID file in the work folder
# would run for every user of the machine with the rights of ours. Devices need a capability, too.
_SETID, _DEVICE = 0o6000, 0o020000
_MODES = {
    "chmod": (1, _SETID), "fchmod": (1, _SETID), "fchmodat": (2, _SETID), "fchmodat2": (2, _SETID),
    "creat": (1, _SETID), "mknod": (1, _SETID | _DEVICE), "mknodat": (2, _SETID | _DEVICE),
}  # fmt: skip
_OPENING = {"open": 1, "openat": 2}  # the flags; the mode stands behind them
_CREATES = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE
_SET_DUMPABLE = 4
_OWN_ONLY = [
    *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
]
# The first argument says of whom the second is a number: the process itself.
_PRIORITY = {"setpriority": 0, "ioprio_set": 1}
_CORE = 4
"""Number of the limit of core dumps: at 1, and only then, no handler of the host's gets one."""
_FILE_COMMANDS = (1024, 1026, 1036, 1038)
"""Of `fcntl`, on any file that may be read: leases and notices stall, or tell of, whoever opens it;
hints of its life are its inode's."""
_DATAGRAM = 2
"""A bit of the types of socket that reach any local socket by its path, paired or not."""
_CONTROLS = (0x5400, 0x8900)
"""Kinds of `ioctl` for terminals, pipes and sockets: those of file systems mark any file that may
be read, or lock it up (verity, encryption)."""
_CLONE_NEWUSER = 0x10000000
_ANY = 0xFFFFFFFF
"""In place of a value: any bit of the argument."""

_LOAD, _JEQ, _JGE, _JSET, _RET, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def supported() -> bool:
    """Return True if the numbers of this processor are known."""
    return platform.machine() in _ARCH


def program(kind: Literal["namespaces", "landlock"]) -> bytes:
    """The filter: `landlock` also refuses every socket and every change of file metadata."""
    machine = platform.machine()
    column = 0 if machine == "x86_64" else 1
    out = [
        _op(_LOAD, 4),
        _op(_JEQ, _ARCH[machine], 1, 0),
        _op(_RET, _KILL),
        _op(_LOAD, 0),
    ]
    if machine == "x86_64":  # the x32 call table would pass by the numbers below
        out += [_op(_JGE, 0x40000000, 0, 1), _op(_RET, _KILL)]

    def refuse(name: str, error: int) -> None:
        number = _NUMBERS[name][column]
        if number >= 0:
            out.extend([_op(_JEQ, number, 0, 1), _op(_RET, _ERRNO | error)])

    def refuse_argument(
        name: str,
        *arguments: float,
        test: int = _JSET,
        negate: bool = False,
        error: int = errno.EPERM,
    ) -> None:
        number = _NUMBERS[name][column]
        if number >= 0:
            out.extend(_refuse_argument(number, arguments, test, negate, error))

    for name, flags in _OPENING.items():  # first: they are called most
        refuse_argument(name, flags, _CREATES, flags + 1, _SETID)
    for name in _ALWAYS:
        refuse(name, errno.EPERM)
    # Their flags and modes lie in memory; libraries fall back to clone and openat.
    refuse("clone3", errno.ENOSYS)
    refuse("openat2", errno.ENOSYS)
    refuse_argument("clone", 0, _CLONE_NEWUSER)
    for command in _FILE_COMMANDS:
        refuse_argument("fcntl", 1, command, test=_JEQ)
    for name, of_process in _PRIORITY.items():
        refuse_argument(name, 0, of_process, test=_JEQ, negate=True)
        refuse_argument(name, 1, 0, test=_JEQ, negate=True)
    refuse_argument("setrlimit", 0, _CORE, test=_JEQ, error=0)
    for half in (2, 2.5):  # of the address of a new limit
        refuse_argument("prlimit64", 1, _CORE, half, _ANY, test=_JEQ, error=0)
    # What its descriptors hold must stay visible: see `supervision`.
    refuse_argument("prctl", 0, _SET_DUMPABLE, test=_JEQ)
    for name, (mode, bits) in _MODES.items():
        refuse_argument(name, mode, bits)
    for name in _UNSUPPORTED:
        refuse(name, errno.EOPNOTSUPP)
    out += [_op(_JEQ, _NUMBERS["ioctl"][column], 0, 6), _op(_LOAD, 24), _op(_AND, 0xFF00)]
    out += [_op(_JEQ, _CONTROLS[0], 2, 0), _op(_JEQ, _CONTROLS[1], 1, 0)]
    out += [_op(_RET, _ERRNO | errno.ENOTTY), _op(_LOAD, 0)]
    count = len(_FAMILIES)
    out += [_op(_JEQ, _NUMBERS["socket"][column], 0, count + 3), _op(_LOAD, 16)]
    out += [_op(_JEQ, family, count - index, 0) for index, family in enumerate(_FAMILIES)]
    out += [_op(_RET, _ERRNO | errno.EAFNOSUPPORT), _op(_LOAD, 0)]
    if kind == "landlock":
        refuse("socket", errno.EPERM)
        refuse_argument("socketpair", 1, _DATAGRAM)
        # By path and to the present time, as `Path.touch` asks whether a file exists.
        refuse_argument("utimensat", 1, 0, test=_JEQ, error=0)
        refuse_argument("utimensat", 2, 0, test=_JEQ)
        for name in _SILENT:
            refuse(name, 0)
        for name in _OWN_ONLY:
            refuse_argument(name, 0, 0, test=_JEQ, negate=True)
    out.append(_op(_RET, _ALLOW))
    return b"".join(out)


def _op(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, k)


def _refuse_argument(
    number: int, arguments: tuple[float, ...], test: int, negate: bool, error: int
) -> list[bytes]:
    """An error if the low word of each argument passes the test (or fails it, if `negate`).

    Args:
        number: of the system call.
        arguments: index and value of an argument, and of further ones that must pass, too; half
            an index more is the high word.
        test: the comparison.
        negate: for one argument only.
        error: number of the error; 0 reports success.
    """
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    out = [_op(_JEQ, number, 0, 2 * len(pairs) + 2)]
    for ahead, (argument, value) in zip(range(len(pairs) - 1, -1, -1), pairs, strict=True):
        passing, failing = 0, 2 * ahead + 1  # the last instruction loads the number again
        jumps = (failing, passing) if negate else (passing, failing)
        kind = _JSET if value == _ANY else test
        out += [_op(_LOAD, 16 + int(8 * argument)), _op(kind, int(value), *jumps)]
    return [*out, _op(_RET, _ERRNO | error), _op(_LOAD, 0)]
