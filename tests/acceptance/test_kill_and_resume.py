"""kill -9 at random moments of a run, then resume: the same results, nothing paid twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.core.rundir import RunReader
from harness.evals import finished_items
from tests.acceptance.conftest import ChatServer

CONCURRENCY = 4


def start(
    suite: Path, out: Path, server: ChatServer, *more: str, shell: str = "exec"
) -> subprocess.Popen[str]:
    command = [
        "sh", "-c", f'{shell} "$@"', "sh",
        sys.executable, "-m", "harness", "eval", str(suite), *more,
        "--model", "openai/test", "--base-url", server.url, "--concurrency", str(CONCURRENCY),
        "--sandbox", "none", "--json",
    ]  # fmt: skip
    return subprocess.Popen(
        command,
        cwd=out.parent,
        env={**os.environ, "OPENAI_API_KEY": "test"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(run: Path) -> dict[str, tuple[str, str | None]]:
    return {item.id: (item.outcome, item.answer) for item in finished_items(RunReader(run))}


RAY = ("--executor", "ray", "--workers", "2")
STORMS = (
    ((), 2),
    pytest.param((), 10, marks=pytest.mark.full),
    pytest.param(RAY, 1, marks=pytest.mark.wing("fleet")),
    pytest.param(RAY, 10, marks=[pytest.mark.full, pytest.mark.wing("fleet")]),
)
"""Where attempts are made, and how often the driver is killed; with Ray, its cluster dies too."""


@pytest.mark.slow
@pytest.mark.parametrize(("executor", "kills"), STORMS)
def test_kill_at_random_moments(
    suite: Path, tmp_path: Path, chat_server: ChatServer, executor: tuple[str, ...], kills: int
) -> None:
    chat_server.delay_s = 0.05
    whole = start(suite, tmp_path / "whole", chat_server, "--out", str(tmp_path / "whole"))
    out, err = whole.communicate(timeout=120)
    assert whole.returncode == 0, err
    assert json.loads(out)["items"] == 30
    chat_server.requests.clear()
    chat_server.delay_s = 0.4

    rng = random.Random(5)
    run = tmp_path / "killed"
    done = 0
    while done < kills:
        more = ("--resume", str(run)) if (run / "run.json").exists() else ("--out", str(run))
        process = start(suite, run, chat_server, *more, *executor)
        seen = len(chat_server.requests)
        while len(chat_server.requests) == seen and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, 0.5))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        process.communicate()
        if process.returncode == 0:
            break
    assert done == kills, f"the run ended after {done} kills"

    last = start(suite, run, chat_server, "--resume", str(run), *executor)
    _, err = last.communicate(timeout=120)
    assert last.returncode == 0, err
    assert results(run) == results(tmp_path / "whole")
    sent = Counter(json.dumps(body, sort_keys=True) for body in chat_server.requests)
    repeats = sum(count - 1 for count in sent.values())
    # What was in flight at a kill is sent again; everything else is answered from the cache.
    assert repeats <= kills * CONCURRENCY
    assert len(sent) == 30


def test_a_finished_run_resumes_to_itself(
    suite: Path, tmp_path: Path, chat_server: ChatServer
) -> None:
    run = tmp_path / "run"
    for more in (("--out", str(run)), ("--resume", str(run))):
        process = start(suite, run, chat_server, *more)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert len(chat_server.requests) == 30


@pytest.mark.parametrize("shell", ["exec", "trap '' INT; exec"])  # a job in the background
def test_a_terminated_run_says_how_to_resume(
    suite: Path, tmp_path: Path, chat_server: ChatServer, shell: str
) -> None:
    chat_server.delay_s = 60.0
    process = start(suite, tmp_path / "run", chat_server, "--out", "run", shell=shell)
    while not chat_server.requests:
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert (process.returncode, "--resume run" in err) == (130, True), err
