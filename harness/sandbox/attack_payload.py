"""Runs inside a sandbox, as `python attack_payload.py NAME FACTS`: try one attack or several.

Standard library only. Prints `TRIED name` before each attack and `ESCAPED name` if it worked.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time
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


def main() -> None:
    """Try the attacks named in argv[1], separated by commas."""
    facts: dict[str, Any] = json.loads(sys.argv[2])
    facts["until"] = time.monotonic() + 5
    for name in sys.argv[1].split(","):
        print("TRIED", name, flush=True)
        with suppress(OSError, MemoryError, ValueError):
            if globals()[name](facts):
                print("ESCAPED", name, flush=True)


if __name__ == "__main__":
    main()
