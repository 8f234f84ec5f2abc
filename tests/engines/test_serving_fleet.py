"""`harness models serve` with vLLM: started, watched, drained; a stand-in plays vLLM itself."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.core import BadInput, Unreachable
from harness.engines.vllm import Launch, find_profile, start_server

STANDIN = Path(__file__).with_name("standin")
HARNESS = [sys.executable, "-c", "from harness.cli import main; main()"]


class Started:
    """A `harness models serve` under way, and its ready line."""

    def __init__(self, process: subprocess.Popen[str], logs: Path) -> None:
        assert process.stdout is not None
        self.process, self.logs = process, logs
        self.ready = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"serves (\S+)", self.ready)
        self.urls = found[1].split(",") if found else []

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code and what it said on stderr."""
        self.process.send_signal(number)
        return self.process.wait(20), self.said()

    def said(self) -> str:
        """Stderr, when it has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def served(tmp_path: Path, *options: str, **environment: str) -> Generator[Started]:
    """Run the command with the stand-in in place of vLLM."""
    command = [*HARNESS, "models", "serve", "org/model", "--port", "0", "--logs", str(tmp_path)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(STANDIN), **environment},
    ) as process:
        try:
            yield Started(process, tmp_path)
        finally:
            process.kill()


def ask(url: str, text: str = "hello", timeout: float = 20.0) -> str:
    """The answer of the stand-in: its process id."""
    body = {"model": "org/model", "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=timeout)
    return answer.json()["choices"][0]["message"]["content"]


def seen(url: str) -> tuple[list[dict[str, Any]], dict[str, str], list[str]]:
    """Requests, environment and arguments of the stand-in."""
    return httpx.get(f"{url.removesuffix('/v1')}/seen").json()


def gone(pid: int, within_s: float = 10.0) -> bool:
    """Return True if a process ends in time."""
    ends = time.monotonic() + within_s
    while Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in _status(pid):
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return "\nState:\tZ"


def test_requests_under_way_are_answered_before_it_ends(tmp_path: Path) -> None:
    answers: list[str] = []
    with served(tmp_path) as one:
        assert f"--model vllm/org/model --base-url {one.urls[0]}" in one.ready
        pid = int(ask(one.urls[0]))
        slow = threading.Thread(target=lambda: answers.append(ask(one.urls[0], "sleep 1.5")))
        slow.start()
        time.sleep(0.5)
        code, said = one.stop()
        slow.join()
    assert code == 0
    assert answers == [str(pid)]
    assert "the prefix cache held 60.0% of 300 prompt tokens" in said
    assert gone(pid)


def test_what_is_not_done_in_time_is_cut_off(tmp_path: Path) -> None:
    failures: list[Exception] = []

    def hang(url: str) -> None:
        try:
            ask(url, "sleep 60")
        except httpx.HTTPError as error:
            failures.append(error)

    with served(tmp_path, "--drain", "0") as one:
        slow = threading.Thread(target=hang, args=one.urls)
        slow.start()
        time.sleep(0.5)
        one.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        code, _ = one.stop(signal.SIGINT)  # the second time: at once
        slow.join()
    assert code == 130
    assert len(failures) == 1


def test_a_server_that_dies_ends_the_command_with_its_last_lines(tmp_path: Path) -> None:
    with served(tmp_path, "--gpus", "0,3", "--data-parallel", "2") as one:
        assert seen(one.urls[0])[1]["CUDA_VISIBLE_DEVICES"] == "0,3"
        os.kill(int(ask(one.urls[0])), signal.SIGKILL)
        assert one.process.wait(20) == 4
        assert "ended (exit code -9)" in one.said()


def test_the_server_ends_when_the_harness_is_killed(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        pid = int(ask(one.urls[0]))
        one.process.kill()
        one.process.wait(10)
        assert gone(pid)


def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Start the stand-in from this process, and wait for it."""
    monkeypatch.setenv("PYTHONPATH", os.environ.get("STANDIN_PATH", str(STANDIN)))
    values = {"model": "m", "profile": find_profile("m"), "python": sys.executable, "port": 0}
    server = start_server(Launch.model_validate({**values, **changes}), tmp_path / "logs")
    try:
        server.wait_ready(30)
    finally:
        server.kill()


def test_a_crash_shows_the_last_lines_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = "line of vLLM\ntorch.OutOfMemoryError: CUDA out of memory"
    monkeypatch.setenv("STANDIN_CRASH", crash)
    with pytest.raises(Unreachable) as raised:
        start(tmp_path, monkeypatch)
    said = str(raised.value)
    assert "ended while it started (exit code 1)" in said
    assert "line of vLLM" in said
    assert "lower --max-model-len" in said
    (log,) = (tmp_path / "logs").iterdir()
    assert str(log) in said and crash in log.read_text("utf-8")


def test_a_cause_far_above_the_last_lines_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = "ValueError: Available memory on node 0 is less than desired CPU memory utilization"
    rest = "\n".join(f"a line of a traceback {n}" for n in range(40))
    end = "RuntimeError: Engine core initialization failed. See root cause above."
    monkeypatch.setenv("STANDIN_CRASH", f"{cause}\n{rest}\n{end}")
    with pytest.raises(Unreachable) as raised:
        start(tmp_path, monkeypatch)
    assert cause in str(raised.value)
    assert "--gpu-memory-utilization" in str(raised.value)


def test_an_interpreter_without_vllm_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as bare, pytest.raises(Unreachable, match="HARNESS_VLLM_PYTHON"):
        bare.setenv("STANDIN_PATH", "")
        start(tmp_path, bare)
    with pytest.raises(BadInput, match=r"cannot start '/no/python'"):
        start(tmp_path, monkeypatch, python="/no/python")


def test_bad_input_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    with pytest.raises(BadInput, match="set VLLM_API_KEY"):
        start(tmp_path, monkeypatch, host="0.0.0.0")
    changes = {"data_parallel": 2, "tensor_parallel": 2, "gpus": ("0", "1", "2")}
    with pytest.raises(BadInput, match=r"expected 4 GPUs .*, found 3"):
        start(tmp_path, monkeypatch, **changes)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{port}"):
            start(tmp_path, monkeypatch, port=port)
    assert not (tmp_path / "logs").exists()


def test_the_skill_and_the_tools_are_warmed(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    request = {"messages": [{"role": "system", "content": "A skill."}], "tools": tools}
    path = tmp_path / "warm.json"
    path.write_text(json.dumps(request))
    with served(tmp_path, "--warm", str(path), "--name", "mine", "--", "--block-size", "16") as one:
        requests, environment, words = seen(one.urls[0])
    assert requests == [{**request, "model": "mine", "max_tokens": 1, "stream": False}]
    assert environment["VLLM_NO_USAGE_STATS"] == "1"
    assert words[-2:] == ["--block-size", "16"]
