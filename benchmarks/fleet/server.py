"""A mock endpoint with the latencies, refusals and hangs of a busy one; used by fleet.py.

Latency is log-normal around 2 s and drawn from a digest of the request, so that a run can be
compared with its own critical path. `GET /log` gives what every answered request took.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import socket
from statistics import NormalDist
from typing import Any

from benchmarks.endpoints import completion

MEDIAN_S = 2.0
SIGMA = 0.4
REFUSED = 0.03
HANGS = 0.01
HANG_S = 600.0
RETRY_AFTER_S = 1


def draw(*parts: object) -> float:
    """A number in (0, 1) that is always the same for the same parts."""
    data = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return (int.from_bytes(data[:8], "big") + 0.5) / 2**64


def latency_s(text: str, attempt: int) -> float:
    """Service time of one attempt at a request."""
    return MEDIAN_S * math.exp(SIGMA * NormalDist().inv_cdf(draw("latency", text, attempt)))


def reply(text: str) -> tuple[str, str]:
    """(role, answer) of a request: analyst, map, merge or refinement of a skill."""
    numbered = re.findall(r"^(e\d+) \(support \d+\): (\{.*\})$", text, re.MULTILINE)
    if numbered:
        groups: dict[str, dict[str, Any]] = {}
        for name, raw in numbered:
            edit = json.loads(raw)
            lesson = re.sub(r"\d+", "", edit["content"])
            groups.setdefault(lesson, {"from": [], **edit})["from"].append(name)
        return "merge", json.dumps({"reasoning": "same", "edits": list(groups.values())})
    if record := re.search(r"<record>\n(.*?)\n</record>", text, re.DOTALL):
        items = json.loads(record[1])["items"]
        edits = [
            {"file": "SKILL.md", "op": "add_section", "target_section": "## Lessons",
             "content": f"- **{memory['title']}**: {memory['lesson']}"}
            for memory in items
        ]  # fmt: skip
        return "map", json.dumps({"reasoning": "lessons", "edits": edits})
    if '"memory_items"' in text:
        quote = re.search(r"The run number \d+ ended badly", text)
        lesson = LESSONS[int(draw("lesson", text) * len(LESSONS))]
        lesson = f"{lesson[:-1]} in case {quote[0].split()[3] if quote else ''}."
        item = {"title": lesson.split()[0], "lesson": lesson, "generalization": ""}
        analysis = {
            "root_cause": "x",
            "evidence": [quote[0] if quote else ""],
            "memory_items": [item],
        }
        return "analyst", json.dumps(analysis)
    return "refine", json.dumps({"edits": []})


LESSONS = (
    "Verify the total against the rows that it was computed from.",
    "Write the date in the form that the question uses.",
    "Round only the final figure and never the steps before it.",
    "Name the sheet that the values are read from.",
)


class Endpoint:
    """The server's state: how often each request came, and what its answer took."""

    def __init__(self) -> None:
        self.attempts: dict[str, int] = {}
        self.log: list[dict[str, Any]] = []
        self.refused = self.hung = 0
        self.active = self.most_active = 0

    async def chat(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """HTTP status and JSON of one attempt."""
        text = str(body["messages"][-1]["content"])
        attempt = self.attempts[text] = self.attempts.get(text, 0) + 1
        if draw("refused", text, attempt) < REFUSED:
            self.refused += 1
            return 429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
        self.active += 1
        self.most_active = max(self.active, self.most_active)
        try:
            if draw("hang", text, attempt) < HANGS:
                self.hung += 1
                await asyncio.sleep(HANG_S)
            seconds = latency_s(text, attempt)
            await asyncio.sleep(seconds)
        finally:
            self.active -= 1
        role, answer = reply(text)
        run = re.search(r"The run number (\d+) ended badly|in case (\d+)", text)
        self.log.append({"role": role, "run": run and int(run[1] or run[2]), "seconds": seconds})
        return 200, completion(answer, body["model"])


def app() -> Any:
    """The ASGI app."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    endpoint = Endpoint()

    async def chat(request: Request) -> JSONResponse:
        status, value = await endpoint.chat(await request.json())
        headers = {"retry-after": str(RETRY_AFTER_S)} if status == 429 else None
        return JSONResponse(value, status_code=status, headers=headers)

    async def log(request: Request) -> JSONResponse:
        facts = {"refused": endpoint.refused, "hung": endpoint.hung}
        return JSONResponse({**facts, "most_active": endpoint.most_active, "log": endpoint.log})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/log", log, methods=["GET"]),
        ]
    )


if __name__ == "__main__":
    import uvicorn

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        print(listener.getsockname()[1], flush=True)
        server = uvicorn.Server(uvicorn.Config(app(), log_level="error"))
        server.run(sockets=[listener])
