"""Workers ask the driver's model: they share its request cache and its budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import pytest

from harness.core import LimitReached, Unreachable
from harness.fleet import Channel
from harness.fleet.attempts import RemoteModel, answer_calls
from harness.models import Budget, CallStore, Model, Sampling, Spend, open_model
from tests.models.http_server import Answer, Served, completion, serve

ASKED = [{"role": "user", "content": "once"}]


class Slow(asyncio.StreamReader):
    """Reads a connection on which what comes in can be held back, as by a slow network."""

    def __init__(self) -> None:
        super().__init__()
        self.holds, self.held = False, b""
        self.came = asyncio.Event()

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self.held += bytes(data)
        self.came.set()
        if not self.holds:
            arrived, self.held = self.held, b""
            super().feed_data(arrived)


async def dial(reader: asyncio.StreamReader, port: int) -> Channel:
    """A connection that this reader reads."""
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.create_connection(lambda: protocol, "127.0.0.1", port)
    return Channel(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


class Worker(NamedTuple):
    """One end of a worker, and what it reads."""

    model: Model
    channel: Channel
    slow: Slow


@asynccontextmanager
async def workers(
    store: CallStore, budget: Budget, served: Served, count: int
) -> AsyncGenerator[list[Worker]]:
    """Models of so many workers of one driver, each over a connection of its own."""
    shared = open_model("openai/m", base_url=served.url, calls=store, budget=budget)

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        Channel(reader, writer, {"complete": answer_calls(shared, {})})

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    readers = [Slow() for _ in range(count)]
    channels = [await dial(reader, port) for reader in readers]
    try:
        yield [
            Worker(RemoteModel(channel, shared.spec, False), channel, reader)
            for channel, reader in zip(channels, readers, strict=True)
        ]
    finally:
        for channel in channels:
            channel.close()
            await channel.closed
        server.close()
        await asyncio.sleep(0.05)
        await shared.aclose()


def answered(_: dict[str, Any]) -> Answer:
    return completion()


def with_workers(
    answer: Callable[[dict[str, Any]], Answer],
    count: int,
    script: Callable[[list[Worker], Served, CallStore], Awaitable[None]],
    budget: Budget | None = None,
    path: Path | None = None,
) -> Served:
    """Run a script with workers; what the server has seen."""

    async def main(served: Served) -> None:
        with CallStore(path) as store:
            async with workers(store, budget or Budget(), served, count) as team:
                await script(team, served, store)

    with serve(answer, delay_s=0.1) as served:
        asyncio.run(main(served))
    return served


def test_one_request_of_three_workers_is_sent_once_and_kept(tmp_path: Path) -> None:
    async def ask(team: list[Worker], _: Served, store: CallStore) -> None:
        replies = await asyncio.gather(*(model.complete(ASKED) for model, *_ in team))
        later = await team[0].model.complete(ASKED)
        assert [reply.text for reply in (*replies, later)] == ["ok"] * 4
        assert sorted(reply.cached for reply in replies) == [False, True, True]
        assert later.cached
        assert store.usage().calls == 1

    path = tmp_path / "calls.sqlite"
    assert len(with_workers(answered, 3, ask, path=path).bodies) == 1

    # A later run of any executor finds it.
    async def again(team: list[Worker], _: Served, store: CallStore) -> None:
        assert (await team[0].model.complete(ASKED)).cached

    assert not with_workers(answered, 1, again, path=path).bodies


def test_when_the_one_who_asks_gives_up_the_next_one_asks() -> None:
    async def ask(team: list[Worker], served: Served, store: CallStore) -> None:
        first, second = (worker.model for worker in team)
        asked = asyncio.create_task(first.complete(ASKED))
        while not served.bodies:  # noqa: ASYNC110  # the server lives in a thread
            await asyncio.sleep(0.01)
        waits = asyncio.create_task(second.complete(ASKED))
        await asyncio.sleep(0.02)
        asked.cancel()
        assert (await waits).text == "ok"

    assert len(with_workers(answered, 2, ask).bodies) == 2


def test_when_the_one_who_asks_dies_the_next_one_asks() -> None:
    async def ask(team: list[Worker], served: Served, store: CallStore) -> None:
        (first, channel, _), (second, *_) = team
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
    async def ask(team: list[Worker], _: Served, store: CallStore) -> None:
        first, slow, second = team[0].model, team[0].slow, team[1].model
        slow.holds = True
        asked = asyncio.create_task(first.complete(ASKED))
        await slow.came.wait()
        asked.cancel()
        await asyncio.wait([asked])
        slow.holds = False
        slow.feed_data(b"")
        async with asyncio.timeout(5):
            assert (await second.complete(ASKED)).text == "ok"

    assert len(with_workers(answered, 2, ask).bodies) == 1


def test_a_budget_is_one_budget() -> None:
    budget = Budget(calls=3)

    async def ask(team: list[Worker], _: Served, store: CallStore) -> None:
        asked = [
            model.complete([{"role": "user", "content": f"{number} {worker}"}])
            for number in range(4)
            for worker, (model, *_) in enumerate(team)
        ]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        refused = [one for one in outcomes if isinstance(one, LimitReached)]
        assert len(refused) == 5
        assert "budget of 3 calls reached" in str(refused[0])

    assert len(with_workers(answered, 2, ask, budget).bodies) == 3


def test_a_budget_that_is_set_on_the_way_holds_and_counts_what_was_spent_before() -> None:
    budget = Budget()

    async def ask(team: list[Worker], _: Served, store: CallStore) -> None:
        model = team[0].model
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

    async def ask(team: list[Worker], served: Served, store: CallStore) -> None:
        (model, channel, _), _ = team
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


def test_a_simulated_model_answers_workers_as_it_answers_the_driver() -> None:
    asked = [{"role": "user", "content": "What is the total?"}]

    async def main() -> None:
        budget = Budget(calls=1)
        with CallStore() as store:
            model = open_model("simulated/ledger", calls=store, budget=budget)

            def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                Channel(reader, writer, {"complete": answer_calls(model, {})})

            server = await asyncio.start_server(accepted, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            channel = await dial(asyncio.StreamReader(), port)
            worker = RemoteModel(channel, model.spec, model.simulated)
            assert worker.simulated
            there = await worker.complete(asked, sampling=Sampling(seed=3))
            here = await model.complete(asked, sampling=Sampling(seed=3))
            assert here == there.model_copy(update={"cached": True})
            with pytest.raises(LimitReached, match="budget of 1 calls"):
                await worker.complete(asked, sampling=Sampling(seed=4))
            channel.close()
            await channel.closed
            server.close()
            await model.aclose()

    asyncio.run(main())
