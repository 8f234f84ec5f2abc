"""The fork server: a call costs a fork, leaves nothing, and sees nothing of any other call."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox import ForkServer, encode_call, read_result

AGENT = "harness.agents.child:outcome"
HOSTILE = """
import os, signal, socket, subprocess, sys, threading, time
state = []

def leave(prompt, workdir, skill):
    exec(prompt)
    return "done"

def look(prompt, workdir, skill):
    return repr((state, os.environ.get("LEFT"), os.getcwd(), signal.getsignal(signal.SIGTERM),
                 threading.active_count(), os.listdir("/proc/self/fd"), sys.getrecursionlimit()))
"""


@pytest.fixture
def server(tmp_path: Path) -> Generator[ForkServer]:
    (tmp_path / "mine.py").write_text(HOSTILE)
    yield ForkServer(AGENT, {})
    gc.collect()


def begin(server: ForkServer, folder: Path, name: str, prompt: str = "") -> socket.socket:
    """Begin a call of a function of the user's file."""
    request = {
        "kind": "py", "reference": f"mine.py:{name}", "base": str(folder), "path": [],
        "arguments": [prompt, str(folder), None],
    }  # fmt: skip
    connection = server.connect()
    connection.settimeout(60)
    connection.sendall(encode_call(request, {"OF_CALL": "1"}))
    return connection


def call(server: ForkServer, folder: Path, name: str, prompt: str = "") -> dict[str, Any]:
    with begin(server, folder, name, prompt) as connection, connection.makefile("rb") as stream:
        return read_result(stream.read())


