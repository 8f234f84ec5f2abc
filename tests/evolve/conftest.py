"""Trajectories and records that the tests of this room share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from harness.core import AgentInfo, Step, Trajectory
from harness.evals import ItemRecord

Answer = Callable[[str], str]


def trajectory(task: str, outcome: str, answer: str, prompt: str = "") -> Trajectory:
    """A run of two steps, as the eval runner leaves it."""
    asked = prompt or f"What is the capital of {task}?"
    return Trajectory(
        trajectory_id=task,
        agent=AgentInfo(name="test", version="0"),
        steps=(
            Step(step_id=1, source="user", message=asked),
            Step(step_id=2, source="agent", message=answer),
        ),
        extra={
            "harness": {
                "task_id": task.split("@")[0],
                "task": {"prompt": asked},
                "outcome": outcome,
                "answer": answer,
            }
        },
    )


def write_trajectories(path: Path, trajectories: list[Trajectory]) -> Path:
    """A folder of ATIF files."""
    path.mkdir(parents=True, exist_ok=True)
    for one in trajectories:
        file = path / f"{one.trajectory_id}.json"
        file.write_text(one.model_dump_json(exclude_none=True), encoding="utf-8")
    return path


def record_row(task: str, lessons: list[tuple[str, str]], **fields: Any) -> dict[str, Any]:
    """A recorded analyst record with one memory item a lesson."""
    items = [{"title": t, "lesson": text, "generalization": ""} for t, text in lessons]
    row: dict[str, Any] = {"trajectory_id": task, "analyst_type": "error", "root_cause": "x"}
    return {**row, "memory_items": items, "edits": [], "_task_id": task, "_run": "r1", **fields}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def items(passed: dict[str, bool]) -> list[ItemRecord]:
    """Item records: task -> whether it passed."""
    return [
        ItemRecord(id=task, task_id=task, outcome="pass" if ok else "fail", value=float(ok))
        for task, ok in passed.items()
    ]


@pytest.fixture
def endpoint() -> Iterator[Callable[[Answer], str]]:
    """Starts an OpenAI-compatible server whose replies a function of the last message gives."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                text = answer(body["messages"][-1]["content"])
                reply = {
                    "id": "x", "object": "chat.completion", "created": 0, "model": "canned",
                    "choices": [{"index": 0, "finish_reason": "stop",
                                 "message": {"role": "assistant", "content": text}}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                }  # fmt: skip
                data = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Keep the test output quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
