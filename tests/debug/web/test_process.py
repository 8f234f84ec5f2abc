"""`debug --web` and `view` as a user types them: one line, served until they are told to stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.debug.web.worlds import write_run

AGENT = Path(__file__).with_name("agent.py")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_one_line_served_until_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    command = ["debug", f"{AGENT}:graph", "--web"]
    command += ["--input", '{"path": []}', "--store", str(tmp_path / "kept.sqlite")]
    session = served(command, "session", stop)
    assert session["stop"]["task"]["node"] == "plan"
    assert (tmp_path / "kept.sqlite").is_file()


def test_a_view_of_one_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "eval", {"t0": "pass"})
    before = sorted(path.name for path in run.iterdir())
    about = served(["view", str(run)], "about", signal.SIGINT)
    assert about == {"debugger": False, "copy": False, "at": "run=."}
    assert sorted(path.name for path in run.iterdir()) == before


def served(command: list[str], question: str, stop: signal.Signals) -> dict[str, Any]:
    """The answer to a question, asked of the address that a command prints before it is stopped."""
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = urlsplit(str(process.stdout.readline()).strip())
        [token] = parse_qs(url.query)["token"]
        address = f"http://{url.netloc}/api/{question}"
        request = urllib.request.Request(address, headers={"x-harness-token": token})
        with urllib.request.urlopen(request, timeout=20) as answer:
            found = json.load(answer)
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=30)
        assert (process.returncode, rest, errors) == (0, "", "")
        return found
    finally:
        process.kill()
        process.communicate()
