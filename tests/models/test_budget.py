"""Hard budgets at 128 concurrent calls, measured by a real server."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from harness.core import BadInput, LimitReached, Unreachable
from harness.models import (
    PRICES_VARIABLE,
    Budget,
    CallStore,
    Sampling,
    Spend,
    open_model,
    transport,
)
from tests.models.http_server import Answer, completion, error, serve

WIDTH = 128
INPUT, OUTPUT = 3.0, 15.0  # dollars per million tokens


class CountingServer:
    """Counts what it charges: a prompt token for every four bytes, random completions, and it
    charges for some of the calls that it then fails."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens = 0
        self.usd = 0.0
        self._random = random.Random(7)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.calls += 1
        dice = self._random.random()
        if dice < 0.05:
            return error(429)
        prompt = sum(len(message["content"].encode()) for message in body["messages"]) // 4 + 8
        written = self._random.randint(1, body["max_tokens"])
        self.tokens += prompt + written
        self.usd += (prompt * INPUT + written * OUTPUT) / 1e6
        if dice < 0.1:
            return error(500)
        if dice < 0.15:
            return 200, {"Content-Length": "9999"}, b"{"
        return completion("x", prompt, written)


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A price for the model, quick retries."""
    table = tmp_path / "prices.json"
    prices = {"openai/m": {"input": INPUT, "output": OUTPUT}}
    table.write_text(json.dumps({"models": prices}))
    monkeypatch.setenv(PRICES_VARIABLE, str(table))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr(transport, "BASE_S", 0.01)


def flood(url: str, budget: Budget, calls: CallStore | None = None) -> list[Any]:
    """256 different calls, 128 at one time."""

    async def run() -> list[Any]:
        sampling = Sampling(max_tokens=50)
        model = open_model(
            "openai/m",
            base_url=url,
            budget=budget,
            calls=calls,
            sampling=sampling,
            concurrency=WIDTH,
        )
        prompts = [f"question {number} " + "é" * (number % 40) for number in range(2 * WIDTH)]
        calls_made = [model.complete([{"role": "user", "content": text}]) for text in prompts]
        found = await asyncio.gather(*calls_made, return_exceptions=True)
        await model.aclose()
        return found

    return asyncio.run(run())


@pytest.mark.parametrize(
    "budget",
    [Budget(calls=100), Budget(tokens=20_000), Budget(usd=0.08), Budget(0.1, 30_000, 150)],
    ids=["calls", "tokens", "usd", "all"],
)
def test_the_server_never_sees_more_than_the_budget(budget: Budget, tmp_path: Path) -> None:
    counting = CountingServer()
    with serve(counting, delay_s=0.02) as server, CallStore(tmp_path / "calls.sqlite") as calls:
        found = flood(server.url, budget, calls)
        recorded = calls.spend()
    assert counting.calls <= (budget.calls or 10**9)
    assert counting.tokens <= (budget.tokens or 10**9)
    assert counting.usd <= (budget.usd or 1e9)
    assert recorded.calls == budget.spent.calls == counting.calls
    assert recorded.tokens == budget.spent.tokens >= counting.tokens
    problems = [item for item in found if isinstance(item, BaseException)]
    limits = [item for item in problems if isinstance(item, LimitReached)]
    assert limits, "a budget that stops nothing proves nothing"
    assert all(isinstance(item, LimitReached | Unreachable) for item in problems)
    assert len(found) - len(problems) >= 10, "a budget must leave room for what it can hold"


def test_what_a_run_spent_before_counts_when_it_is_resumed(tmp_path: Path) -> None:
    with serve(lambda _: completion()) as server:
        for _ in range(2):
            with CallStore(tmp_path / "calls.sqlite") as calls:
                flood(server.url, Budget(calls=30), calls)
    assert len(server.bodies) == 30


def test_a_default_bound_is_sent_and_said(caplog: pytest.LogCaptureFixture) -> None:
    async def run(url: str) -> None:
        model = open_model("openai/m", base_url=url, budget=Budget(tokens=100_000))
        for number in range(2):
            await model.complete([{"role": "user", "content": str(number)}])
        await model.aclose()

    with serve(lambda _: completion()) as server:
        asyncio.run(run(server.url))
    assert [body["max_tokens"] for body in server.bodies] == [4096, 4096]
    assert [record.message for record in caplog.records if "max_tokens=4096" in record.message] == [
        "openai/m: a budget needs a bound on each reply; max_tokens=4096 is sent (set max_tokens "
        "to choose another)"
    ]


def test_a_money_budget_needs_a_price() -> None:
    with pytest.raises(BadInput, match=r"price is unknown.*HARNESS_PRICES"):
        open_model("vllm/m", budget=Budget(usd=1.0))


def test_a_call_waits_for_room_that_calls_in_flight_give_back() -> None:
    async def run() -> list[str]:
        budget = Budget(tokens=100)
        order: list[str] = []
        first = await budget.reserve(Spend(0, 80, 1))

        async def second() -> None:
            await budget.reserve(Spend(0, 60, 1))
            order.append("second reserved")

        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.01)
        order.append("first settled")
        first.settle(Spend(0, 40, 1))
        await waiting
        return order

    assert asyncio.run(run()) == ["first settled", "second reserved"]
