"""A real HTTP server on 127.0.0.1 that plays an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body; a `Content-Length` among the headers is sent as it is."""


def completion(
    text: str = "ok", prompt_tokens: int = 10, completion_tokens: int = 2, **extra: Any
) -> Answer:
    """An HTTP 200 with a chat completion."""
    message = {"role": "assistant", "content": text} | extra
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "served-model",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }
    return 200, {}, json.dumps(body).encode()


def error(status: int, message: str = "no", **headers: str) -> Answer:
    """An error in the form of the OpenAI API."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps({"error": {"message": message}}).encode()


@dataclass
class Served:
    """Everything that the server has seen."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@contextmanager
def serve(answer: Callable[[dict[str, Any]], Answer], delay_s: float = 0.0) -> Generator[Served]:
    """Serve until the block ends; `answer` is called with each request's body."""
    served = Served()

    async def write(body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        served.bodies.append(body)
        status, extra, content = answer(body)
        await asyncio.sleep(delay_s)
        fields = {"Content-Length": str(len(content))} | extra
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + content)
        await writer.drain()
        return int(fields["Content-Length"]) == len(content)

    with serve_raw(write, served.headers) as url:
        served.url = url
        yield served


@contextmanager
def serve_raw(
    write: Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[bool]],
    seen_headers: list[dict[str, str]] | None = None,
) -> Generator[str]:
    """Serve until the block ends; yields the URL.

    `write` answers one request with whatever bytes, and says whether the connection is kept.
    """
    urls: list[str] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
                pairs = (line.partition(":") for line in head[1:] if line)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                if seen_headers is not None:
                    seen_headers.append(headers)
                if not await write(body, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client has gone, or the block ends
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
        urls.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        ready.set()
        await stop.wait()
        server.close()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    def main() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(run())
        loop.close()

    thread = threading.Thread(target=main)
    thread.start()
    ready.wait(10)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
