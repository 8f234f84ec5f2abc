"""Hostile requests and replies: refused as documented, without a fault and without much memory."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.core import Unreachable, http
from harness.models import open_gateway, open_model, responding, served, serving
from harness.models.scripted import Script
from tests.models.http_server import completion, serve, serve_raw

ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def _with(**fields: Any) -> bytes:
    return json.dumps({**ASKED, "max_tokens": 5, **fields}).encode()


def _said(content: Any) -> bytes:
    return _with(messages=[{"role": "user", "content": content}])


HOSTILE: dict[str, tuple[bytes, str]] = {
    "messages: a number": (_with(messages=5), "messages"),
    "messages: a text": (_with(messages="x"), "messages"),
    "messages: numbers": (_with(messages=[5]), "messages.0"),
    "messages: null": (_with(messages=None), "messages"),
    "no messages": (b"{}", "messages"),
    "role: a number": (_with(messages=[{"role": 5}]), "messages.0.role"),
    "content: numbers": (_said([5]), "messages.0.content"),
    "tool_calls: a number": (_with(messages=[{"role": "x", "tool_calls": 5}]), "tool_calls"),
    "response_format: a number": (_with(response_format=7), "response_format"),
    "tools: texts": (_with(tools=["x"]), "tools.0"),
    "stream_options: a number": (_with(stream=True, stream_options=5), "stream_options"),
    "deep lists": (b'{"messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "levels"),
    "deep objects": (b'{"a":' * 600 + b"1" + b"}" * 600, "levels"),
    "max_tokens: 31 digits": (_with(max_tokens=10**30), "max_tokens"),
    "max_completion_tokens: 31 digits": (_with(max_completion_tokens=10**30), "max_completion"),
    "not JSON": (b"\xff\xfe{", "not JSON"),
    "a list": (b"[1]", "expected an object"),
    "no number": (_with(temperature=float("nan")), "NaN"),
    "half a character": (_said("\ud800"), "surrogates"),
    "a long number": (b'{"messages": [], "max_tokens": ' + b"9" * 5000 + b"}", "digits"),
}  # fmt: skip


@asynccontextmanager
async def gateway_client(url: str) -> AsyncGenerator[httpx.AsyncClient]:
    model = open_model("openai/m", base_url=url)
    async with open_gateway(model) as gateway:
        key, _ = gateway.open_account()
        headers = {"authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=gateway.origin, headers=headers) as client:
            yield client
    await model.aclose()


@asynccontextmanager
async def served_client(folder: Path) -> AsyncGenerator[httpx.AsyncClient]:
    (folder / "s.jsonl").write_text('"hello"\n')
    script = Script(folder / "s.jsonl")
    async with serving(served(script.answer, "s")) as origin, httpx.AsyncClient() as client:
        client.base_url = origin
        yield client


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def test_what_is_no_request_is_refused_with_its_field(tmp_path: Path) -> None:
    async def ask(client: httpx.AsyncClient) -> None:
        for name, (content, why) in HOSTILE.items():
            answer = await client.post("/v1/chat/completions", content=content)
            assert answer.status_code == 400, (name, answer.text)
            assert why in answer.json()["error"]["message"], (name, answer.text)
        fine = await client.post("/v1/chat/completions", json=ASKED)
        assert fine.status_code == 200

    async def work(url: str) -> None:
        async with gateway_client(url) as client:
            await ask(client)
        async with served_client(tmp_path) as client:
            await ask(client)

    with serve(lambda _body: completion("4")) as server:
        asyncio.run(work(server.url))
    assert len(server.bodies) == 1, "the upstream sees none of them"


@pytest.mark.parametrize("declared", [True, False])
def test_a_long_body_is_refused_and_not_held(
    declared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responding, "MAX_BYTES", 2**20)

    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(64):
            yield b" " * 2**20

    async def work() -> None:
        async with served_client(tmp_path) as client:
            path, length = "/v1/chat/completions", {"content-length": str(2**26)}
            answer = await client.post(path, content=pieces(), headers=length if declared else {})
            assert answer.status_code == 413
            assert "more than 1 MiB" in answer.json()["error"]["message"]
            assert (await client.post(path, json=ASKED)).status_code == 200

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asyncio.run(work())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("declared", [True, False])
def test_a_long_reply_is_given_up_and_not_asked_for_again(
    status: int, declared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 2**20)
    written = 0

    async def write(body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        nonlocal written
        length = f"Content-Length: {2**26}" if declared else "Connection: close"
        writer.write(f"HTTP/1.1 {status} X\r\n{length}\r\n\r\n".encode())
        for _ in range(64):
            written += 1
            writer.write(b" " * 2**20)
            await writer.drain()
        return False

    async def ask(url: str) -> None:
        model = open_model("openai/m", base_url=url)
        try:
            with pytest.raises(Unreachable, match="more than 1 MiB"):
                await model.complete(ASKED["messages"])
        finally:
            await model.aclose()

    with serve_raw(write) as url:
        asyncio.run(ask(url))
    assert written < 64, "it was read once, and not to its end"
