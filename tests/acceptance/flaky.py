"""A model server of which a share of the replies is bad, whole ones and streams."""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.acceptance.test_kill_evolution import Teacher

OVERLOADED = {"error": {"code": 503, "message": "overloaded"}}
REFUSALS = (429, 500, 502, 503)
WHOLE = (
    "cut", "reset", "hung up", "empty", "error body", "error beside null", "error as the end",
    *REFUSALS,
)  # fmt: skip
STREAMED = (
    "no word",
    "a word",
    "error event",
    "error as the end",
    "garbage",
    "reset",
    "empty",
    *REFUSALS,
)
"""Faults of whole replies and of streams, by name or by HTTP status."""


@dataclass
class Flaky(Teacher):
    """An agent, its analysts and a judge on loopback."""

    share: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    faults: list[str | int] = field(default_factory=list[str | int])

    def answer(self, body: dict[str, Any]) -> str:
        """By what the prompt asks for."""
        text = str(body["messages"][-1]["content"])
        if key := re.search(r'"key": "([^"]+)"', text):
            return json.dumps({"key": key[1], "reason": "it is short", "criterion_1": "yes"})
        if text.startswith("Skills:"):
            asked = text.rpartition("Request:")[2].lower()
            wanted = "short" in asked or "doubling" in asked
            return json.dumps({"skill": "short" if wanted else "none"})
        return super().answer(body)

    def fault(self, streamed: bool) -> str | int | None:
        """The fault of the next reply; None for most."""
        with self.lock:
            if self.rng.random() >= self.share:
                return None
            self.faults.append(self.rng.choice(STREAMED if streamed else WHOLE))
            return self.faults[-1]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "test"}
    return b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"


def _handler(server: Flaky) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with server.lock:
                server.requests.append(body)
            fault = server.fault(bool(body.get("stream")))
            if isinstance(fault, int):
                self._write(json.dumps(OVERLOADED).encode(), fault)
            elif fault == "hung up":
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
            elif body.get("stream"):
                self._stream(server.answer(body), fault)
            else:
                self._reply(server.answer(body), fault)

        def _reply(self, text: str, fault: str | None) -> None:
            message: dict[str, Any] = {"role": "assistant", "content": text}
            choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
            value: dict[str, Any] = {"id": "x", "model": "test", "choices": [choice]}
            if fault == "error beside null":
                choice.update(OVERLOADED, message={"role": "assistant", "content": None})
            if fault == "error as the end":
                choice["finish_reason"] = "error"
            value |= {"object": "chat.completion", "created": 0, "usage": usage}
            data = json.dumps(OVERLOADED if fault == "error body" else value).encode()
            if fault == "empty":
                data = b""
            sent = data[: len(data) // 2] if fault in ("cut", "reset") else data
            self._write(sent, length=len(data) if fault == "reset" else None)

        def _stream(self, text: str, fault: str | None) -> None:
            chunks = [_chunk({"role": "assistant"})]
            chunks += [_chunk({"content": word}) for word in re.findall(r"\S+\s*", text)]
            ends: dict[str | None, list[bytes]] = {
                "empty": [],
                "no word": chunks[:1],
                "a word": chunks[:2],
                "reset": chunks[:2],
                "error event": [*chunks[:2], b"data: " + json.dumps(OVERLOADED).encode() + b"\n\n"],
                "error as the end": [*chunks, _chunk({}, "error")],
                "garbage": [*chunks[:2], b'data: {"choices": [{"del\n\n'],
            }
            pieces = ends.get(fault, [*chunks, _chunk({}, "stop"), b"data: [DONE]\n\n"])
            length = 10_000 if fault == "reset" else None
            self._write(b"".join(pieces), kind="text/event-stream", length=length)

        def _write(
            self,
            data: bytes,
            status: int = 200,
            kind: str = "application/json",
            length: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if kind == "application/json" or length is not None:
                self.send_header("Content-Length", str(len(data) if length is None else length))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def flaky_server() -> Generator[Flaky]:
    """A running server."""
    server = Flaky()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
