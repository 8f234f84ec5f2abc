"""Working time stands still while an attempt waits for the endpoint."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from harness.core import Usage
from harness.core.tracing import operation, watching
from harness.models import (
    LimitedModel,
    LiveLimits,
    Message,
    Reply,
    SampleLimitReached,
    SampleLimits,
    open_gateway,
    open_model,
)
from harness.models.concurrency import Slots, waiting
from tests.models.http_server import Answer, completion, error, serve
from tests.models.watcher import Seen

ASKED: list[Message] = [{"role": "user", "content": "hi"}]


class Scripted:
    """Answers after waiting and working for given times."""

    spec, simulated, constrains = "simulated/scripted", True, False

    def __init__(self, waits: float, works: float) -> None:
        self._waits, self._works = waits, works

    async def complete(self, messages: list[Message], **_: object) -> Reply:
        with waiting():
            await asyncio.sleep(self._waits)
        await asyncio.sleep(self._works)
        return replied(messages)


def replied(messages: list[Message]) -> Reply:
    text = str(messages[0]["content"])
    return Reply(text=text, call_id="x", finish_reason="stop", model="m", usage=Usage(calls=1))


async def asked(model: LimitedModel, times: int = 1) -> None:
    for _ in range(times):
        await model.complete(ASKED)


def test_waiting_is_no_work() -> None:
    model = LimitedModel(Scripted(0.3, 0.02), SampleLimits(working=0.25))
    asyncio.run(asked(model, 3))
    assert 0.06 <= model.worked_s < 0.25
    unlimited = LimitedModel(Scripted(0.3, 0.02), SampleLimits())
    asyncio.run(asked(unlimited, 3))
    assert 0.06 <= unlimited.worked_s < 0.3, "known without a limit, too"
    hard = LimitedModel(Scripted(0.3, 0.02), SampleLimits(seconds=0.25))
    with pytest.raises(SampleLimitReached, match=r"0.25 seconds after 0 calls"):
        asyncio.run(asked(hard))


def test_work_is_cut_off_in_the_middle_of_a_call() -> None:
    model = LimitedModel(Scripted(0.1, 5), SampleLimits(working=0.2))
    began = time.monotonic()
    with pytest.raises(SampleLimitReached, match=r"0.2 seconds of work after 0 calls \(--working-"):
        asyncio.run(asked(model))
    assert 0.25 < time.monotonic() - began < 3


def test_what_the_agent_does_between_calls_is_work() -> None:
    async def works() -> None:
        model = LimitedModel(Scripted(0, 0), SampleLimits(working=0.2))
        await asked(model)
        await asyncio.sleep(0.25)
        await asked(model)

    with pytest.raises(SampleLimitReached, match="after 1 calls"):
        asyncio.run(works())


def test_the_limit_may_be_raised_while_the_attempt_goes_on() -> None:
    async def works() -> None:
        limits = LiveLimits(SampleLimits(working=0.1))
        model = LimitedModel(Scripted(0, 0.05), limits)
        await asked(model)
        limits.now = SampleLimits(working=5)
        await asked(model, 3)
        limits.now = SampleLimits(tokens=10, working=0.1)
        await asked(model)

    with pytest.raises(SampleLimitReached, match=r"0.1 seconds of work after 4 calls"):
        asyncio.run(works())


def test_another_try_is_waited_for() -> None:
    """A server that is busy asks for a second, which is more than there is to work."""
    seen: list[object] = []

    def answer(body: dict[str, object]) -> Answer:
        seen.append(body)
        return error(429, **{"retry-after": "1"}) if len(seen) == 2 else completion("4")

    async def calls(url: str) -> None:
        model = open_model("openai/x", base_url=url)
        try:
            await model.complete([{"role": "user", "content": "what is loaded at first"}])
            await LimitedModel(model, SampleLimits(working=0.9)).complete(ASKED)
        finally:
            await model.aclose()

    with serve(answer) as served:
        began = time.monotonic()
        asyncio.run(calls(served.url))
        assert time.monotonic() - began > 0.9
    assert len(seen) == 3


class Told(Scripted):
    """Says that it was asked, as a client does."""

    async def complete(self, messages: list[Message], **options: object) -> Reply:
        with operation("chat", str(messages[0]["content"])):
            return await super().complete(messages, **options)


def test_calls_of_a_program_that_overlap_each_stand_within_its_attempt() -> None:
    async def posted(url: str, key: str, text: str, after: float) -> None:
        await asyncio.sleep(after)
        body = {"messages": [{"role": "user", "content": text}]}
        async with httpx.AsyncClient(trust_env=False) as client:
            headers = {"Authorization": f"Bearer {key}"}
            answer = await client.post(f"{url}/chat/completions", json=body, headers=headers)
        assert answer.status_code == 200

    async def attempt() -> int:
        async with open_gateway(Told(0.2, 0)) as gateway:
            with operation("invoke_agent", "program"):
                key, _ = gateway.open_account()
            await asyncio.gather(
                *(posted(f"{gateway.origin}/v1", key, x, y) for x, y in (("a", 0), ("b", 0.1)))
            )
            await posted(f"{gateway.origin}/v1", key, "c", 0)
            return len(gateway.close_account(key).exchanges)

    seen = Seen()
    with watching(seen):
        assert asyncio.run(attempt()) == 3
    within = {one.name: one.parent and one.parent.name for one in seen.operations}
    assert within == {"program": None, "a": "program", "b": "program", "c": "program"}


@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_an_attempt_that_is_over_are_cancelled(stream: bool) -> None:
    """They would fill the slots of those that come after it, and hold up the end of the run."""

    class Hanging(Scripted):
        async def complete(self, messages: list[Message], **_: object) -> Reply:
            asked.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return replied(messages)

    asked, cancelled = asyncio.Event(), asyncio.Event()

    async def attempt() -> int:
        async with (
            open_gateway(Hanging(0, 0)) as gateway,
            httpx.AsyncClient(trust_env=False, timeout=60) as client,
        ):
            key, _ = gateway.open_account()
            posted = asyncio.create_task(
                client.post(
                    f"{gateway.origin}/v1/chat/completions",
                    json={"messages": ASKED, "stream": stream},
                    headers={"Authorization": f"Bearer {key}"},
                )
            )
            await asked.wait()
            gateway.close_account(key)
            await asyncio.wait_for(cancelled.wait(), 60)
            return (await posted).status_code

    assert asyncio.run(attempt()) == 499


def test_waiting_for_a_slot_stops_the_clock() -> None:
    async def works() -> None:
        slots = Slots(1)

        class Slotted(Scripted):
            async def complete(self, messages: list[Message], **_: object) -> Reply:
                async with slots:
                    await asyncio.sleep(0.15)
                    return replied(messages)

        models = [LimitedModel(Slotted(0, 0), SampleLimits(working=0.4)) for _ in range(4)]
        await asyncio.gather(*map(asked, models))

    asyncio.run(works())
