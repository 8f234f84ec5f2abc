"""A real HTTP server on 127.0.0.1 that plays the audio endpoints of an OpenAI-compatible server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from harness.speech import Sound


@dataclass(frozen=True)
class Request:
    """Request of a client: JSON fields, or those of a form, of which `file` is (name, bytes)."""

    path: str
    fields: dict[str, Any]
    file: tuple[str, bytes] | None
    headers: dict[str, str]


Answer = tuple[int, bytes]


@dataclass
class Served:
    """Address of the server, and the requests it has seen."""

    url: str = ""
    requests: list[Request] = field(default_factory=list[Request])


@contextmanager
def serve(answer: Callable[[Request], Answer]) -> Generator[Served]:
    """Serve until the block ends; `answer` is called with each request."""
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            kind = self.headers["Content-Type"]
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = _request(self.path, kind, content, headers)
            served.requests.append(request)
            status, body = answer(request)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _request(path: str, kind: str, content: bytes, headers: dict[str, str]) -> Request:
    if kind.startswith("application/json"):
        return Request(path, json.loads(content), None, headers)
    message = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content)
    assert message.is_multipart()
    fields: dict[str, Any] = {}
    file = None
    parts: Any = message.get_payload()
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        data: bytes = part.get_payload(decode=True)
        if part.get_filename():
            file = (part.get_filename(), data)
        else:
            fields[name] = data.decode()
    return Request(path, fields, file, headers)


def error(status: int, message: str = "no") -> Answer:
    """An error in the form of the OpenAI API."""
    return status, json.dumps({"error": {"message": message}}).encode()


def transcript(*segments: tuple[float, float, str], **extra: Any) -> Answer:
    """A transcript in `verbose_json`."""
    body = {
        "task": "transcribe",
        "language": "english",
        "duration": segments[-1][1],
        "text": " ".join(text for _, _, text in segments),
        "segments": [{"id": number, "start": start, "end": end, "text": f" {text}"}
                     for number, (start, end, text) in enumerate(segments)],
    }  # fmt: skip
    return 200, json.dumps(body | extra).encode()


def tone(seconds: float, rate: int = 24_000) -> Sound:
    """A sine."""
    moments = np.arange(round(seconds * rate)) / rate
    return Sound((0.3 * np.sin(2 * np.pi * 220 * moments)).astype(np.float32), rate)
