"""The gateway streams: chunks are passed on as they come, and the call is recorded all the same.

No test looks at a clock: a server goes on only after its client has what was sent before, so that
an answer that were held back would never come to its end.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from harness.core import Unreachable
from harness.models import (
    Account,
    Body,
    Budget,
    CallStore,
    Endpoint,
    LimitedModel,
    LiveLimits,
    Refused,
    SampleLimitReached,
    SampleLimits,
    Sampling,
    assembled,
    client,
    open_gateway,
    open_model,
)
from tests.models.http_server import Answer, completion, error, serve_raw

PATIENCE_S = 60.0
"""After which a test that waits has failed."""
ASKED: list[Any] = [{"role": "user", "content": "hi"}]
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def chunk(delta: Body | None = None, finish: str | None = None, **more: Any) -> Body:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    head = {"id": "of-the-server", "object": "chat.completion.chunk", "created": 1}
    return {**head, "model": "served-model", "choices": [choice], **more}


def said(text: str) -> Body:
    return chunk({"content": text})


COUNTED = chunk(choices=[], usage=USAGE)
HELLO = [chunk({"role": "assistant", "content": ""}), said("Hel"), said("lo")]
ENDED = [chunk(finish="stop"), COUNTED]


class Upstream:
    """A server of events.

    Attributes:
        bodies: of the requests.
        read: set by the client once it has what was sent so far.
        gone: set when the client has hung up.
        came: set by a request.
    """

    def __init__(self) -> None:
        self.url = ""
        self.bodies: list[Body] = []
        self.read, self.gone, self.came = (threading.Event() for _ in range(3))


Step = Body | Callable[[asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def upstream(answer: Callable[[Upstream], list[Step] | Answer]) -> Generator[Upstream]:
    """Serve until the block ends; `answer` gives the steps of a stream, or a whole response."""
    server = Upstream()

    async def write(body: Body, writer: asyncio.StreamWriter) -> bool:
        server.bodies.append(body)
        server.came.set()
        steps = answer(server)
        if isinstance(steps, tuple):
            status, _, content = steps
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n"
            writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
            await writer.drain()
            return True
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n")
        writer.write(b"\r\n: a comment\r\n\r\n")
        for step in steps:
            if isinstance(step, dict):
                writer.write(f"data: {json.dumps(step)}\n\n".encode())
                await writer.drain()
            else:
                await step(writer)
        if steps[-1] is COUNTED:
            writer.write(b"data: [DONE]\n\n")
        return False

    with serve_raw(write) as server.url:
        yield server


def until_read(server: Upstream) -> Step:
    """Go on when the client has what was sent; hang up if it never says so."""

    async def wait(_: asyncio.StreamWriter) -> None:
        if not await asyncio.to_thread(server.read.wait, PATIENCE_S):
            raise ConnectionError
        server.read.clear()

    return wait


def until_gone(server: Upstream) -> Step:
    """Send what says nothing until nobody is there."""

    async def wait(writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b": still thinking\n\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            server.gone.set()

    return wait


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@asynccontextmanager
async def asking(
    url: str | None, spec: str = "openai/m", **settings: Any
) -> AsyncGenerator[tuple[openai.AsyncOpenAI, Account]]:
    """A client of the gateway in front of a model, and the account of its calls."""
    limits = settings.pop("limits", None)
    model = open_model(spec, base_url=url, **settings)
    try:
        async with open_gateway(LimitedModel(model, limits) if limits else model) as gateway:
            key, _ = gateway.open_account()
            async with openai.AsyncOpenAI(
                base_url=f"{gateway.origin}/v1", api_key=key, max_retries=0, timeout=PATIENCE_S
            ) as asker:
                yield asker, gateway._accounts[key]  # pyright: ignore[reportPrivateUsage]
    finally:
        await model.aclose()


async def streamed(asker: openai.AsyncOpenAI, server: Upstream | None = None) -> list[Any]:
    """The chunks of an answer; the server hears of each text that has come."""
    stream = await asker.chat.completions.create(
        model="m", messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks: list[Any] = []
    async for part in stream:
        chunks.append(part)
        if server is not None and part.choices and part.choices[0].delta.content:
            server.read.set()
    return chunks


def text_of(chunks: list[Any]) -> str:
    return "".join(part.choices[0].delta.content or "" for part in chunks if part.choices)


def test_chunks_come_before_the_last_is_sent_and_the_call_is_recorded(tmp_path: Path) -> None:
    def answer(server: Upstream) -> list[Step]:
        return [HELLO[0], HELLO[1], until_read(server), HELLO[2], until_read(server), *ENDED]

    async def work(server: Upstream) -> None:
        with CallStore(tmp_path / "calls.sqlite") as calls:
            budget = Budget(tokens=10_000)
            async with asking(server.url, calls=calls, budget=budget) as (asker, account):
                live = await streamed(asker, server)
                again = await streamed(asker)
                whole = await asker.chat.completions.create(model="m", messages=ASKED)
        async with asking(None, f"replay/{tmp_path}/calls.sqlite") as (asker, _):
            replayed = await streamed(asker)
        assert text_of(live) == text_of(again) == text_of(replayed) == "Hello"
        assert [part.choices[0].finish_reason for part in live if part.choices][-1] == "stop"
        assert live[-1].usage.total_tokens == again[-1].usage.total_tokens == 7
        assert whole.choices[0].message.content == "Hello"
        assert {part.id for part in (*live, *again, whole)} == {account.exchanges[0][1].call_id}
        assert (account.usage.calls, account.usage.tokens, budget.spent.tokens) == (3, 21, 7)

    with upstream(answer) as server:
        asyncio.run(work(server))
    [body] = server.bodies
    assert body.pop("stream") is True
    assert body.pop("stream_options") == {"include_usage": True}
    with CallStore(tmp_path / "calls.sqlite") as calls:
        [call] = calls.answered()
    assert "stream" not in call.body, "a request is the same, streamed or not"
    assert call.response["choices"] == [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello"},
        }
    ]
    assert (call.response["object"], call.response["usage"]) == ("chat.completion", USAGE)
    assert call.usage.tokens == 7


@pytest.mark.wing("record")
def test_a_stream_of_responses_comes_piece_by_piece_too() -> None:
    def answer(server: Upstream) -> list[Step]:
        return [*HELLO[:2], until_read(server), HELLO[2], *ENDED]

    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            text = ""
            async for event in await asker.responses.create(model="m", input="hi", stream=True):
                if event.type == "response.output_text.delta":
                    text += event.delta
                    server.read.set()
                if event.type == "response.completed":
                    assert event.response.output_text == text == "Hello"
            assert (len(account.exchanges), account.usage.tokens) == (1, 7)

    with upstream(answer) as server:
        asyncio.run(work(server))


@pytest.mark.wing("record")
def test_a_stream_of_messages_comes_piece_by_piece_too() -> None:
    def answer(server: Upstream) -> list[Step]:
        return [*HELLO[:2], until_read(server), HELLO[2], *ENDED]

    async def work(server: Upstream) -> None:
        body = {"model": "m", "max_tokens": 9, "messages": ASKED, "stream": True}
        async with asking(server.url) as (asker, account), httpx.AsyncClient() as sender:
            url, key = f"{asker.base_url}messages", {"x-api-key": asker.api_key}
            text, events = "", list[str]()
            async with sender.stream("POST", url, json=body, headers=key, timeout=60) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: "):
                        event = json.loads(line[6:])
                        events.append(event["type"])
                        text += event.get("delta", {}).get("text", "")
                        if event["type"] == "content_block_delta":
                            server.read.set()
            assert (text, events[0], events[-1]) == ("Hello", "message_start", "message_stop")
            assert (len(account.exchanges), account.usage.tokens) == (1, 7)

    with upstream(answer) as server:
        asyncio.run(work(server))


def test_two_streams_at_once_do_not_mix() -> None:
    """No server goes on before both clients have the first text."""
    both = threading.Barrier(4)

    async def meet(*_: Any) -> None:
        await asyncio.to_thread(both.wait, PATIENCE_S)

    def answer(server: Upstream) -> list[Step]:
        name = server.bodies[-1]["messages"][0]["content"]
        return [said(f"{name} "), meet, said(name), *ENDED]

    async def read(asker: openai.AsyncOpenAI, name: str) -> str:
        text = ""
        stream = await asker.chat.completions.create(
            model="m", messages=[{"role": "user", "content": name}], stream=True
        )
        async for event in stream:
            text += event.choices[0].delta.content or ""
            if text == f"{name} " and event.choices[0].delta.content:
                await meet()
        return text

    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            texts = await asyncio.gather(read(asker, "left"), read(asker, "right"))
            assert texts == ["left left", "right right"]
            assert (account.usage.calls, account.usage.tokens) == (2, 14)

    with upstream(answer) as server:
        asyncio.run(work(server))


def test_whoever_waits_for_the_same_answer_gets_it_when_the_first_hangs_up() -> None:
    def answer(server: Upstream) -> list[Step]:
        return [*HELLO, *(ENDED if len(server.bodies) > 1 else [until_gone(server)])]

    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            first = await asker.chat.completions.create(model="m", messages=ASKED, stream=True)
            await anext(aiter(first))
            second = asyncio.ensure_future(streamed(asker))
            await first.close()
            assert text_of(await second) == "Hello"
            assert account.usage.calls == 1

    with upstream(answer) as server:
        asyncio.run(asyncio.wait_for(work(server), PATIENCE_S))
    assert len(server.bodies) == 2


def part(index: int, **fields: Any) -> Body:
    return {"index": index, **fields}


def called(id_: str, name: str, arguments: str) -> Body:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = [
    chunk({"role": "assistant", "content": None, "reasoning_content": "Both. "}),
    chunk({"reasoning_content": "Now."}),
    chunk({"tool_calls": [part(0, **called("a", "add", ""))]}),
    chunk({"tool_calls": [part(0, function={"arguments": '{"x":'})]}),
    chunk({"tool_calls": [part(1, **called("b", "stop", "{}"))]}),
    chunk({"tool_calls": [part(0, function={"arguments": " 1}"})]}),
    chunk(finish="tool_calls"),
    COUNTED,
]  # fmt: skip


def test_calls_in_parts_are_put_together_for_client_and_record() -> None:
    calls = CallStore()

    async def work(server: Upstream) -> Any:
        async with asking(server.url, calls=calls) as (asker, _):
            async with asker.chat.completions.stream(model="m", messages=ASKED) as stream:
                final = await stream.get_final_completion()
            async with asker.chat.completions.stream(model="m", messages=ASKED) as stream:
                return final, await stream.get_final_completion()

    with upstream(lambda _: [*CALLS]) as server:
        finals = asyncio.run(work(server))
    assert len(server.bodies) == 1
    for final in finals:
        [choice] = final.choices
        assert choice.finish_reason == "tool_calls"
        functions = [(call.id, call.function.name) for call in choice.message.tool_calls]
        assert functions == [("a", "add"), ("b", "stop")]
        assert [call.function.arguments for call in choice.message.tool_calls] == ['{"x": 1}', "{}"]
    [stored] = calls.answered()
    [choice] = stored.response["choices"]
    assert choice == {
        "index": 0,
        "finish_reason": "tool_calls",
        "message": {
            "role": "assistant",
            "content": None,
            "reasoning_content": "Both. Now.",
            "tool_calls": [called("a", "add", '{"x": 1}'), called("b", "stop", "{}")],
        },
    }  # fmt: skip


def test_log_probabilities_of_all_chunks_are_kept() -> None:
    rows = [{"token": "a", "logprob": -1.0}, {"token": "b", "logprob": -2.0}]
    chunks = [said("a"), said("b"), chunk(finish="stop")]
    for event, row in zip(chunks, rows, strict=False):
        event["choices"][0]["logprobs"] = {"content": [row], "refusal": None}
    assert assembled(chunks)["choices"][0]["logprobs"]["content"] == rows


@pytest.mark.parametrize(
    "garbage", [None, [], 5, {}, {"choices": 5}, {"choices": [5]}, {"choices": [{"delta": [5]}]},
                {"choices": [{"delta": {"tool_calls": [5, {"function": 5}], "content": [5]}}]}]
)  # fmt: skip
def test_what_is_no_chunk_is_passed_over(garbage: Any) -> None:
    [choice] = assembled([garbage, said("4"), chunk(finish="stop")])["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("4", "stop")


def raw(line: str) -> Step:
    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(f"data: {line}\n\n".encode())

    return write


def test_garbage_between_chunks_reaches_no_client() -> None:
    garbage = [raw("5"), raw("null"), raw('{"choices": [{"delta": [5]}]}'), raw('{"choices": {}}')]

    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            chunks = await streamed(asker)
            assert text_of(chunks) == "Hello"
            assert len(chunks) == len(HELLO) + len(ENDED)
            assert account.usage.tokens == 7

    with upstream(lambda _: [*HELLO[:2], *garbage, HELLO[2], *ENDED]) as server:
        asyncio.run(work(server))


def test_what_is_not_json_ends_the_stream() -> None:
    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            with pytest.raises(openai.APIError, match=re.escape(server.url)):
                await streamed(asker)
            assert isinstance(account.ended, Unreachable)

    with upstream(lambda _: [*HELLO, raw("{broken"), *ENDED]) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 1


def test_half_characters_in_two_chunks_are_one() -> None:
    calls = CallStore()

    async def work(server: Upstream) -> list[Any]:
        async with asking(server.url, calls=calls) as (asker, _):
            return await streamed(asker)

    with upstream(lambda _: [said("\ud83d"), said("\ude00"), *ENDED]) as server:
        chunks = asyncio.run(work(server))
    assert text_of(chunks).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"
    [call] = calls.answered()
    assert call.response["choices"][0]["message"]["content"] == "😀"


@pytest.mark.parametrize("begun", [True, False], ids=["in the middle", "before the first chunk"])
def test_a_client_that_hangs_up_cancels_the_call_which_stays_charged(begun: bool) -> None:
    """With its worst case: nobody knows what it used."""
    calls, budget = CallStore(), Budget(tokens=10_000)
    limits = SampleLimits(tokens=5_000)

    def answer(server: Upstream) -> list[Step]:
        return [*(HELLO[:2] if begun else []), until_gone(server)]

    async def work(server: Upstream) -> None:
        async with asking(server.url, calls=calls, budget=budget, limits=limits) as (asker, _):
            asked = asker.chat.completions.create(
                model="m", messages=ASKED, stream=True, max_tokens=20
            )
            if begun:
                async with await asked as stream:
                    assert (await anext(aiter(stream))).choices[0].delta.role == "assistant"
            else:
                asking_still = asyncio.ensure_future(asked)
                assert await asyncio.to_thread(server.came.wait, PATIENCE_S)
                asking_still.cancel()
            assert await asyncio.to_thread(server.gone.wait, PATIENCE_S), "it still answers"
            while budget.spent.calls == 0 or calls.in_flight():  # noqa: ASYNC110  # it is settled soon
                await asyncio.sleep(0.01)

    with upstream(answer) as server:
        asyncio.run(asyncio.wait_for(work(server), PATIENCE_S))
    assert budget.spent.tokens > 20
    assert calls.spend().tokens == budget.spent.tokens
    assert not calls.answered()
    assert len(server.bodies) == 1


def test_what_a_limited_attempt_hangs_up_on_counts_with_its_worst_case() -> None:
    async def work(server: Upstream) -> None:
        model = open_model("openai/m", base_url=server.url)
        limited = LimitedModel(model, SampleLimits(tokens=400))
        call = asyncio.ensure_future(limited.complete(ASKED, sampling=Sampling(max_tokens=200)))
        assert await asyncio.to_thread(server.came.wait, PATIENCE_S)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(SampleLimitReached, match="limit of 400 tokens"):
            limited.check()
        await model.aclose()

    with upstream(lambda server: [until_gone(server)]) as server:
        asyncio.run(asyncio.wait_for(work(server), PATIENCE_S))


def test_a_client_that_stops_at_the_finish_reason_has_a_whole_call() -> None:
    """Many do: the tokens come behind it, and the answer must be on record by then."""
    calls = CallStore()

    async def work(server: Upstream) -> None:
        async with asking(server.url, calls=calls) as (asker, account):
            stream = await asker.chat.completions.create(model="m", messages=ASKED, stream=True)
            async for event in stream:
                if event.choices[0].finish_reason:
                    assert [call.usage.tokens for call in calls.answered()] == [7]
                    assert account.usage.tokens == 7
                    break
            await stream.close()

    with upstream(lambda _: [*HELLO, *ENDED]) as server:
        asyncio.run(work(server))


def test_tokens_that_the_server_does_not_count_stay_charged_with_the_worst_case() -> None:
    budget = Budget(tokens=10_000)

    async def work(server: Upstream) -> None:
        async with asking(server.url, budget=budget) as (asker, account):
            stream = await asker.chat.completions.create(
                model="m", messages=ASKED, stream=True, max_tokens=20
            )
            assert text_of([event async for event in stream]) == "Hello"
            assert (account.usage.calls, account.usage.tokens) == (1, 0)

    with upstream(lambda _: [*HELLO, chunk(finish="stop")]) as server:
        asyncio.run(work(server))
    assert budget.spent.tokens > 20


def test_a_budget_that_a_stream_exceeds_ends_the_next_before_its_first_chunk() -> None:
    more = chunk(choices=[], usage=USAGE | {"prompt_tokens": 10_000})

    async def work(server: Upstream) -> None:
        async with asking(server.url, budget=Budget(tokens=9_000)) as (asker, account):
            assert text_of(await streamed(asker)) == "Hello", "it is paid for"
            with pytest.raises(openai.RateLimitError, match="budget"):
                await asker.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "more"}], stream=True
                )
            assert account.limit is not None

    with upstream(lambda _: [*HELLO, chunk(finish="stop"), more]) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 1


def test_a_limit_reached_in_the_middle_ends_the_stream_and_the_call() -> None:
    calls, limits = CallStore(), LiveLimits(SampleLimits(working=1_000))

    async def work(server: Upstream) -> None:
        async with asking(server.url, calls=calls, limits=limits) as (asker, account):
            stream = await asker.chat.completions.create(model="m", messages=ASKED, stream=True)
            chunks = aiter(stream)
            await anext(chunks)
            limits.now = SampleLimits(working=1e-9)
            assert isinstance(account.model, LimitedModel)
            with pytest.raises(SampleLimitReached):
                account.model.check()
            with pytest.raises(openai.APIError, match="seconds of work"):
                while await anext(chunks):
                    pass
            assert isinstance(account.ended, SampleLimitReached)
            assert await asyncio.to_thread(server.gone.wait, PATIENCE_S), "it still answers"

    with upstream(lambda server: [*HELLO, until_gone(server)]) as server:
        asyncio.run(asyncio.wait_for(work(server), PATIENCE_S))
    assert not calls.answered()
    assert not calls.in_flight()


LOST: Body = {"error": {"message": "out of memory, key sk-live-0123456789abcdefghijklmnop"}}


def test_an_error_before_the_first_chunk_is_an_http_error() -> None:
    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            with pytest.raises(openai.BadRequestError, match="no such thing"):
                await streamed(asker)
            assert account.ended is None

    with upstream(lambda _: error(400, "no such thing")) as server:
        asyncio.run(work(server))
    assert ["stream" in body for body in server.bodies] == [True, False]


def test_a_server_that_fails_before_the_first_chunk_is_asked_again() -> None:
    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            assert text_of(await streamed(asker)) == "Hello"
            assert account.usage.calls == 1

    def answer(server: Upstream) -> list[Step]:
        tries: list[list[Step]] = [[LOST], [chunk()], [*HELLO, *ENDED]]
        return tries[len(server.bodies) - 1]

    with upstream(answer) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 3


@pytest.mark.parametrize("cut", [False, True], ids=["an error event", "no end"])
def test_an_error_after_the_first_chunk_ends_the_stream(cut: bool) -> None:
    calls = CallStore()
    texts: list[str] = []

    async def work(server: Upstream) -> None:
        async with asking(server.url, calls=calls) as (asker, account):
            stream = await asker.chat.completions.create(model="m", messages=ASKED, stream=True)
            with pytest.raises(openai.APIError) as caught:
                async for event in stream:
                    texts.append(event.choices[0].delta.content or "")
                    server.read.set()
            assert not isinstance(caught.value, openai.APIStatusError | openai.APIConnectionError)
            why = "before its finish_reason" if cut else "out of memory"
            assert why in str(caught.value)
            assert "sk-live" not in str(caught.value)
            assert isinstance(account.ended, Unreachable)
            assert account.usage.calls == 0

    def answer(server: Upstream) -> list[Step]:
        return [*HELLO[:2], until_read(server), *([] if cut else [LOST])]

    with upstream(answer) as server:
        asyncio.run(work(server))
    assert "".join(texts) == "Hel"
    assert len(server.bodies) == 1, "what was said cannot be unsaid by another try"
    assert not calls.answered()
    assert calls.spend().calls == 1


@pytest.mark.parametrize("status", [200, 400, 422])
def test_a_server_that_does_not_stream_answers_as_a_whole(status: int) -> None:
    def answer(server: Upstream) -> Answer:
        streams = "stream" in server.bodies[-1] and status != 200
        return error(status, "stream_options: unknown") if streams else completion("Hello")

    async def work(server: Upstream) -> None:
        async with asking(server.url) as (asker, account):
            chunks = await streamed(asker)
            assert text_of(chunks) == "Hello"
            assert chunks[-1].usage.total_tokens == account.usage.tokens == 12

    with upstream(answer) as server:
        asyncio.run(work(server))
    assert len(server.bodies) == 1 + (status != 200)


def resolved_as(monkeypatch: pytest.MonkeyPatch, endpoint: Endpoint) -> None:
    def resolve(*_: Any) -> Endpoint:
        return endpoint

    monkeypatch.setattr(client, "resolve", resolve)


@pytest.mark.parametrize("streams", [True, False])
def test_a_back_end_of_this_process_streams_if_it_can(
    streams: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = asyncio.Event()
    calls, bodies = CallStore(), list[Body]()

    async def chunks() -> AsyncGenerator[Body]:
        for event in HELLO:
            yield event
        await go.wait()
        for event in ENDED:
            yield event

    async def backend(body: Body) -> Body | AsyncGenerator[Body]:
        bodies.append(body)
        if body.get("stream"):
            return chunks()
        return {**json.loads(completion("Hello")[2])}

    endpoint = Endpoint("local", "m", backend=backend, streams=streams)
    resolved_as(monkeypatch, endpoint)

    async def work() -> None:
        async with asking(None, calls=calls) as (asker, _):
            stream = await asker.chat.completions.create(model="m", messages=ASKED, stream=True)
            text = ""
            async for event in stream:
                text += event.choices[0].delta.content or ""
                if text == "Hello":
                    go.set()
        assert text == "Hello"

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))
    assert [bool(body.get("stream")) for body in bodies] == [streams]
    assert calls.answered()[0].response["choices"][0]["message"]["content"] == "Hello"


def test_a_back_end_that_refuses_in_the_middle_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def chunks() -> AsyncGenerator[Body]:
        yield HELLO[1]
        raise Refused(500, "the engine ended in the middle of an answer")

    async def backend(body: Body) -> AsyncGenerator[Body]:
        return chunks()

    endpoint = Endpoint("local", "m", backend=backend, streams=True)
    resolved_as(monkeypatch, endpoint)

    async def work() -> None:
        async with asking(None) as (asker, _):
            with pytest.raises(openai.APIError, match="in the middle"):
                await streamed(asker)

    asyncio.run(work())
