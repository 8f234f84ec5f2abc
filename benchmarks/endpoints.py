"""Endpoints that answer chat completions by rule: SIMULATED models of benchmarks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any


def completion(
    text: str | None,
    model: str,
    tokens: tuple[int, int] = (1, 1),
    tool_call: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A chat completion with one message.

    Args:
        text: of the message.
        model: its name.
        tokens: counted as read and as written.
        tool_call: id, and name and arguments of a function that is called.
    """
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tool_call is not None:
        message["tool_calls"] = [{"type": "function", **tool_call}]
    read, written = tokens
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    finish = "stop" if tool_call is None else "tool_calls"
    return {
        "id": "s", "object": "chat.completion", "created": 0, "model": model, "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }  # fmt: skip


def http_reply(
    content: bytes, *fields: str, status: int = 200, kind: str = "application/json"
) -> bytes:
    """A whole HTTP response; `fields` are further lines of its head."""
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, *fields, "", ""]).encode() + content


async def serve_bytes(reply: Callable[[dict[str, Any]], Iterable[bytes]]) -> None:
    """Serve on a free port of loopback until killed, with few instructions; prints the port.

    `reply` gives the pieces of the HTTP response to the body of a request.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                for piece in reply(json.loads(await reader.readexactly(length))):
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def endpoint(module: str = "benchmarks.evals.overhead_server", *words: str) -> Generator[str]:
    """Base URL of an endpoint in a process of its own: a module that prints its port and serves."""
    command = [sys.executable, "-m", module, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.kill()
