"""A mock endpoint of few instructions, in a process of its own; used by overhead.py.

Every conversation takes three replies: read one file, read another, answer.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from benchmarks.endpoints import completion, http_reply, serve_bytes

FILES = ("references/one.md", "references/two.md")


def reply(body: dict[str, Any]) -> list[bytes]:
    """The next reply of a conversation: by the number of tool results so far; the answer at once
    where there are no tools."""
    step = sum(row["role"] == "tool" for row in body["messages"])
    answer = completion("4", "mock", (100, 10))
    if step < len(FILES) and body.get("tools"):
        function = {"name": "read_skill_file", "arguments": json.dumps({"path": FILES[step]})}
        call = {"id": f"c{step}", "function": function}
        answer = completion(None, "mock", (100, 10), call)
    return [http_reply(json.dumps(answer).encode())]


if __name__ == "__main__":
    asyncio.run(serve_bytes(reply))
