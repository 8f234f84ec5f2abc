"""Requests in flight: as many as were asked for, fewer where the server does not bear them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from harness.models import Body, Endpoint, ModelSpec, client, open_model
from harness.models.concurrency import Slots
from tests.models.http_server import Answer, Served, completion, error, serve


class Narrow:
    """A server that takes `room` requests at a time and turns the others down."""

    def __init__(self, room: int, seconds: float) -> None:
        self.room, self.seconds = room, seconds
        self.refused = 0
        self._ends: list[float] = []
        self._lock = threading.Lock()

    def answer(self, _body: dict[str, Any]) -> Answer:
        with self._lock:
            now = time.monotonic()
            self._ends = [end for end in self._ends if end > now]
            if len(self._ends) >= self.room:
                self.refused += 1
                return error(429, "too many requests", retry_after_ms="20")
            self._ends.append(now + self.seconds)
        return completion("4")


def asked(served: Served, requests: int, concurrency: int) -> None:
    async def run() -> None:
        model = open_model("openai/x", base_url=served.url, concurrency=concurrency)
        try:
            await asyncio.gather(
                *(model.complete([{"role": "user", "content": str(n)}]) for n in range(requests))
            )
        finally:
            await model.aclose()

    asyncio.run(run())


def test_a_server_that_takes_four_is_not_asked_by_thirty_two_for_long() -> None:
    server = Narrow(room=4, seconds=0.05)
    with serve(server.answer, delay_s=0.05) as served:
        asked(served, requests=160, concurrency=32)
    assert len(served.bodies) == 160 + server.refused
    # At 32 in flight 28 of every 32 would be turned down: 1,120 refusals for 160 answers.
    assert 0 < server.refused < 160


def test_a_server_that_bears_it_gets_what_was_asked_for() -> None:
    most, now, lock = 0, 0, threading.Lock()

    def answer(_body: dict[str, Any]) -> Answer:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        asyncio.get_running_loop().call_later(0.1, done)
        return completion("4")

    def done() -> None:
        nonlocal now
        with lock:
            now -= 1

    with serve(answer, delay_s=0.1) as served:
        asked(served, requests=48, concurrency=12)
    assert most == 12


async def _holding(slots: Slots, free: asyncio.Event, seen: Callable[[], None]) -> None:
    async with slots:
        seen()
        await free.wait()


def test_refusals_of_one_round_cut_once_and_answers_open_again() -> None:
    async def run() -> None:
        slots = Slots(16)
        sent = time.monotonic()
        for _ in range(16):
            slots.refused(sent)
        assert slots.limit == 8
        slots.refused(time.monotonic())
        assert slots.limit == 4
        free, holders = asyncio.Event(), 0

        def seen() -> None:
            nonlocal holders
            holders += 1

        tasks = [asyncio.create_task(_holding(slots, free, seen)) for _ in range(6)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (holders, slots.locked()) == (4, True)
        for _ in range(5):
            slots.answered()
        await asyncio.sleep(0)
        assert (slots.limit, holders) == (5, 5)
        free.set()
        await asyncio.gather(*tasks)
        assert not slots.locked()
        slots.answered()  # slots were free: the limit does not hold anyone back
        assert slots.limit == 5

    asyncio.run(run())


def test_an_engine_gets_no_more_calls_than_it_has_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked for: the others wait here, where the clock of an attempt stands."""
    now = most = 0

    async def answer(body: Body) -> Body:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.01)
        now -= 1
        message = {"role": "assistant", "content": "4"}
        return {"model": "x", "choices": [{"message": message, "finish_reason": "stop"}]}

    def resolved(spec: ModelSpec, base_url: str | None) -> Endpoint:
        return Endpoint("local", spec.name, backend=answer, slots=2)

    monkeypatch.setattr(client, "resolve", resolved)

    async def ask() -> None:
        model = open_model("openai/x", concurrency=16)
        calls = (model.complete([{"role": "user", "content": str(n)}]) for n in range(8))
        await asyncio.gather(*calls)
        model.resize(8)
        more = (model.complete([{"role": "user", "content": f"more {n}"}]) for n in range(8))
        await asyncio.gather(*more)

    asyncio.run(ask())
    assert most == 2


@pytest.mark.parametrize("granted", [False, True])
def test_a_waiter_that_is_cancelled_takes_no_slot_with_it(granted: bool) -> None:
    async def run() -> None:
        slots = Slots(1)
        free = asyncio.Event()
        await slots.__aenter__()
        second = asyncio.create_task(_holding(slots, free, lambda: None))
        await asyncio.sleep(0)
        if granted:  # its turn comes in the same moment as its end
            await slots.__aexit__(None, None, None)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        if not granted:
            await slots.__aexit__(None, None, None)
        async with slots:
            assert slots.locked()
        assert not slots.locked()

    asyncio.run(asyncio.wait_for(run(), 5))
