"""`harness record --guard` and `harness models serve --guard`: nothing passes the guard by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from harness.core import BadInput
from harness.core.redaction import Redactor
from harness.judge.guards.setting import guard_layer
from harness.models import Body, Budget, CallStore, Model, layered, served, serving

pytestmark = pytest.mark.wing("record", "engines")

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
WORDS = "words: {Violent: [bomb]}\n"


@dataclass
class Guarded:
    """A proxy with a guard, and the paths that its upstream was asked."""

    client: httpx.AsyncClient
    url: str
    asked: list[str]
    limit: Any

    async def post(self, path: str, text: str, **more: Any) -> httpx.Response:
        body: Body = {"model": "m", "max_tokens": 50, **more}
        if path == RESPONSES:
            body = {"model": "m", "input": text, **more}
        else:
            body["messages"] = [{"role": "user", "content": text}]
        return await self.client.post(f"{self.url}{path}", json=body)


@asynccontextmanager
async def guarded(folder: Path, setting: str | None, **plan: Any) -> AsyncGenerator[Guarded]:
    """A recording whose upstream answers what it was asked, and `how` with a bomb."""
    from harness.record import Plan, find_upstream, open_proxy
    from tests.record.provider import Said, provide
    from tests.record.speaking import speaking

    script = speaking(
        lambda seen: Said("build a bomb so" if "how" in str(seen.body) else "all is well")
    )
    with provide(script) as provider:
        upstream = find_upstream(provider.url, translate=True)
        budget = plan.pop("budget", Budget())
        settings = Plan(folder, upstream, budget, guard=setting, **plan)
        async with (
            open_proxy(settings, Redactor(), ["test"]) as (proxy, url, _),
            httpx.AsyncClient(timeout=60) as client,
        ):
            opened = Guarded(client, url, [], proxy)
            yield opened
            opened.asked += [seen.path for seen in provider.seen]


@pytest.fixture
def words(tmp_path: Path) -> str:
    file = tmp_path / "guard.yaml"
    file.write_text(WORDS)
    return str(file)


@pytest.mark.parametrize("path", [CHAT, MESSAGES, RESPONSES])
def test_clients_of_every_format_meet_the_guard(path: str, tmp_path: Path, words: str) -> None:
    async def work() -> tuple[list[httpx.Response], list[str]]:
        async with guarded(tmp_path / "run", words) as proxy:
            replies = [
                await proxy.post(path, "hello"),
                await proxy.post(path, "hello", stream=True),
                await proxy.post(path, "a bomb"),
                await proxy.post(path, "how"),
                await proxy.post(path, "how", stream=True),
            ]
        return replies, proxy.asked

    replies, asked = asyncio.run(work())
    assert [reply.status_code for reply in replies] == [200, 200, 400, 400, 400]
    assert all("all is well" in reply.text for reply in replies[:2])
    assert "the guard in front: Unsafe (Violent): stop" in replies[2].text
    assert all("build" not in reply.text for reply in replies[3:]), "no token of it is released"
    assert asked == [CHAT] * 4, "what is stopped in front is not asked"


def test_paths_that_the_guard_does_not_know_are_not_passed_on(tmp_path: Path, words: str) -> None:
    async def work() -> tuple[int, int, list[str]]:
        async with guarded(tmp_path / "run", words) as proxy:
            listed = await proxy.client.get(f"{proxy.url}/v1/models")
            old = await proxy.client.post(f"{proxy.url}/v1/completions", json={"prompt": "a bomb"})
        return listed.status_code, old.status_code, proxy.asked

    assert asyncio.run(work()) == (200, 404, ["/v1/models"])


def test_what_was_recorded_without_a_guard_is_asked_again(tmp_path: Path, words: str) -> None:
    async def ask(setting: str | None) -> int:
        async with guarded(tmp_path / "run", setting) as proxy:
            return (await proxy.post(CHAT, "how")).status_code

    assert [asyncio.run(ask(setting)) for setting in (None, words, None)] == [200, 400, 200]


def test_an_answer_that_was_stopped_is_charged(tmp_path: Path, words: str) -> None:
    async def work() -> list[int]:
        budget = Budget(tokens=900)
        async with guarded(tmp_path / "run", words, budget=budget) as proxy:
            return [(await proxy.post(CHAT, "how", max_tokens=500)).status_code for _ in "ab"]

    assert asyncio.run(work()) == [400, 429], "its worst case stays charged"


def test_the_calls_of_a_guard_that_is_a_model_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    verdicts = [{"match": "secret", "text": "Safety: Unsafe\nCategories: PII"}]
    verdicts.append({"text": "Safety: Safe\nCategories: None"})
    Path("verdicts.json").write_text(json.dumps(verdicts))

    async def work() -> list[int]:
        async with guarded(tmp_path / "run", "scripted/verdicts.json") as proxy:
            return [(await proxy.post(CHAT, text)).status_code for text in ("hi", "a secret")]

    assert asyncio.run(work()) == [200, 400]
    with CallStore(tmp_path / "run" / "calls.sqlite") as calls:
        assert calls.usage_by_role()["judge"].calls == 3, "both prompts and the answer"


def test_a_guard_needs_to_know_who_speaks_chat_completions() -> None:
    from harness.record.cli.record import record

    typed = ["--guard", "vllm/guard", "--", "true"]
    done = CliRunner().invoke(record, typed)
    assert isinstance(done.exception, BadInput)
    assert "--guard need --model or --base-url" in str(done.exception)
    replay = CliRunner().invoke(record, ["--replay", ".", *typed])
    assert (replay.exit_code, "drop --out" in replay.output) == (2, True)


def test_a_served_model_meets_the_guard(words: str) -> None:
    def nobody(spec: str) -> Model:
        raise AssertionError(spec)

    async def answer(body: Body) -> Body:
        text = str(body["messages"][-1]["content"])
        reply = {"role": "assistant", "content": "a bomb" if "how" in text else "fine"}
        return {"choices": [{"index": 0, "message": reply, "finish_reason": "stop"}]}

    async def work() -> list[httpx.Response]:
        app = served(layered(answer, guard_layer(words, nobody)), "m")
        async with serving(app) as url, httpx.AsyncClient(timeout=30) as client:
            asked = ({"role": "user", "content": text} for text in ("hi", "how", "the bomb"))
            bodies = [{"model": "m", "messages": [row], "stream": True} for row in asked]
            return [await client.post(f"{url}{CHAT}", json=body) for body in bodies]

    fine, *stopped = asyncio.run(work())
    assert fine.status_code == 200 and '"fine"' in fine.text
    assert [reply.status_code for reply in stopped] == [400, 400]
    assert "a bomb" not in stopped[0].text


def test_serve_puts_the_layer_around_the_embedded_model(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.engines.cli.models import models

    layers: list[Any] = []

    def serve(spec: str, port: int, ready: Any, around: Any = None, layer: Any = None) -> None:
        layers.append(layer)

    monkeypatch.setattr("harness.engines.serve", serve)
    for typed in ([], ["--guard", words]):
        done = CliRunner().invoke(models, ["serve", "local/smollm2-135m", *typed])
        assert done.exit_code == 0, done.output
    assert layers[0] is None and callable(layers[1])
    vllm = CliRunner().invoke(models, ["serve", "some/model", "--guard", words])
    assert isinstance(vllm.exception, BadInput) and "not of vLLM" in str(vllm.exception)
