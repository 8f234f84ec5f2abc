"""A mock endpoint of few instructions, in a process of its own; used by eval_overhead.py.

Every conversation takes three replies: read one file, read another, answer. Raw asyncio,
keep-alive, one core; prints its port.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

FILES = ("references/one.md", "references/two.md")


def message(messages: list[dict[str, Any]], tools: object) -> dict[str, Any]:
    """The next reply of a conversation: by the number of tool results so far; the answer at once
    where there are no tools."""
    step = sum(row["role"] == "tool" for row in messages)
    if step == len(FILES) or not tools:
        return {"role": "assistant", "content": "4"}
    call = {"name": "read_skill_file", "arguments": json.dumps({"path": FILES[step]})}
    calls = [{"id": f"c{step}", "type": "function", "function": call}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def completion(body: dict[str, Any]) -> bytes:
    """The whole body."""
    reply = message(body["messages"], body.get("tools"))
    finish = "tool_calls" if reply.get("tool_calls") else "stop"
    return json.dumps({
        "id": "m", "object": "chat.completion", "created": 0, "model": "mock",
        "choices": [{"index": 0, "message": reply, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }).encode()  # fmt: skip


async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:] if line)
            body = json.loads(await reader.readexactly(int(fields[b"content-length"])))
            content = completion(body)
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                + str(len(content)).encode() + b"\r\n\r\n" + content
            )  # fmt: skip
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    """Serve on a free port of loopback until killed."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
