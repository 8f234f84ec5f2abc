"""Runs inside a sandbox, as `python attack_payload.py NAME FACTS`: try one attack or several.

Standard library only. Prints `TRIED name` before each attack and `ESCAPED name` if it worked: an
attack returns whether it did, or raises what stopped it; where it returns nothing, the host tells.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import runpy
import signal
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
_MIB = 1 << 20


def _last(*steps: object) -> object:
    """The value of the last of several steps."""
    return steps[-1]


def _connects(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
    return True


def tcp(bait: dict[str, Any]) -> bool:
    with socket.create_connection(("127.0.0.1", bait["tcp"]), timeout=0.5):
        return True


def udp(bait: dict[str, Any]) -> None:
    """The receiver tells whether it worked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"harm", ("127.0.0.1", bait["udp"]))


def proc_environment(bait: dict[str, Any]) -> bool:
    for pid in (bait["host"], bait["victim"]):
        with suppress(OSError):
            if bait["token"] in Path(f"/proc/{pid}/environ").read_text():
                return True
    return False


def kernel_switches(_: dict[str, Any]) -> bool:
    """Files of /proc that root owns: opened for writing, never written."""
    for path in ("sys/kernel/core_pattern", "sys/vm/overcommit_memory", "sys/fs/file-max", "mtrr"):
        with suppress(OSError):
            os.close(os.open(f"/proc/{path}", os.O_WRONLY))
            return True
    return False


def host_facts(_: dict[str, Any]) -> bool:
    """Read how the kernel was started, its keys and timers, and what lies where in its memory."""
    names = "cmdline iomem kallsyms kcore key-users keys kpagecount kpageflags modules slabinfo"
    for name in (*names.split(), "pagetypeinfo", "timer_list", "vmallocinfo"):
        with suppress(OSError), open(f"/proc/{name}", "rb") as stream:  # noqa: PTH123
            if stream.read(8):
                return True
    return False


def standard_input(_: dict[str, Any]) -> None:
    """Mode and times of what is behind the descriptors, by number and path."""
    for path in (0, 1, 2, "/proc/self/fd/0", "/dev/stdin"):
        with suppress(OSError):
            os.chmod(path, 0o667)  # noqa: PTH101
        with suppress(OSError):
            os.utime(path, (0, 0))


def kept_devices(_: dict[str, Any]) -> None:
    """Device nodes out of a folder of the sandbox's own."""
    for node in Path().glob(".*/*/*"):
        with suppress(OSError):
            node.rename(f"kept-{node.name}")


def setuid_file(_: dict[str, Any]) -> bool:
    """Every way of making a file that runs as its owner for anybody."""
    Path("plain").write_bytes(b"")
    plain = os.open("plain", os.O_RDWR)
    ways: list[Callable[[], object]] = [
        lambda: Path("plain").chmod(0o4755),
        lambda: os.fchmod(plain, 0o6755),
        lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755),
        lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
        lambda: os.mknod("node", 0o4755 | stat.S_IFREG),
        lambda: _LIBC.creat(b"created", 0o4755),
        lambda: _LIBC.syscall(452, -100, b"plain", 0o4755, 0),  # fchmodat2
        lambda: _LIBC.syscall(437, -100, b"by2", struct.pack("=QQQ", 0o101, 0o4755, 0), 24),
    ]
    for way in ways:
        with suppress(OSError):
            way()
    bits = stat.S_ISUID | stat.S_ISGID
    return any(path.lstat().st_mode & bits for path in Path().iterdir())


def capabilities(_: dict[str, Any]) -> bool:
    sets = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return _LIBC.capget(header, sets) == 0 and any(sets)


def attributes(_: dict[str, Any]) -> bool:
    """File capabilities, access lists, and data where no count of blocks sees it."""
    Path("tagged").write_bytes(b"")
    for name in ("user.data", "security.capability", "system.posix_acl_access"):
        with suppress(OSError):
            os.setxattr("tagged", name, bytes(20))
            return True
    return False


def daemon(_: dict[str, Any]) -> None:
    """The heartbeat tells."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 3)
        for _beat in range(100):
            with open("heartbeat", "a") as beat:  # noqa: PTH123
                beat.write("x")
            time.sleep(0.02)
        os._exit(0)
    os.wait()
    time.sleep(0.05)


def _spread(work: Callable[[], object], processes: int, seconds: float) -> bool:
    """Work in several processes, which then stay until we have looked."""
    for _ in range(processes):
        if os.fork() == 0:
            _last(work(), time.sleep(20), os._exit(0))
    time.sleep(seconds)
    return True


def loop(bait: dict[str, Any]) -> bool:
    while time.monotonic() < bait["until"]:
        pass
    return True


def output(_: dict[str, Any]) -> bool:
    for _block in range(10_000):
        os.write(1, b"x" * 10_000)
    return True


def big_file(_: dict[str, Any]) -> bool:
    with open("big", "wb") as stream:  # noqa: PTH123
        for _block in range(64):
            stream.write(b"x" * _MIB)
    return True


def _fill(hold: Callable[[int, str], object] = lambda stream, _: os.close(stream)) -> bool:
    """Write 64 MiB into files; each is held in a way of the attack's."""
    for name in map(str, range(64)):
        stream = os.open(name, os.O_CREAT | os.O_RDWR, 0o600)
        _last(os.write(stream, b"x" * _MIB), hold(stream, name), time.sleep(0.01))
    return True


def _unlinked(_: int, name: str) -> None:
    os.unlink(name)  # noqa: PTH108


def _mapped(stream: int, name: str) -> None:
    # A page keeps them all; Python's own mapping would keep a descriptor.
    _LIBC.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, stream, 0)
    os.close(stream)
    _unlinked(stream, name)


