"""The request cache and the budget that all workers share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.core import LimitReached, Unreachable
from harness.fleet import CallService, Channel, SharedModelSpec, budget_terms, open_shared_model
from harness.fleet.relay import RelayedModel
from harness.models import Budget, CallStore, ChatModel, Model, Spend
from tests.models.http_server import Answer, Served, completion, error, serve

ASKED = [{"role": "user", "content": "once"}]


class Slow(Channel):
    """A connection on which what comes in can be held back, as a slow network does."""

    def __init__(self) -> None:
        super().__init__()
        self.holds, self.held = False, b""
        self.came = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.held += data
        self.came.set()
        if not self.holds:
            arrived, self.held = self.held, b""
            super().data_received(arrived)


@asynccontextmanager
async def workers(
    store: CallStore, budget: Budget, served: Served, count: int
) -> AsyncGenerator[list[tuple[Model, Slow]]]:
    """Models of so many workers of one driver, each over a connection of its own."""
    loop, service, ends = asyncio.get_running_loop(), CallService(store, budget), list[Channel]()

    def accepted() -> Channel:
        channel = Channel()
        channel.methods = service.methods(channel)
        ends.append(channel)
        return channel

    def changed() -> None:
        for end in ends:
            end.tell("budget", budget_terms(budget))

    server = await loop.create_server(accepted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    spec = SharedModelSpec(
        spec="openai/m", simulated=False, urls=served.url, concurrency=4,
        limited=budget.calls is not None, bounds_tokens=budget.bounds_tokens,
    )  # fmt: skip
    channels = [(await loop.create_connection(Slow, "127.0.0.1", port))[1] for _ in range(count)]
    models = list[ChatModel | RelayedModel]()
    for channel in channels:
        model, channel.methods = open_shared_model(channel, spec)
        models.append(model)
    budget.changed = changed
    try:
        yield list(zip(models, channels, strict=True))
    finally:
        for model in models:
            await model.aclose()
        for channel in channels:
            channel.close()
            await channel.closed
        server.close()
        await asyncio.sleep(0.05)


def answered(_: dict[str, Any]) -> Answer:
    return completion()


def with_workers(
    answer: Callable[[dict[str, Any]], Answer],
    count: int,
    script: Callable[[list[tuple[Model, Slow]], Served, CallStore], Awaitable[None]],
    budget: Budget | None = None,
    path: Path | None = None,
) -> Served:
    """Run a script with workers; what the server has seen."""

    async def main(served: Served) -> None:
        with CallStore(path) as store:
            async with workers(store, budget or Budget(), served, count) as found:
                await script(found, served, store)

    with serve(answer, delay_s=0.1) as served:
        asyncio.run(main(served))
    return served


def test_one_request_of_three_workers_is_sent_once_and_kept(tmp_path: Path) -> None:
    async def ask(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        replies = await asyncio.gather(*(model.complete(ASKED) for model, _ in found))
        later = await found[0][0].complete(ASKED)
        assert [reply.text for reply in (*replies, later)] == ["ok"] * 4
        assert sorted(reply.cached for reply in replies) == [False, True, True]
        assert later.cached
        assert store.usage().calls == 1

    path = tmp_path / "calls.sqlite"
    assert len(with_workers(answered, 3, ask, path=path).bodies) == 1

    # A later run of any executor finds it.
    async def again(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        assert (await found[0][0].complete(ASKED)).cached

    assert not with_workers(answered, 1, again, path=path).bodies


def test_when_the_one_who_asks_gives_up_the_next_one_asks() -> None:
    answers = iter([error(400, "not this time"), completion("at last")])

    async def ask(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        both = await asyncio.gather(
            *(model.complete(ASKED) for model, _ in found), return_exceptions=True
        )
        texts = [getattr(one, "text", str(one)) for one in both]
        assert "at last" in texts
        assert any("not this time" in text for text in texts)

    assert len(with_workers(lambda _body: next(answers), 2, ask).bodies) == 2


def test_when_the_one_who_asks_dies_the_next_one_asks() -> None:
    async def ask(found: list[tuple[Model, Slow]], served: Served, store: CallStore) -> None:
        (first, channel), (second, _) = found
        asked = asyncio.create_task(first.complete(ASKED))
        while not served.bodies:  # noqa: ASYNC110  # the server lives in a thread
            await asyncio.sleep(0.01)
        waits = asyncio.create_task(second.complete(ASKED))
        await asyncio.sleep(0.02)
        channel.close()
        assert (await waits).text == "ok"
        with pytest.raises((ConnectionError, Unreachable)):
            await asked
        # The answer that nobody could store is the only one that may have been paid twice.
        assert [call.repeated for call in store.in_flight()] == [True]

    assert len(with_workers(answered, 2, ask).bodies) == 2


def test_a_claim_that_is_granted_too_late_is_given_back() -> None:
    async def ask(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        (first, slow), (second, _there) = found
        slow.holds = True
        asked = asyncio.create_task(first.complete(ASKED))
        await slow.came.wait()
        asked.cancel()
        await asyncio.wait([asked])
        slow.holds = False
        slow.data_received(b"")
        async with asyncio.timeout(5):
            assert (await second.complete(ASKED)).text == "ok"

    assert len(with_workers(answered, 2, ask).bodies) == 1


def test_a_budget_is_one_budget() -> None:
    budget = Budget(calls=3)

    async def ask(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        asked = [
            model.complete([{"role": "user", "content": f"{number} {worker}"}])
            for number in range(4)
            for worker, (model, _) in enumerate(found)
        ]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in outcomes if isinstance(one, LimitReached)]
        assert len(refused) == 5
        assert "budget of 3 calls reached" in str(refused[0])

    assert len(with_workers(answered, 2, ask, budget).bodies) == 3


def test_a_budget_that_is_set_on_the_way_holds_and_counts_what_was_spent_before() -> None:
    budget = Budget()

    async def ask(found: list[tuple[Model, Slow]], _: Served, store: CallStore) -> None:
        model = found[0][0]
        await model.complete(ASKED)
        budget.change(calls=2)
        await asyncio.sleep(0.05)
        assert budget.spent.calls == 1
        await model.complete([{"role": "user", "content": "again"}])
        with pytest.raises(LimitReached, match="budget of 2 calls reached: 2 spent"):
            await model.complete([{"role": "user", "content": "too much"}])

    assert len(with_workers(answered, 2, ask, budget).bodies) == 2


def test_what_a_dead_worker_had_reserved_counts_as_spent() -> None:
    budget = Budget(calls=3)

    async def ask(found: list[tuple[Model, Slow]], served: Served, store: CallStore) -> None:
        (model, channel), _ = found
        asked = asyncio.create_task(model.complete(ASKED))
        while not served.bodies:  # noqa: ASYNC110  # the server lives in a thread
            await asyncio.sleep(0.01)
        channel.close()
        await asyncio.wait([asked])
        await asyncio.sleep(0.05)
        assert budget.spent.calls == 1
        assert isinstance(asked.exception(), ConnectionError)
        (await budget.reserve(Spend(calls=2))).release()

    with_workers(answered, 2, ask, budget)