def below(pid: int) -> set[int]:
    """Every process below one."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:  # it has ended meanwhile
        return set()
    return {int(child) for child in children}.union(*(below(int(child)) for child in children))


def template() -> int:
    """The process id of the only template of this process, once it has been started."""
    while True:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        lines = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        templates = [pid for pid, line in lines.items() if b"harness.sandbox.forking" in line]
        if templates:
            return templates[0]


def left_below(pid: int) -> set[int]:
    """Processes below one that do not end within ten seconds, as a guard does that has answered."""
    deadline = time.monotonic() + 10
    while (left := below(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def descriptors() -> list[int]:
    """Numbers of open files of this process and of the template."""
    folders = [Path(f"/proc/{pid}/fd") for pid in (os.getpid(), template())]
    return [len(list(folder.iterdir())) for folder in folders]


@pytest.mark.parametrize(
    ("prompt", "outcome"),
    [
        ("raise SystemExit(3)", {"error": "SystemExit: 3"}),
        ("os._exit(0)", {"error": "its process ended without an answer (exit code 0)"}),
        ("os._exit(7)", {"error": "it printed no reason", "exit_code": 7}),
        ("os.kill(os.getpid(), 9)", {"exit_code": -9}),
        ("print('why', flush=True); os.abort()", {"error": "why", "exit_code": -6}),
        ("os.closerange(0, 99); os._exit(5)", {"exit_code": 5}),
        ("state.append(1); sys.setrecursionlimit(77); os.environ['LEFT'] = 'x'", {}),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); os.chdir('/')", {}),
        ("threading.Thread(target=time.sleep, args=(600,)).start()", {}),
        ("global kept; kept = socket.create_server(('127.0.0.1', 0))", {}),
        ("subprocess.Popen(['sleep', '600'])", {}),
        ("subprocess.Popen(['sleep', '600'], start_new_session=True)", {}),
        ("os.fork() or (os.setsid(), os.fork(), os.closerange(0, 99), time.sleep(600))", {}),
        ("os.kill(os.getppid(), 9); time.sleep(600)", {"exit_code": -9}),
        ("global held; held = b'x' * (2 << 30)", {}),
    ],
)
def test_a_call_leaves_nothing(
    prompt: str, outcome: dict[str, Any], server: ForkServer, tmp_path: Path
) -> None:
    clean = call(server, tmp_path, "look")
    result = call(server, tmp_path, "leave", prompt)
    expected = outcome or {"answer": "done"}
    assert {key: result.get(key) for key in expected} == expected
    assert call(server, tmp_path, "look")["answer"] == clean["answer"]
    assert not left_below(template())


@pytest.mark.parametrize(
    "prompt",
    [
        "time.sleep(600)",
        "subprocess.Popen(['sleep', '600'], start_new_session=True); time.sleep(600)",
        "os.closerange(0, 99); time.sleep(600)",
        "while True: signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    ],
)
def test_a_call_that_nobody_waits_for_is_killed(
    prompt: str, server: ForkServer, tmp_path: Path
) -> None:
    with begin(server, tmp_path, "leave", prompt) as connection:
        while len(below(template())) < 2:
            time.sleep(0.02)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as stream:
            assert read_result(stream.read())["exit_code"] == -signal.SIGKILL
    assert not left_below(template())


@pytest.mark.parametrize("calls", [100, pytest.param(1000, marks=pytest.mark.full)])
def test_many_calls_leave_no_process_and_no_descriptor(
    server: ForkServer, tmp_path: Path, calls: int
) -> None:
    call(server, tmp_path, "look")
    before = descriptors()
    for start in range(0, calls, 20):
        connections = [begin(server, tmp_path, "leave", "pass") for _ in range(20)]
        for connection in connections:
            with connection, connection.makefile("rb") as stream:
                assert read_result(stream.read())["answer"] == "done", start
    assert not left_below(template())
    assert descriptors() == before


def test_what_a_call_has_imported_is_there_for_the_next(server: ForkServer, tmp_path: Path) -> None:
    result = call(server, tmp_path, "leave", "import wave")
    assert "wave" in result["modules"]
    server.learn(result)
    result = call(server, tmp_path, "leave", "state.append('wave' in sys.modules); import wave")
    assert "wave" not in result["modules"]


def test_a_file_of_the_user_is_read_anew_by_every_call(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 1\n")
    result = call(server, tmp_path, "leave", "import beside")
    assert not [name for name in result["modules"] if "beside" in name or "mine" in name]
    server.learn(result)
    (tmp_path / "beside.py").write_text("value = 'a new one'\n")
    result = call(server, tmp_path, "leave", "import beside; raise ValueError(beside.value)")
    assert result["error"] == "ValueError: a new one"


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(9,), name='poller', "
         "daemon=True).start()", "the thread 'poller'"),
        ("import asyncio\nloop = asyncio.new_event_loop()", "anon_inode:[eventpoll] open"),
        ("import socket\nlistener = socket.create_server(('127.0.0.1', 0))", "socket:["),
    ],
)  # fmt: skip
def test_a_library_that_cannot_be_forked_is_noticed_once(
    library: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "unsafe.py").write_text(library)
    (tmp_path / "mine.py").write_text(HOSTILE)
    server = ForkServer(AGENT, {"PYTHONPATH": str(installed)})
    imports = "import unsafe; state.append(unsafe.__name__)"
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            result = call(server, tmp_path, "leave", imports)
            assert result["answer"] == "done"
            assert "unsafe" in result["modules"]
            server.learn(result)
            time.sleep(0.3)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert reason in messages[0]


def test_a_template_that_was_killed_is_replaced(server: ForkServer, tmp_path: Path) -> None:
    assert call(server, tmp_path, "leave", "pass")["answer"] == "done"
    pid = template()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert call(server, tmp_path, "leave", "pass")["answer"] == "done"
    assert template() != pid
    assert not Path(f"/proc/{pid}").exists()


def test_no_template_outlives_its_server(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HOSTILE)
    server = ForkServer(AGENT, {})
    call(server, tmp_path, "look")
    pid = template()
    del server
    gc.collect()
    assert not Path(f"/proc/{pid}").exists()


def test_a_long_answer_and_long_output_arrive(server: ForkServer, tmp_path: Path) -> None:
    prompt = "print('x' * (1 << 22)); raise ValueError('y' * (1 << 20))"
    assert len(call(server, tmp_path, "leave", prompt)["error"]) > 1 << 20


def test_random_numbers_differ_between_calls(server: ForkServer, tmp_path: Path) -> None:
    imports = "import random, numpy; raise ValueError(f'{random.random()} {numpy.random.rand()}')"
    result = call(server, tmp_path, "leave", imports)
    server.learn({"modules": ["random", "numpy", "numpy.random"]})
    draws = {call(server, tmp_path, "leave", imports)["error"] for _ in range(3)}
    pairs = [draw.removeprefix("ValueError: ").split() for draw in draws | {result["error"]}]
    assert len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs}) == 4
