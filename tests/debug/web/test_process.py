"""`harness debug --web` as a user types it: one line, served until it is told to stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

AGENT = Path(__file__).with_name("agent.py")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_one_line_served_until_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "harness", "debug", f"{AGENT}:graph", "--web"]
    command += ["--input", '{"path": []}', "--store", str(tmp_path / "kept.sqlite")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = str(process.stdout.readline()).strip()
        [token] = parse_qs(urlsplit(url).query)["token"]
        address = f"{url.partition('?')[0]}api/session"
        request = urllib.request.Request(address, headers={"x-harness-token": token})
        with urllib.request.urlopen(request, timeout=20) as answer:
            session = json.load(answer)
        assert session["stop"]["task"]["node"] == "plan"
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=30)
        assert (process.returncode, rest, errors) == (0, "", "")
    finally:
        process.kill()
        process.communicate()
    assert (tmp_path / "kept.sqlite").is_file()
