"""Telemetry from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.core.telemetry.collector import collector

ROWS = [{"id": f"t{n}", "prompt": f"task {n}", "answer": "4"} for n in range(2)]


def harness(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def test_options_and_variables(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with collector() as collected:
        done = harness(
            tmp_path, "eval", str(tasks), "--agent", "cmd:echo 4", "--model", "simulated/lookup",
            "--sandbox", "none", "--metrics", "0", "--log-json", "log.jsonl", "--json",
            OTEL_EXPORTER_OTLP_ENDPOINT=collected.url, HARNESS_LOG="other.jsonl",
            OTEL_SERVICE_NAME="mine",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["passed"] == 2
    assert "metrics: http://127.0.0.1:" in done.stderr
    assert len(collected.of("invoke_agent")) == 2
    assert collected.resource["service.name"] == "mine"
    events = [
        json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()
    ]
    assert events == ["run began", "invoke_agent ended", "invoke_agent ended", "run ended"]
    assert len((tmp_path / "other.jsonl").read_text().splitlines()) == 4


def test_variables_that_cannot_be_followed_stop_no_command(tmp_path: Path) -> None:
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = harness(tmp_path, "runs", "list", OTEL_EXPORTER_OTLP_PROTOCOL="grpc", **where)
    assert done.returncode == 0
    assert "no spans are sent" in done.stderr
