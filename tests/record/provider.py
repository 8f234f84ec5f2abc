"""A provider on 127.0.0.1 that speaks the three formats by a script: the edge of the network.

Ids and times differ from call to call, as they do at a real provider: a replay that asks it again,
or makes its answers up, cannot be identical.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-live-0123456789abcdefghijklmnop"
Json = dict[str, Any]


@dataclass
class Answer:
    """Answer of the provider.

    Attributes:
        value: a JSON body, or the objects of a stream.
        cut_after: bytes or events after which the connection is closed; None for all.
    """

    value: Json | list[Json]
    status: int = 200
    cut_after: int | None = None
    delay_s: float = 0.0
    content_type: str = "application/json"


@dataclass
class Said:
    """Answer of a model: text, then calls (name, arguments)."""

    text: str = ""
    calls: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])


@dataclass
class Seen:
    """A request that came."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class Provider:
    """The server's state.

    Attributes:
        url: base URL without `/v1`.
        seen: requests in order.
    """

    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    numbers: Any = field(default_factory=lambda: itertools.count(1))


Script = Callable[[Provider, Seen], Answer]


@contextmanager
def provide(script: Script) -> Generator[Provider]:
    """Serve until the block ends."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            raw = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                body = json.loads(raw or b"{}")
            except ValueError:
                body = {"hex": raw.hex()}
            seen = Seen(self.path, headers, body)
            provider.seen.append(seen)
            self.give(script(provider, seen))

        do_GET = do_POST  # noqa: N815  # the name that the base class looks for

        def give(self, answer: Answer) -> None:
            if isinstance(answer.value, dict):
                self.give_whole(answer, json.dumps(answer.value).encode())
                return
            self.send_response(answer.status)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for value in answer.value[: answer.cut_after]:
                time.sleep(answer.delay_s)
                self.chunk(sse(value))
            if answer.cut_after is None:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def chunk(self, data: bytes) -> None:
            """In two pieces: an event is rarely a packet."""
            for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()

        def give_whole(self, answer: Answer, data: bytes) -> None:
            self.send_response(answer.status)
            self.send_header("content-type", answer.content_type)
            self.send_header("content-length", str(len(data)))
            self.send_header("x-request-id", f"req-{next(provider.numbers)}")
            self.send_header("set-cookie", "session=oatmeal-raisin")
            self.end_headers()
            self.wfile.write(data[: answer.cut_after])
            self.close_connection = answer.cut_after is not None

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def sse(value: Json) -> bytes:
    """An event; `{"done": True}` is the end of a chat stream."""
    if value == DONE:
        return b"data: [DONE]\n\n"
    name = f"event: {value['type']}\n" if "type" in value else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


DONE: Json = {"done": True}
