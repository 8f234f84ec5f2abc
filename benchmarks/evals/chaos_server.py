"""An endpoint that misbehaves at random, over a real socket; used by eval_chaos.py.

Every conversation is: read a file of the skill, then answer. What goes wrong is drawn from a seed:
refusals with and without Retry-After, server errors, silence, bodies and heads that break off,
bytes that come one by one, HTTP 200 with something else than a chat completion in it.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.models import request_digest

Body = dict[str, Any]


@dataclass
class Chaos:
    """What the server does and has seen.

    Attributes:
        rng: draws the faults.
        share: of requests that meet one.
        faults: those that are drawn from.
        seen: digest of every request, as the call store names it, in order.
        met: how often each fault was met.
    """

    rng: random.Random
    share: float = 0.5
    faults: tuple[str, ...] = ()
    url: str = ""
    seen: list[str] = field(default_factory=list[str])
    met: dict[str, int] = field(default_factory=dict[str, int])


def completion(body: Body) -> Body:
    """The answer that a server in good health gives."""
    number = int(body["messages"][1]["content"].split()[-2])
    if any(row["role"] == "tool" for row in body["messages"]):
        message: Body = {"role": "assistant", "content": str(2 * number + (number % 3 == 0))}
    else:
        function = {"name": "read_skill_file", "arguments": '{"path": "references/one.md"}'}
        call = {"id": "c", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }  # fmt: skip


def _http(status: int, content: bytes, *more: str, kind: str = "application/json") -> bytes:
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, *more, "", ""]).encode() + content


def _with(body: Body, **choice: Any) -> bytes:
    answer = completion(body)
    answer["choices"] = [{**answer["choices"][0], **choice}]
    return _http(200, json.dumps(answer).encode())


def _whole(body: Body) -> bytes:
    return _http(200, json.dumps(completion(body)).encode())


_REFUSED = b'{"error": {"message": "not now"}}'
_CALL = {"role": "assistant", "content": None}

SENT: dict[str, Callable[[Body], bytes]] = {
    "429 with Retry-After": lambda _: _http(429, _REFUSED, "Retry-After: 0.05"),
    "429 without": lambda _: _http(429, _REFUSED),
    "429 with nonsense": lambda _: _http(429, b"<>", "Retry-After: soon"),
    "500": lambda _: _http(500, _REFUSED),
    "503, no body": lambda _: _http(503, b""),
    "malformed JSON": lambda body: _http(200, json.dumps(completion(body)).encode()[:-9]),
    "wrong content type": lambda _: _http(200, b"<html>sorry</html>", kind="text/html"),
    "empty body": lambda _: _http(200, b""),
    "no choices": lambda _: _http(200, b'{"choices": [], "usage": {}}'),
    "null": lambda _: _http(200, b"null"),
    "not UTF-8": lambda _: _http(200, b'{"choices": "\xff\xfe"}'),
    "nested too deep": lambda _: _http(200, b"[" * 100_000),
    "tool calls are text": lambda body: _with(body, message={**_CALL, "tool_calls": "read"}),
    "tool call without name": lambda body: _with(
        body, message={**_CALL, "tool_calls": [{"function": {}}]}
    ),
    "half a character": lambda body: _with(body, message={**_CALL, "content": "\ud83d"}),
    "not HTTP": lambda _: b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
}
"""Faults that are one piece of bytes."""

CUT: dict[str, Callable[[bytes], int]] = {
    "closed at once": lambda _: 0,
    "head breaks off": lambda _: 20,
    "body breaks off": lambda body: len(body) - 30,
}
"""Faults where so much of the right answer is sent before the connection ends."""

FAULTS = (*SENT, *CUT, "silence", "byte by byte", "chunks break off")
SILENCE_S = 30.0


async def _answer(chaos: Chaos, body: Body, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection is kept."""
    kinds = chaos.faults or FAULTS
    fault = chaos.rng.choice(kinds) if chaos.rng.random() < chaos.share else "none"
    chaos.met[fault] = chaos.met.get(fault, 0) + 1
    encoded = _whole(body)
    if fault == "silence":
        await asyncio.sleep(SILENCE_S)
        return False
    if fault == "byte by byte":
        for byte in encoded:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)
        return False
    if fault == "chunks break off":
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{")
        return False
    if fault in CUT:
        writer.write(encoded[: CUT[fault](encoded)])
        return False
    writer.write(SENT[fault](body) if fault in SENT else encoded)
    await writer.drain()
    return True


@contextmanager
def serve(chaos: Chaos) -> Generator[None]:
    """Serve on a free port of loopback, in a thread, until the block ends."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                chaos.seen.append(request_digest("openai", body))
                if not await _answer(chaos, body, writer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client was killed, or we are to end
        finally:
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=512)
        chaos.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
