"""`models serve --context`: a small model behind the shortening, streamed and whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx

from harness.models import Body, serving
from harness.rag.compress import Store
from harness.record import Settings, shortening
from harness.record.wires import ChatTransport
from tests.record.provider import Json
from tests.record.test_context import OUTPUT, QUESTION, SECRET_PLACE

TALK: list[Json] = [
    {"role": "system", "content": OUTPUT},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": OUTPUT},
]  # fmt: skip


def test_results_reach_a_model_without_tools_as_short_text(tmp_path: Path) -> None:
    seen: list[Json] = []

    async def answer(body: Body) -> Body:
        seen.append(body)
        return {"choices": [{"message": {"content": "7:45"}}]}

    async def work() -> Json:
        app = shortening(answer, Settings(200, "lexical"), Store(tmp_path))
        async with serving(app) as url, httpx.AsyncClient(timeout=30) as client:
            body = {"model": "m", "messages": TALK}
            got = await client.post(f"{url}/v1/chat/completions", json=body)
            strange = {"host": "evil.example"}
            refused = await client.post(f"{url}/v1/chat/completions", json=body, headers=strange)
            assert refused.status_code == 403
            return got.json()

    assert asyncio.run(work())["choices"][0]["message"]["content"] == "7:45"
    [body] = seen
    system, user, assistant, result = body["messages"]
    assert (system, user) == (TALK[0], TALK[1]), "a system prompt is never shortened"
    assert assistant["content"] == 'I look.\n{"name": "read", "arguments": "{}"}'
    assert result["role"] == "user"
    assert result["content"].startswith("Result of read:\n[shortened from ")
    assert "7:45 from pier 4" in result["content"]
    assert SECRET_PLACE not in result["content"]
    assert "tools" not in body


def test_a_stream_of_a_back_end_comes_piece_by_piece() -> None:
    step = asyncio.Event()

    async def answer(body: Body) -> AsyncGenerator[Body]:
        async def chunks() -> AsyncGenerator[Body]:
            yield {"number": 1}
            await step.wait()
            yield {"number": 2}

        return chunks()

    async def work() -> list[bytes]:
        received: list[bytes] = []
        asked: Json = {"messages": [], "stream": True}
        async with (
            httpx.AsyncClient(transport=ChatTransport(answer), base_url="http://here") as client,
            client.stream("POST", "/v1/chat/completions", json=asked) as response,
        ):
            async for piece in response.aiter_bytes():
                received.append(piece)
                step.set()  # the second piece is not made before the first is here
        return received

    assert asyncio.run(asyncio.wait_for(work(), 10)) == [
        b'data: {"number": 1}\n\n',
        b'data: {"number": 2}\n\n',
        b"data: [DONE]\n\n",
    ]
