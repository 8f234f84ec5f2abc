"""The client against a real HTTP server: what is on the wire, retries, faults, coalescing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, HarnessError, Unreachable, Usage
from harness.models import (
    CallStore,
    ChatModel,
    Message,
    Reply,
    Sampling,
    open_model,
    transport,
)
from tests.models.http_server import Answer, completion, error, free_port, serve

HELLO: list[Message] = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, no endpoint of the machine's owner, and quick retries."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(transport, "BASE_S", 0.01)


def ask(model: ChatModel, **options: Any) -> Reply:
    """One call in an event loop of its own."""

    async def run() -> Reply:
        try:
            return await model.complete(HELLO, **options)
        finally:
            await model.aclose()

    return asyncio.run(run())


def together(model: ChatModel, calls: list[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """Many calls at one time; exceptions come back as values."""

    async def run() -> list[Any]:
        found = await asyncio.gather(*(call() for call in calls), return_exceptions=True)
        await model.aclose()
        return found

    return asyncio.run(run())


def test_every_parameter_is_on_the_wire() -> None:
    sampling = Sampling(
        temperature=0.7,
        top_p=0.9,
        max_tokens=64,
        presence_penalty=1.5,
        frequency_penalty=-0.5,
        stop=("Observation:",),
        seed=41,
        extra={"top_k": 20, "min_p": 0.0, "chat_template_kwargs": {"enable_thinking": False}},
    )
    tool: dict[str, Any] = {"type": "function", "function": {"name": "bash", "parameters": {}}}
    with serve(lambda _: completion()) as server:
        model = open_model("vllm/org/name", base_url=server.url, sampling=sampling)
        ask(model, tools=[tool], response_format={"type": "json_object"})
    assert server.bodies == [
        {
            "model": "org/name",
            "messages": HELLO,
            "tools": [tool],
            "response_format": {"type": "json_object"},
            "temperature": 0.7,
            "top_p": 0.9,
            "max_tokens": 64,
            "presence_penalty": 1.5,
            "frequency_penalty": -0.5,
            "stop": ["Observation:"],
            "seed": 41,
            "top_k": 20,
            "min_p": 0.0,
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]


def test_nothing_that_is_not_configured_is_on_the_wire() -> None:
    with serve(lambda _: completion()) as server:
        ask(open_model("openai/m", base_url=server.url))
    assert server.bodies == [{"model": "m", "messages": HELLO}]
    assert server.headers[0]["authorization"] == "Bearer test-key"


@pytest.mark.parametrize("extra", [{"temperature": 1}, {"stream": True}, {"n": 2}])
def test_conflicting_extras_are_refused(extra: dict[str, Any]) -> None:
    with serve(lambda _: completion()) as server:
        model = open_model("openai/m", base_url=server.url)
        with pytest.raises(BadInput, match="extra may not set"):
            ask(model, sampling=Sampling(temperature=0.5, extra=extra))
    assert server.bodies == []


def test_a_reply_is_read_whole() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"a": 1}'}}
    answer = completion("", 7, 3, tool_calls=[call], reasoning_content="hm")
    with serve(lambda _: answer) as server:
        reply = ask(open_model("vllm/m", base_url=server.url))
    assert (reply.reasoning, reply.model, reply.finish_reason) == ("hm", "served-model", "stop")
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [("c1", "bash", '{"a": 1}')]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 3)
    assert reply.usage.cost_usd is None


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_busy_servers_are_asked_again(status: int) -> None:
    answers = [error(status), error(status), completion("third")]
    with serve(lambda _: answers.pop(0)) as server:
        assert ask(open_model("openai/m", base_url=server.url)).text == "third"
    assert len(server.bodies) == 3


def test_retry_after_is_honoured() -> None:
    answers = [error(429, retry_after="0.6"), completion()]
    with serve(lambda _: answers.pop(0)) as server:
        started = time.monotonic()
        ask(open_model("openai/m", base_url=server.url))
    assert time.monotonic() - started >= 0.6


def test_a_used_up_quota_holds_the_next_call_back() -> None:
    status, _, body = completion()
    quota = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "500ms"}
    with serve(lambda _: (status, quota, body)) as server:
        model = open_model("openai/m", base_url=server.url)

        async def run() -> float:
            await model.complete(HELLO)
            started = time.monotonic()
            await model.complete(HELLO, sampling=Sampling(seed=2))
            await model.aclose()
            return time.monotonic() - started

        assert asyncio.run(run()) >= 0.4


FAULTS: list[tuple[str, Answer, type[HarnessError], str, int]] = [
    ("wrong key", error(401, "bad key"), Unreachable, "OPENAI_API_KEY", 1),
    ("forbidden", error(403), Unreachable, "refused the key", 1),
    ("bad request", error(400, "top_k is unknown"), BadInput, "top_k is unknown", 1),
    ("no such model", error(404, "no model"), BadInput, "'m'", 1),
    ("unprocessable", error(422), BadInput, "HTTP 422", 1),
    ("always busy", error(503, "overloaded"), Unreachable, "overloaded", transport.ATTEMPTS),
    ("not JSON", (200, {}, b"<html>hello</html>"), Unreachable, "<html>hello", 1),
    (
        "half a JSON",
        (200, {}, completion()[2][:50]),
        Unreachable,
        "expected a chat",
        transport.ATTEMPTS,
    ),
    ("another JSON", (200, {}, b'{"choices": []}'), Unreachable, "choices", transport.ATTEMPTS),
    (
        "truncated",
        (200, {"Content-Length": "9999"}, completion()[2]),
        Unreachable,
        "unreachable",
        transport.ATTEMPTS,
    ),
]


@pytest.mark.parametrize(("answer", "kind", "says", "sent"), [fault[1:] for fault in FAULTS])
def test_faults_are_named(answer: Answer, kind: type[HarnessError], says: str, sent: int) -> None:
    with serve(lambda _: answer) as server:
        model = open_model("openai/m", base_url=server.url)
        with pytest.raises(kind, match=says) as caught:
            ask(model)
    assert "test-key" not in str(caught.value)
    assert len(server.bodies) == sent


def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    model = open_model("vllm/m", base_url=url)
    with pytest.raises(Unreachable, match=f"{url} unreachable.*is the server running"):
        ask(model)


def test_identical_requests_are_sent_once() -> None:
    with serve(lambda _: completion("one"), delay_s=0.1) as server:
        model = open_model("openai/m", base_url=server.url)
        replies = together(model, [lambda: model.complete(HELLO)] * 20)
    assert len(server.bodies) == 1
    assert {reply.text for reply in replies} == {"one"}
    assert sum(not reply.cached for reply in replies) == 1


def test_a_cancelled_asker_does_not_take_the_others_along() -> None:
    with serve(lambda _: completion("one"), delay_s=0.5) as server:
        model = open_model("openai/m", base_url=server.url)

        async def run() -> str:
            first = asyncio.create_task(model.complete(HELLO))
            while not server.bodies and not first.done():  # noqa: ASYNC110  # the server is a thread
                await asyncio.sleep(0.005)
            second = asyncio.create_task(model.complete(HELLO))
            await asyncio.sleep(0)
            first.cancel()
            reply = await second
            await model.aclose()
            return reply.text

        assert asyncio.run(run()) == "one"
    assert len(server.bodies) == 2


def test_askers_that_are_cancelled_together_all_end() -> None:
    sent = 0

    async def answer() -> Reply:
        nonlocal sent
        sent += 1
        await asyncio.sleep(0.05)
        return Reply(text="x", call_id="c", finish_reason="stop", model="m", usage=Usage())

    async def run() -> list[bool]:
        calls = CallStore()
        tasks = [asyncio.create_task(calls.once("c", answer)) for _ in range(3)]
        await asyncio.sleep(0.01)
        for task in tasks[:2]:
            task.cancel()
        await asyncio.wait(tasks)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [True, True, False]
    assert sent == 2, "the first time, and once for the one who still waits"


def test_the_key_of_the_cache_covers_what_changes_the_answer(tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [
        {},
        {"sampling": Sampling(temperature=0.1)},
        {"sampling": Sampling(seed=1)},
        {"sampling": Sampling(extra={"top_k": 1})},
        {"response_format": {"type": "json_object"}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"sampling": Sampling(timeout_s=5)},
    ]
    path = tmp_path / "calls.sqlite"
    with serve(lambda _: completion()) as server, CallStore(path) as calls:
        model = open_model("openai/m", base_url=server.url, calls=calls)
        ids = [ask(model, **variant).call_id for variant in variants]
        assert ask(model).cached
        other = open_model("vllm/m", base_url=server.url, calls=calls)
        ids.append(ask(other).call_id)
    assert ids[-2] == ids[0]  # the time-out changes no answer
    assert len(set(ids)) == len(server.bodies) == 7
