"""An endpoint that misbehaves at random, over a real socket; used by eval_chaos.py.

Every conversation is: read a file of the skill, then answer. What goes wrong is drawn from a seed:
refusals with and without Retry-After, server errors, silence, bodies and heads that break off,
bytes that come one by one, HTTP 200 with something else than a chat completion in it.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.endpoints import completion, http_reply
from harness.models import request_digest
from tests.models import http_server

Body = dict[str, Any]


@dataclass
class Chaos:
    """Faults to make, and requests seen so far.

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
    met: Counter[str] = field(default_factory=Counter[str])


def reply(body: Body) -> Body:
    """The answer that a server in good health gives."""
    number = int(body["messages"][1]["content"].split()[-2])
    if any(row["role"] == "tool" for row in body["messages"]):
        return completion(str(2 * number + (number % 3 == 0)), "m", (20, 5))
    function = {"name": "read_skill_file", "arguments": '{"path": "references/one.md"}'}
    return completion(None, "m", (20, 5), {"id": "c", "function": function})


def _with(body: Body, **choice: Any) -> bytes:
    answer = reply(body)
    answer["choices"] = [{**answer["choices"][0], **choice}]
    return http_reply(json.dumps(answer).encode())


_REFUSED = b'{"error": {"message": "not now"}}'
_CALL = {"role": "assistant", "content": None}

SENT: dict[str, Callable[[Body], bytes]] = {
    "429 with Retry-After": lambda _: http_reply(_REFUSED, "Retry-After: 0.05", status=429),
    "429 without": lambda _: http_reply(_REFUSED, status=429),
    "429 with nonsense": lambda _: http_reply(b"<>", "Retry-After: soon", status=429),
    "500": lambda _: http_reply(_REFUSED, status=500),
    "503, no body": lambda _: http_reply(b"", status=503),
    "malformed JSON": lambda body: http_reply(json.dumps(reply(body)).encode()[:-9]),
    "wrong content type": lambda _: http_reply(b"<html>sorry</html>", kind="text/html"),
    "empty body": lambda _: http_reply(b""),
    "no choices": lambda _: http_reply(b'{"choices": [], "usage": {}}'),
    "null": lambda _: http_reply(b"null"),
    "not UTF-8": lambda _: http_reply(b'{"choices": "\xff\xfe"}'),
    "nested too deep": lambda _: http_reply(b"[" * 100_000),
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


@contextmanager
def serve(chaos: Chaos) -> Generator[None]:
    """Serve on a free port of loopback, in a thread, until the block ends."""

    async def answer(body: Body, writer: asyncio.StreamWriter) -> bool:
        chaos.seen.append(request_digest("openai", body))
        kinds = chaos.faults or FAULTS
        fault = chaos.rng.choice(kinds) if chaos.rng.random() < chaos.share else "none"
        chaos.met[fault] += 1
        encoded = http_reply(json.dumps(reply(body)).encode())
        if fault == "silence":
            await asyncio.sleep(SILENCE_S)
        elif fault == "byte by byte":
            for byte in encoded:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.05)
        elif fault == "chunks break off":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{")
        elif fault in CUT:
            writer.write(encoded[: CUT[fault](encoded)])
        else:
            writer.write(SENT[fault](body) if fault in SENT else encoded)
            await writer.drain()
            return True
        return False

    with http_server.serve_raw(answer) as url:
        chaos.url = url
        yield
