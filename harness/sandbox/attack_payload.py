"""Runs inside a sandbox, as `python attack_payload.py NAME FACTS`: try one attack or several.

Standard library only. Prints `TRIED name` before each attack and `ESCAPED name` if it worked.
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
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_outside(facts: dict[str, Any]) -> bool:
    return bool(Path(facts["secret"]).read_text())


def write_outside(facts: dict[str, Any]) -> bool:
    return bool(Path(facts["target"]).write_text("harm"))


def change_mode_outside(facts: dict[str, Any]) -> bool:
    Path(facts["secret"]).chmod(0o777)
    return Path(facts["secret"]).stat().st_mode & 0o777 == 0o777


def change_times_outside(facts: dict[str, Any]) -> bool:
    os.utime(facts["secret"], (0, 0))
    return Path(facts["secret"]).stat().st_mtime == 0


def planted_link(_: dict[str, Any]) -> bool:
    return bool(Path("planted").read_text())


def made_link(facts: dict[str, Any]) -> bool:
    Path("made").symlink_to(facts["outside"])
    return bool(Path("made/secret").read_text())


def hard_link(facts: dict[str, Any]) -> bool:
    Path("hard").hardlink_to(facts["secret"])
    return bool(Path("hard").read_text())


def tcp(facts: dict[str, Any]) -> bool:
    with socket.create_connection(("127.0.0.1", facts["tcp"]), timeout=0.5):
        return True


def udp(facts: dict[str, Any]) -> None:
    """The receiver tells whether it worked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"harm", ("127.0.0.1", facts["udp"]))


def _connects(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
    return True


def abstract_socket(facts: dict[str, Any]) -> bool:
    return _connects("\0" + facts["abstract"])


def unix_socket(facts: dict[str, Any]) -> bool:
    return _connects(facts["unix"])


def signal_host(facts: dict[str, Any]) -> None:
    """The victim tells: in a process namespace the number may be another's."""
    os.kill(facts["victim"], signal.SIGTERM)


def limit_host(facts: dict[str, Any]) -> None:
    """The victim tells."""
    resource.prlimit(facts["victim"], resource.RLIMIT_NOFILE, (3, 3))


def host_environment(facts: dict[str, Any]) -> bool:
    return any(facts["token"] in value for value in os.environ.values())


def proc_environment(facts: dict[str, Any]) -> bool:
    for pid in (facts["host"], facts["victim"]):
        with suppress(OSError):
            if facts["token"] in Path(f"/proc/{pid}/environ").read_text():
                return True
    return False


def trace_host(facts: dict[str, Any]) -> bool:
    return ctypes.CDLL(None).ptrace(16, facts["victim"], 0, 0) == 0


def kernel_switches(_: dict[str, Any]) -> bool:
    """Files of /proc that root owns: opened for writing, never written."""
    for path in ("sys/kernel/core_pattern", "sys/vm/overcommit_memory", "sys/fs/file-max", "mtrr"):
        with suppress(OSError):
            os.close(os.open(f"/proc/{path}", os.O_WRONLY))
            return True
    return False


def device_times(_: dict[str, Any]) -> None:
    """The host's device tells."""
    os.utime("/dev/null", (0, 0))


def setuid_file(_: dict[str, Any]) -> bool:
    """Every way of making a file that runs as its owner for anybody."""
    libc = ctypes.CDLL(None)
    Path("plain").write_bytes(b"")
    plain = os.open("plain", os.O_RDWR)
    ways: list[Callable[[], object]] = [
        lambda: Path("plain").chmod(0o4755),
        lambda: os.fchmod(plain, 0o6755),
        lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755),
        lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
        lambda: os.mknod("node", 0o4755 | stat.S_IFREG),
        lambda: libc.creat(b"created", 0o4755),
        lambda: libc.syscall(452, -100, b"plain", 0o4755, 0),  # fchmodat2
        lambda: libc.syscall(437, -100, b"by2", struct.pack("=QQQ", 0o101, 0o4755, 0), 24),
    ]
    for way in ways:
        with suppress(OSError):
            way()
    bits = stat.S_ISUID | stat.S_ISGID
    return any(path.lstat().st_mode & bits for path in Path().iterdir())


