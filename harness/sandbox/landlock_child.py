"""Started as a script by the Landlock back end: confine this process, run the command, reap all.

Standard library only, run with `python -I -S`. Three processes: this one; inside a process
namespace, where the machine allows one, a reaper; and the confined command. When the command
ends, the reaper ends everything that it left behind.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PDEATHSIG, _SUBREAPER, _NO_NEW_PRIVS, _SET_SECCOMP, _DROP_BOUND = 1, 36, 38, 22, 24
_CAPSET_HEADER = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
# linux/landlock.h: execute 0, write 1, read 2, read folder 3, ... truncate 14, ioctl 15.
_READ = 1 << 0 | 1 << 2 | 1 << 3
_FILE_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NAMESPACES = 0x10000000 | 0x20000000 | 0x40000000 | 0x08000000  # user, pid, network, IPC


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def abi() -> int:
    """The Landlock version of this kernel; 0 if it has none."""
    return max(0, _LIBC.syscall(_CREATE_RULESET, None, 0, 1))


def _checked(result: int, call: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), call)
    return result


def _landlock(readable: list[str], writable: list[str], devices: list[str]) -> None:
    version = abi()
    rights = _ALL_BY_ABI.get(version, (1 << 16) - 1)
    network = 3 if version >= 4 else 0
    scope = 3 if version >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("=QQQ", rights, network, scope)[: 8 if version < 4 else 24]
    if version in (4, 5):
        attributes = attributes[:16]
    ruleset = _checked(
        _LIBC.syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset"
    )
    grants = [(readable, _READ), (writable, rights), (devices, _READ | 1 << 1)]
    for path, allowed in [(path, allowed) for paths, allowed in grants for path in paths]:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):  # noqa: PTH112
            allowed &= _FILE_ONLY  # noqa: PLW2901
        rule = struct.pack("=Qi", allowed & rights, descriptor)
        _checked(_LIBC.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
        os.close(descriptor)
    _checked(_LIBC.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _confine(plan: dict[str, Any]) -> None:
    cpu = plan["cpu"]
    bounds = [
        (resource.RLIMIT_CPU, (cpu, cpu + 2)),
        (resource.RLIMIT_DATA, (plan["memory"],) * 2),
        (resource.RLIMIT_FSIZE, (plan["file"],) * 2),
        (resource.RLIMIT_CORE, (1, 1)),  # 0 would leave it to a handler of the host's
        (resource.RLIMIT_SIGPENDING, (plan["signals"],) * 2),
        (resource.RLIMIT_NOFILE, (plan["open"],) * 2),
    ]
    if plan["namespaces"]:  # elsewhere it would count every process of the user
        bounds.append((resource.RLIMIT_NPROC, (plan["processes"],) * 2))
    for limit, (soft, hard) in bounds:
        ceiling = resource.getrlimit(limit)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
        resource.setrlimit(limit, (soft, hard))
    _checked(_LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    # Root has them all, and anyone has them in a namespace of their own.
    for capability in range(64):
        _LIBC.prctl(_DROP_BOUND, capability, 0, 0, 0)
    _checked(_LIBC.capset(_CAPSET_HEADER, bytes(24)), "capset")
    _landlock(plan["readable"], plan["writable"], plan["devices"])
    code = bytes.fromhex(plan["seccomp"])
    program = _Program(len(code) // 8, code)
    _checked(_LIBC.prctl(_SET_SECCOMP, 2, ctypes.byref(program), 0, 0), "seccomp")


def _namespaces() -> bool:
    uid, gid = os.getuid(), os.getgid()
    if _LIBC.unshare(_NAMESPACES):
        return False
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text)
    return True


def _reap(plan: dict[str, Any]) -> int:
    """Run the confined command; when it ends, end its descendants and return its wait status."""
    _LIBC.prctl(_SUBREAPER, 1, 0, 0, 0)
    status, command = 0, os.fork()
    if command == 0:
        _LIBC.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            _confine(plan)
            os.execvpe(plan["command"][0], plan["command"], os.environ)
        except OSError as error:
            print(f"sandbox: {plan['command'][0]}: {error}", file=sys.stderr, flush=True)
        os._exit(127)
    pid = 0
    while pid != command:
        pid, status = os.wait()
    if not plan["namespaces"]:
        with suppress(ChildProcessError):
            while True:
                for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                    os.kill(int(child), signal.SIGKILL)
                os.wait()
    return status


def main() -> None:
    """Read the plan from argv and run it."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    _LIBC.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    plan["namespaces"] = plan["unshare"] and _namespaces()
    # When the first process of a namespace ends, the kernel ends the others.
    init = os.fork() if plan["namespaces"] else 0
    if init:
        status = os.waitpid(init, 0)[1]
    else:
        _LIBC.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        status = _reap(plan)
    code = os.waitstatus_to_exitcode(status)
    os._exit(128 - code if code < 0 else code)


if __name__ == "__main__":
    main()
