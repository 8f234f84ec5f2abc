"""Eval runs for these tests: one call an attempt, by a real HTTP server that says how often."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

from harness.api import EvalSettings, run_evaluation
from harness.core.rundir import RunReader
from harness.evals import EvalReport
from tests.models.http_server import Answer, Served, completion

PIECES = ("What is twice ", "?")


def doubled(body: dict[str, Any]) -> Answer:
    """The answer that a task expects; wrong for every third."""
    number = int(body["messages"][-1]["content"].removeprefix(PIECES[0]).removesuffix(PIECES[1]))
    return completion(str(2 * number if number % 3 else number))


def suite_in(folder: Path, count: int) -> Path:
    """A suite of so many tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"t{n}", "prompt": f"{PIECES[0]}{n}{PIECES[1]}", "answer": str(2 * n)}
        for n in range(1, count + 1)
    ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text("name: doubling\ntasks: tasks.jsonl\n")
    return folder / "suite.yaml"


def settings(suite: Path, out: Path, url: str, **more: Any) -> EvalSettings:
    """Return the settings of these tests."""
    return EvalSettings(
        suite=str(suite), out=out, sandbox="none", models=("openai/served",), base_url=url, **more
    )


def evaluated(suite: Path, out: Path, served: Served, **more: Any) -> EvalReport:
    """Run a suite."""
    return run_evaluation(settings(suite, out, served.url, **more))[0]


def left_behind(run: Path) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Items and trajectories by id, without what tells the time, and the lock as it is."""
    reader = RunReader(run)
    items = {row["id"]: timeless(row) for row in reader.items()}
    trajectories = {row["trajectory_id"]: timeless(row) for row in reader.trajectories()}
    return items, trajectories, (run / "run.json").read_bytes()


def timeless(value: Any) -> Any:
    """A JSON value without its seconds and timestamps."""
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        return {
            key: timeless(one)
            for key, one in found.items()
            if key not in ("seconds", "timestamp", "duration_ms", "latency_ms")
        }
    return [timeless(one) for one in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]  # JSON


def repeated(served: Served) -> int:
    """Requests that were sent although the same one had been sent before."""
    sent = Counter(json.dumps(body, sort_keys=True) for body in served.bodies)
    return sum(sent.values()) - len(sent)


def processes(command: str, variable: str) -> list[int]:
    """Processes whose command line holds `command` and whose environment holds `variable`."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            if command in line and variable in (folder / "environ").read_bytes().decode(
                errors="replace"
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return sorted(found)


def kill_after(served: Served, requests: int, command: str, variable: str) -> threading.Thread:
    """Kill one such process once the server has seen so many requests."""

    def work() -> None:
        until = time.monotonic() + 60
        while len(served.bodies) < requests and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(processes(command, variable)[0], signal.SIGKILL)

    thread = threading.Thread(target=work)
    thread.start()
    return thread