def datagram(bait: dict[str, Any]) -> bool:
    """Reach a local socket of the host from a pair of sockets, which no `socket` call made."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        with suppress(OSError):
            socket.socketpair(socket.AF_UNIX, kind)[0].sendto(b"harm", bait["datagrams"])
            return True
    return False


def sent_files(_: dict[str, Any]) -> bool:
    sockets = [socket.socketpair() for _ in range(16)]

    def send(stream: int, name: str) -> None:
        socket.send_fds(sockets[int(name) % 16][0], [b"x"], [stream])
        os.close(stream)
        _unlinked(stream, name)

    _fill(send)
    time.sleep(0.5)
    return True


def deep_files(_: dict[str, Any]) -> bool:
    for _level in range(30):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    return _fill()


def locked_folder(_: dict[str, Any]) -> bool:
    """Root looks into it all the same, anyone else cannot."""
    Path("locked").mkdir()
    os.chdir("locked")
    Path().chmod(0o300)
    return _fill()


def _headless(work: Callable[[], object]) -> None:
    """Work on in a second thread after the main thread has ended: of the process less is seen."""

    def alone() -> None:
        time.sleep(0.1)
        work()
        print("ESCAPED", sys.argv[1], flush=True)
        os._exit(0)

    threading.Thread(target=alone).start()
    _LIBC.syscall(60 if os.uname().machine == "x86_64" else 93, 0)  # exit, of this thread alone


def page_tables(bait: dict[str, Any]) -> bool:
    """Reading an empty mapping costs a page table for every 2 MiB."""
    size = bait["megabytes"] << 29  # 512 times as much
    space = mmap.mmap(-1, size, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)
    for start in range(0, size, 2 * _MIB):
        _ = space[start]
        if start % (1 << 33) == 0:
            time.sleep(0.02)
    time.sleep(0.2)
    return True


SHORT: dict[str, Callable[[dict[str, Any]], object]] = {
    "read_outside": lambda bait: Path(bait["secret"]).read_text(),
    "write_outside": lambda bait: Path(bait["target"]).write_text("harm"),
    "change_mode_outside": lambda bait: Path(bait["secret"]).chmod(0o777),
    "change_times_outside": lambda bait: os.utime(bait["secret"], (0, 0)),
    "planted_link": lambda _: Path("planted").read_text(),
    "made_link": lambda bait: _last(
        Path("made").symlink_to(bait["outside"]), Path("made/secret").read_text()
    ),
    "hard_link": lambda bait: _last(
        Path("hard").hardlink_to(bait["secret"]), Path("hard").read_text()
    ),
    "abstract_socket": lambda bait: _connects("\0" + bait["abstract"]),
    "unix_socket": lambda bait: _connects(bait["unix"]),
    # In a process namespace the number may be another's: the victim tells.
    "signal_host": lambda bait: os.kill(bait["victim"], signal.SIGTERM),
    "limit_host": lambda bait: _last(
        resource.prlimit(bait["victim"], resource.RLIMIT_NOFILE, (3, 3)), None
    ),
    "host_environment": lambda bait: any(bait["token"] in value for value in os.environ.values()),
    "trace_host": lambda bait: _LIBC.ptrace(16, bait["victim"], 0, 0) == 0,
    "device_times": lambda _: os.utime("/dev/null", (0, 0)),
    "device_file": lambda _: _last(os.mknod("d", 0o666 | stat.S_IFCHR, os.makedev(1, 3)), True),
    # System V objects: kernel memory that no process is charged for.
    "kernel_queues": lambda _: _LIBC.msgget(0, 0o1600) >= 0 or _LIBC.semget(0, 100, 0o1600) >= 0,
    # A process that nobody may look into.
    "undumpable": lambda _: _LIBC.prctl(4, 0, 0, 0, 0) == 0,
    "forks": lambda bait: _spread(lambda: None, bait["forks"], 0.5),
    # Values of earlier steps are held until the last one has been taken.
    "memory": lambda bait: _last(
        [b"x" * (8 * _MIB + index) for index in range(bait["megabytes"] // 8)],
        time.sleep(0.2),
        True,
    ),
    "memory_spread": lambda bait: _spread(lambda: b"x" * (bait["megabytes"] << 18), 4, 1.0),
    # Each below the limit.
    "headless_memory": lambda bait: _spread(
        lambda: _headless(lambda: _last(b"x" * (bait["megabytes"] << 18), time.sleep(20))), 3, 1.0
    ),
    "many_files": lambda _: _fill(),
    "unlinked_files": lambda _: _fill(_unlinked),
    "mapped_files": lambda _: _fill(_mapped),
    "headless_files": lambda _: _headless(lambda: _fill(_unlinked)),
    "headless_maps": lambda _: _headless(lambda: _fill(_mapped)),
}
"""Attacks of one step or two."""


def main() -> None:
    """Try the attacks named in argv[1], separated by commas."""
    bait: dict[str, Any] = json.loads(sys.argv[2])
    bait["until"] = time.monotonic() + bait["seconds"]
    attacks: dict[str, Any] = {**globals(), **SHORT}
    for further in sorted(Path().glob("attack_[!p]*.py")):
        names = runpy.run_path(str(further))
        attacks |= names | names.get("SHORT", {})
    bait["descriptors"] = attacks["open_descriptors"]()
    for name in sys.argv[1].split(","):
        print("TRIED", name, flush=True)
        try:
            escaped = attacks[name](bait)
        except (OSError, MemoryError, ValueError):
            continue
        except Exception:  # noqa: BLE001  # a broken attack proves nothing
            escaped = True
        if escaped:
            print("ESCAPED", name, flush=True)


if __name__ == "__main__":
    main()
