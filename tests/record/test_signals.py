"""Signals to `harness record` reach the command once; its exit code is ours."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.record import Recording
from tests.record.provider import Said, provide
from tests.record.speaking import speaking

AGENT = """
import json, os, pathlib, signal, sys, time, urllib.request
got, folder = [], pathlib.Path(sys.argv[1])
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, frame: got.append(number))
body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(), {"Content-Type": "application/json"})
urllib.request.urlopen(asked).read()
(folder / "pid").write_text(str(os.getppid()))
deadline = time.time() + 60
while not got and time.time() < deadline:
    time.sleep(0.02)
time.sleep(0.3)  # a second signal would come by now
(folder / "got").write_text(" ".join(str(int(one)) for one in got))
sys.exit(7)
"""


def started(folder: Path, url: str, terminal: int | None) -> subprocess.Popen[bytes]:
    """`harness record` around the agent, in a session of its own."""
    command = [sys.executable, "-m", "harness", "record", "--out", str(folder / "r"), "--base-url",
               url, "--", sys.executable, "-c", AGENT, str(folder)]  # fmt: skip
    own = "import os, sys, fcntl, signal, termios; os.setsid(); "
    for ignored in ("SIGINT", "SIGHUP"):  # by a job in the background, or under nohup
        own += f"signal.signal(signal.{ignored}, signal.SIG_DFL); "
    own += "fcntl.ioctl(0, termios.TIOCSCTTY, 0) if os.isatty(0) else None; "
    own += "os.execv(sys.argv[1], sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", own, *command],
        stdin=subprocess.DEVNULL if terminal is None else terminal,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(3000):
        if path.is_file() and path.read_text():
            return
        assert process.poll() is None, f"ended with {process.returncode}"
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"{path} did not come")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["Ctrl-C", "SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_reaches_the_command_once(way: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty() if way == "Ctrl-C" else (None, None)
    with provide(speaking(lambda _: Said("Hello"))) as provider:
        process = started(tmp_path, provider.url, theirs)
        wait_for(tmp_path / "pid", process)
        if ours is None:
            os.kill(process.pid, getattr(signal, way))
        else:
            os.write(ours, b"\x03")
        assert process.wait(60) == 7
    expected = signal.SIGINT if way == "Ctrl-C" else getattr(signal, way)
    assert (tmp_path / "got").read_text().split() == [str(int(expected))]
    [kept] = Recording(tmp_path / "r").exchanges
    assert kept.outcome == "complete"
    assert list((tmp_path / "r" / "trajectories").iterdir())
