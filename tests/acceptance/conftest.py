"""Fixtures of acceptance tests: the real command line and a real HTTP model server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.typed import typed

Harness = Callable[..., CompletedProcess[str]]


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """Run the command line in an empty folder, as a user does."""
    return partial(typed, cwd=tmp_path)


@dataclass
class ChatServer:
    """An OpenAI-protocol server on loopback that answers by rule and remembers requests."""

    url: str = ""
    delay_s: float = 0.0
    status: int = 200
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path with query, and authorization, of every request."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> str:
        """The last number in the prompt, doubled; half of the time as a whole sentence."""
        text = str(body["messages"][-1]["content"])
        digits = [int(word) for word in text.replace("?", " ").split() if word.isdigit()]
        number = 2 * digits[-1] if digits else 0
        return str(number) if number % 4 else f"The answer is {number}."


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.requests.append(body)
                server.asked.append((self.path, self.headers.get("Authorization", "")))
            time.sleep(server.delay_s)
            if server.status != 200:
                self._send(server.status, {"error": {"message": "refused by the test server"}})
                return
            message = {"role": "assistant", "content": server.answer(body)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
            self._send(
                200,
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": body["model"],
                    "choices": [choice],
                    "usage": usage,
                },
            )

        def _send(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in the middle of a request is what these tests are about."""


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A running server."""
    state = ChatServer()
    http = _Quiet(("127.0.0.1", 0), _handler(state))
    state.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of 30 questions that the chat server answers, half of them badly."""
    folder = tmp_path / "suite"
    folder.mkdir()
    rows = [
        {"id": f"t{n}", "prompt": f"What is two times {n} ?", "answer": str(2 * n), "check": "em"}
        for n in range(1, 31)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    (folder / "suite.yaml").write_text(
        "name: doubling\ntasks: tasks.jsonl\nmax_turns: 1\n"
        "sampling: {temperature: 0.0, max_tokens: 32}\n"
    )
    return folder
