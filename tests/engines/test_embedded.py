"""The embedded engine with its real model, spoken to by the real openai client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import httpx2
import openai
import pytest

from harness.core import BadInput
from harness.engines import pull
from harness.engines.embedded import LocalModel, app
from harness.engines.embedded.process import read_metrics
from harness.engines.embedded.wire import OPEN, llama_request

NAME = "smollm2-135m"
SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
STORY = "Tell a story about a green ferry."
T = TypeVar("T")


@pytest.fixture(scope="module", autouse=True)
def weights() -> None:
    """The model's weights; the first run downloads them."""
    pull(NAME)


@asynccontextmanager
async def _client() -> AsyncGenerator[openai.AsyncOpenAI]:
    transport = httpx2.ASGITransport(app(NAME))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        yield openai.AsyncOpenAI(
            base_url="http://localhost/v1", api_key="none", http_client=http, max_retries=0
        )


def _run(work: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T:
    async def inside() -> T:
        async with _client() as client:
            return await work(client)

    return asyncio.run(inside())


async def _ask(client: openai.AsyncOpenAI, prompt: str, **parameters: Any) -> Any:
    create: Any = client.chat.completions.create  # an overload per kind of reply: too many to say
    messages = [SYSTEM, {"role": "user", "content": prompt}]
    return await create(model=NAME, messages=messages, **parameters)


def _answers(*requests: tuple[str, dict[str, Any]]) -> list[str]:
    """Texts of requests that are sent together."""

    async def work(client: openai.AsyncOpenAI) -> list[str]:
        sent = [_ask(client, text, **more) for text, more in requests]
        replies: list[Any] = await asyncio.gather(*sent)
        return [str(reply.choices[0].message.content) for reply in replies]

    return _run(work)


def test_model_answers_and_usage_counts_its_tokens() -> None:
    reply = _run(lambda client: _ask(client, "What is the capital of France?", max_tokens=24))
    assert "Paris" in reply.choices[0].message.content
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.completion_tokens == len(
        ["The", " capital", " of", " France", " is", " Paris", ".", "END"]
    )
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    longer = _run(lambda client: _ask(client, "What is the capital of France, please?"))
    assert longer.usage.prompt_tokens == reply.usage.prompt_tokens + len([",", "please"])


def test_one_slot_answers_the_same_whatever_was_asked_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor does it matter what is cached: asked again, most of the prompt comes from the cache."""
    monkeypatch.setenv("HARNESS_ENGINE_SLOTS", "1")
    prompts = [f"{STORY} It has {number} masts." for number in range(6)]
    alone = [_answers((prompt, {"max_tokens": 20}))[0] for prompt in prompts]
    again = [_answers((prompt, {"max_tokens": 20}))[0] for prompt in prompts]
    together = _answers(*((prompt, {"max_tokens": 20}) for prompt in reversed(prompts)))
    assert again == alone
    assert together == alone[::-1]
    assert len(set(alone)) > 1


def test_prefix_that_was_seen_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ENGINE_SLOTS", "1")
    skill = "Round every amount to two places. " * 40
    usage = [
        _run(lambda client, n=n: _ask(client, f"{skill} What is {n} times 3.14159?", max_tokens=1))
        for n in range(3)
    ]
    for reply in usage[1:]:
        cached = reply.usage.prompt_tokens_details.cached_tokens
        assert cached > 0.9 * reply.usage.prompt_tokens


def test_temperature_absent_is_temperature_zero() -> None:
    absent, zero = _answers((STORY, {"max_tokens": 12}), (STORY, {"max_tokens": 12} | GREEDY))
    assert absent == zero


GREEDY = {"temperature": 0.0}
HOT = {"temperature": 1.0, "top_p": 0.95, "max_tokens": 16}


def test_seed_repeats_whatever_else_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ENGINE_SLOTS", "1")
    seeded = (STORY, HOT | {"seed": 7})
    (alone,) = _answers(seeded)
    crowd = _answers((STORY, HOT), seeded, ("Hello", GREEDY | {"max_tokens": 9}), (STORY, HOT))
    assert crowd[1] == alone
    assert _answers((STORY, HOT | {"seed": 8})) != [alone]


def test_without_a_seed_samples_differ() -> None:
    assert len(set(_answers((STORY, HOT), (STORY, HOT), (STORY, HOT)))) > 1


def test_stop_string_ends_the_answer_and_is_left_out() -> None:
    (free,) = _answers((STORY, {"max_tokens": 40}))
    word = free.split()[4]
    (stopped,) = _answers((STORY, {"max_tokens": 40, "stop": [word]}))
    assert stopped.rstrip() == free[: free.index(word)].rstrip()


def test_length_is_exact_and_said() -> None:
    reply = _run(lambda client: _ask(client, STORY, max_tokens=5))
    assert (reply.usage.completion_tokens, reply.choices[0].finish_reason) == (5, "length")


SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "sure": {"type": "boolean"}},
    "required": ["city", "sure"],
    "additionalProperties": False,
}


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def test_json_schema_is_followed() -> None:
    (text,) = _answers(
        ("What is the capital of France?", {"max_tokens": 60, "response_format": _schema(SCHEMA)})
    )
    value = json.loads(text)
    assert set(value) == {"city", "sure"}
    assert value["city"] in ("Paris", "Rome")


def test_bad_schema_is_refused_and_hurts_nobody_else() -> None:
    bad = _schema({"type": "nonsense"})

    async def work(client: openai.AsyncOpenAI) -> tuple[Any, ...]:
        return await asyncio.gather(
            _ask(client, STORY, max_tokens=16),
            _ask(client, STORY, max_tokens=16, response_format=bad),
            _ask(client, "What is the capital of France?", max_tokens=16),
            return_exceptions=True,
        )

    story, refused, capital = _run(work)
    assert isinstance(refused, openai.BadRequestError)
    assert refused.param == "response_format"
    assert "nonsense" in str(refused)
    assert story.usage.completion_tokens == 16
    assert "Paris" in capital.choices[0].message.content


def test_stream_is_the_same_text_and_usage() -> None:
    async def work(client: openai.AsyncOpenAI) -> tuple[list[str], Any, Any]:
        options = {"max_tokens": 12, "stream": True, "stream_options": {"include_usage": True}}
        chunks = [chunk async for chunk in await _ask(client, STORY, **options)]
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
        return pieces, chunks[-1].usage, await _ask(client, STORY, max_tokens=12)

    pieces, usage, reply = _run(work)
    assert "".join(pieces) == reply.choices[0].message.content
    assert len(pieces) > 3
    assert usage == reply.usage


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({"n": 2}, "n"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": [""]}, "stop"),
        ({"extra_body": {"min_tokens": 3}}, "min_tokens"),
        ({"tools": 5}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"extra_body": {"messages": []}}, "messages"),
        ({"response_format": {"type": "grammar"}}, "response_format"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(parameters: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        _run(lambda client: _ask(client, "hello", **parameters))
    assert caught.value.param == param


def test_what_only_tells_how_to_account_for_a_request_is_passed_over() -> None:
    body = {"model": NAME, "messages": [SYSTEM], "metadata": {"a": "b"}, "store": False,
            "service_tier": "auto", "user": "me", "temperature": 0.5}  # fmt: skip
    sent = llama_request(body, NAME)
    assert sent.keys() == {"model", "messages", "temperature", "max_tokens", *OPEN}


def test_context_overflow_is_refused() -> None:
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        _run(lambda client: _ask(client, "word " * 9000, max_tokens=1))


def test_other_model_name_is_refused() -> None:
    async def work(client: openai.AsyncOpenAI) -> Any:
        return await client.chat.completions.create(
            model="gpt", messages=[{"role": "user", "content": "hi"}]
        )

    with pytest.raises(openai.BadRequestError, match="expected 'smollm2-135m', found 'gpt'"):
        _run(work)


@pytest.mark.parametrize("stream", [False, True])
def test_cancelled_request_frees_the_engine(monkeypatch: pytest.MonkeyPatch, stream: bool) -> None:
    """With one slot, the next request would wait for thousands of tokens."""
    monkeypatch.setenv("HARNESS_ENGINE_SLOTS", "1")
    model = LocalModel(NAME)

    async def work() -> tuple[int, int]:
        body = {"model": NAME, "messages": [{"role": "user", "content": STORY}]}
        long = model.answer({**body, "max_tokens": 7000, "stream": stream})
        with suppress(TimeoutError):
            chunks: Any = await asyncio.wait_for(long, 3)
            await anext(chunks)
            await chunks.aclose()
        short: Any = await model.answer({**body, "max_tokens": 1})
        address = model.engine.running
        assert address is not None
        async with httpx2.AsyncClient() as client:
            headers = {"authorization": f"Bearer {address.key}"}
            page = await client.get(f"{address.url}/metrics", headers=headers)
        figures = read_metrics(page.text)
        return short["usage"]["completion_tokens"], int(figures["tokens_predicted_total"])

    tokens, predicted = asyncio.run(work())
    assert tokens == 1
    assert predicted < 7000


def test_models_and_health() -> None:
    async def work(client: openai.AsyncOpenAI) -> list[str]:
        return [model.id async for model in client.models.list()]

    assert _run(work) == [NAME]


def test_unknown_name_is_bad_input() -> None:
    with pytest.raises(BadInput, match="no embedded model 'gpt-9'"):
        app("gpt-9")