def device_file(_: dict[str, Any]) -> bool:
    os.mknod("device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return True


def capabilities(_: dict[str, Any]) -> bool:
    sets = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    return ctypes.CDLL(None).capget(header, sets) == 0 and any(sets)


def attributes(_: dict[str, Any]) -> bool:
    """File capabilities, access lists, and data where no count of blocks sees it."""
    Path("tagged").write_bytes(b"")
    for name in ("user.data", "security.capability", "system.posix_acl_access"):
        with suppress(OSError):
            os.setxattr("tagged", name, bytes(20))
            return True
    return False


def kernel_queues(_: dict[str, Any]) -> bool:
    """System V objects: kernel memory that no process is charged for."""
    libc = ctypes.CDLL(None)
    return libc.msgget(0, 0o1600) >= 0 or libc.semget(0, 100, 0o1600) >= 0


def undumpable(_: dict[str, Any]) -> bool:
    """A process that nobody may look into."""
    return ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0


def daemon(facts: dict[str, Any]) -> None:
    """The heartbeat tells."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.closerange(0, 3)
        for _ in range(100):
            with open("heartbeat", "a") as beat:  # noqa: PTH123
                beat.write("x")
            time.sleep(0.02)
        os._exit(0)
    os.wait()
    time.sleep(0.05)


def forks(facts: dict[str, Any]) -> bool:
    for _ in range(facts["forks"]):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    time.sleep(0.5)
    return True


def memory(facts: dict[str, Any]) -> bool:
    blocks = [bytearray(b"x" * (8 << 20)) for _ in range(facts["megabytes"] // 8)]
    time.sleep(0.2)
    return len(blocks) > 0


def memory_spread(facts: dict[str, Any]) -> bool:
    for _ in range(4):
        if os.fork() == 0:
            block = bytearray(b"x" * (facts["megabytes"] * 1024 * 1024 // 4))
            time.sleep(5)
            os._exit(len(block) == 0)
    time.sleep(4)
    return True


def loop(facts: dict[str, Any]) -> bool:
    while time.monotonic() < facts["until"]:
        pass
    return True


def output(facts: dict[str, Any]) -> bool:
    for _ in range(10_000):
        os.write(1, b"x" * 10_000)
    return True


def big_file(facts: dict[str, Any]) -> bool:
    with open("big", "wb") as stream:  # noqa: PTH123
        for _ in range(64):
            stream.write(b"x" * (1 << 20))
    return True


def many_files(_: dict[str, Any]) -> bool:
    for index in range(64):
        Path(f"many{index}").write_bytes(b"x" * (1 << 20))
        time.sleep(0.01)
    return True


def unlinked_files(_: dict[str, Any]) -> bool:
    for index in range(64):
        stream = os.open(f"unlinked{index}", os.O_CREAT | os.O_WRONLY)
        Path(f"unlinked{index}").unlink()
        os.write(stream, b"x" * (1 << 20))
        time.sleep(0.01)
    return True


def mapped_files(_: dict[str, Any]) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
    for index in range(64):
        stream = os.open(f"mapped{index}", os.O_CREAT | os.O_RDWR)
        os.write(stream, b"x" * (1 << 20))
        # A page keeps them all; Python's own mapping would keep a descriptor.
        libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, stream, 0)
        os.close(stream)
        Path(f"mapped{index}").unlink()
        time.sleep(0.01)
    return True


def sent_files(_: dict[str, Any]) -> bool:
    sockets = [socket.socketpair() for _ in range(16)]
    for index in range(64):
        stream = os.open(f"sent{index}", os.O_CREAT | os.O_WRONLY)
        os.write(stream, b"x" * (1 << 20))
        Path(f"sent{index}").unlink()
        socket.send_fds(sockets[index % 16][0], [b"x"], [stream])
        os.close(stream)
        time.sleep(0.01)
    time.sleep(0.5)
    return True


def deep_files(_: dict[str, Any]) -> bool:
    for _level in range(30):
        Path("d" * 200).mkdir()
        os.chdir("d" * 200)
    return many_files({})


def locked_folder(_: dict[str, Any]) -> bool:
    """Root looks into it all the same, anyone else cannot."""
    Path("locked").mkdir()
    os.chdir("locked")
    Path().chmod(0o300)
    return many_files({})


def page_tables(facts: dict[str, Any]) -> bool:
    """Reading an empty mapping costs a page table for every 2 MiB."""
    size = facts["megabytes"] << 29  # 512 times as much
    space = mmap.mmap(-1, size, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)
    for place in range(0, size, 2 << 20):
        _ = space[place]
        if place % (1 << 33) == 0:
            time.sleep(0.02)
    time.sleep(0.2)
    return True


def main() -> None:
    """Try the attacks named in argv[1], separated by commas."""
    facts: dict[str, Any] = json.loads(sys.argv[2])
    facts["until"] = time.monotonic() + facts["seconds"]
    attacks = globals()
    for further in sorted(Path().glob("attack_[!p]*.py")):
        attacks |= runpy.run_path(str(further))
    facts["descriptors"] = attacks["open_descriptors"]()
    for name in sys.argv[1].split(","):
        print("TRIED", name, flush=True)
        try:
            escaped = attacks[name](facts)
        except (OSError, MemoryError, ValueError):
            continue
        except Exception:  # noqa: BLE001  # a broken attack proves nothing
            escaped = True
        if escaped:
            print("ESCAPED", name, flush=True)


if __name__ == "__main__":
    main()
