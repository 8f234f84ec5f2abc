"""Errors within HTTP 200 are tried again by their code, and bodies that break off."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import openai
import pytest

from harness.core import BadInput, Unreachable
from harness.models import Body, Budget, open_model, refusal_of, transport
from tests.models.http_server import Answer, Served, completion, serve
from tests.models.test_streaming import (
    ENDED,
    HELLO,
    Step,
    Upstream,
    asking,
    chunk,
    streamed,
    text_of,
    upstream,
)

FINE = completion("seven")


def changed(change: Callable[[Body], None]) -> Answer:
    body = json.loads(FINE[2])
    change(body)
    return 200, {}, json.dumps(body).encode()


def error_body(error: Any, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return 200, named, json.dumps({"error": error}).encode()


def beside_null(body: Body) -> None:
    body["choices"][0]["message"]["content"] = None
    body["error"] = {"message": "the provider is busy", "code": 429}


TRANSIENT: dict[str, Answer] = {
    "code 429": error_body({"message": "slow down, please", "code": 429}),
    "code as text": error_body({"message": "bad gateway", "code": "502"}),
    "a type alone": error_body({"message": "try later", "type": "overloaded_error"}),
    "a text alone": error_body("upstream closed"),
    "object error": (200, {}, b'{"object": "error", "message": "worker died", "code": 500}'),
    "null beside an error": changed(beside_null),
    "error in the choice": changed(
        lambda body: body["choices"][0].update(error={"code": 503, "message": "worker gone"})
    ),
    "finish reason alone": changed(lambda body: body["choices"][0].update(finish_reason="error")),
    "broken off": (200, {}, FINE[2][:40]),
    "nothing": (200, {}, b""),
    "no choices": (200, {}, b'{"choices": []}'),
}  # fmt: skip


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr(transport, "BASE_S", 0.001)


def ask(server: Served, budget: Budget | None = None) -> str:
    async def work() -> str:
        model = open_model("openai/m", base_url=server.url, budget=budget)
        try:
            return (await model.complete([{"role": "user", "content": "3 + 4?"}])).text
        finally:
            await model.aclose()

    return asyncio.run(work())


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_transient_error_within_a_200_is_tried_again(kind: str) -> None:
    answers = [TRANSIENT[kind], TRANSIENT[kind], FINE]
    with serve(lambda _: answers.pop(0)) as server:
        assert ask(server) == "seven"
    assert not answers


def test_an_error_that_stays_is_reported_in_the_servers_words() -> None:
    with (
        serve(lambda _: TRANSIENT["code 429"]) as server,
        pytest.raises(Unreachable, match="slow down, please"),
    ):
        ask(server)
    assert len(server.bodies) == transport.ATTEMPTS


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "context of 4096 exceeded", "code": 400}, BadInput),
        ({"message": "no such model", "code": "model_not_found"}, BadInput),
        ({"message": "bad field", "type": "invalid_request_error", "code": None}, BadInput),
        ({"message": "who are you", "code": 401}, Unreachable),
    ],
)
def test_a_rejection_within_a_200_is_final(error: Body, kind: type[Exception]) -> None:
    budget = Budget(tokens=100_000)
    with (
        serve(lambda _: error_body(error)) as server,
        pytest.raises(kind, match=error["message"]),
    ):
        ask(server, budget)
    assert (len(server.bodies), budget.spent.tokens) == (1, 0)


def test_the_wait_that_is_asked_for_is_kept_within_a_200() -> None:
    headers = {"X-Junk": "1", "Retry-After-Ms": "400"}
    answers = [
        error_body({"message": "busy", "code": 429}, Retry_After="0.4"),
        error_body({"message": "busy", "code": 429, "metadata": {"headers": headers}}),
        FINE,
    ]
    began = time.monotonic()
    with serve(lambda _: answers.pop(0)) as server:
        assert ask(server) == "seven"
    assert time.monotonic() - began >= 0.8


@pytest.mark.parametrize("extra", [{"error": None}, {"error": {}}, {"error": ""}, {"refusal": "x"}])
def test_a_reply_beside_an_empty_error_is_a_reply(extra: Body) -> None:
    assert refusal_of(json.loads(FINE[2]) | extra) is None


@pytest.mark.parametrize("finish", [{"type": "error"}, ["error"], 7, True])
def test_an_end_of_another_type_is_no_refusal(finish: object) -> None:
    assert refusal_of({"choices": [{"message": {"content": "x"}, "finish_reason": finish}]}) is None


BUSY: Body = {"error": {"message": "the day's quota is used up", "code": 429}}
OPENINGS: dict[str, list[Step]] = {
    "an event first": [BUSY],
    "behind the role": [HELLO[0], BUSY],
    "in a choice": [HELLO[0], chunk(finish="error")],
    "no end behind the role": [HELLO[0]],
}


@pytest.mark.parametrize("kind", OPENINGS)
def test_a_stream_that_fails_before_its_first_word_is_tried_again(kind: str) -> None:
    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            chunks = await streamed(asker)
            assert text_of(chunks) == "Hello"
            roles = [part.choices[0].delta.role for part in chunks if part.choices]
            assert roles.count("assistant") == 1
            assert (account.usage.calls, account.ended) == (1, None)

    def answer(server: Upstream) -> list[Step]:
        return OPENINGS[kind] if len(server.bodies) < 3 else [*HELLO, *ENDED]

    with upstream(answer) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 3


def test_a_stream_that_fails_behind_its_first_word_is_charged_and_names_the_error() -> None:
    budget = Budget(tokens=10_000)

    async def work(server: Upstream) -> None:
        async with asking(server.url, budget=budget) as (asker, account):
            with pytest.raises(openai.APIError, match="the day's quota is used up"):
                await streamed(asker)
            assert "the day's quota is used up" in str(account.ended)

    with upstream(lambda _: [*HELLO, BUSY]) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 1
    assert budget.spent.tokens > 0
