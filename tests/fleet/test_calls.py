"""Workers ask the driver's model: they share its request cache and its budget, and report."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from harness.agents import open_agent
from harness.core import BadInput, LimitReached, Unreachable, tracing
from harness.core.tracing import Operation, Watcher
from harness.evals import EvalPlan, EvalSettings, LoadedSuite, RemoteRun, Suite
from harness.fleet.calls import (
    UNDERWAY,
    CallServer,
    RemoteModel,
    ToolCalls,
    Underway,
    Warnings,
    open_calls,
    trace_tool,
)
from harness.models import (
    Budget,
    CallStore,
    Endpoint,
    LiveLimits,
    SampleLimits,
    Sampling,
    open_model,
)
from tests.models.http_server import Served, completion, serve

ASKED = [{"role": "user", "content": "once"}]


class Driver:
    """A driver with its model, and workers that ask it."""

    def __init__(self, server: CallServer, run: RemoteRun) -> None:
        self.server, self.run, self.clients = server, run, list[openai.AsyncOpenAI]()

    def worker(self) -> RemoteModel:
        """A worker's model, with a connection of its own."""
        model, client = self.run.model, self.server.endpoint.client(9)
        self.clients.append(client)
        return RemoteModel(client, model.spec, model.simulated, False, None)


@asynccontextmanager
async def driver(
    spec: str = "openai/m",
    url: str | None = None,
    budget: Budget | None = None,
    path: Path | None = None,
) -> AsyncGenerator[Driver]:
    suite = LoadedSuite(
        suite=Suite(name="s", tasks="t.jsonl"), split=None, tasks=(), base=Path(), root=Path()
    )
    settings = EvalSettings(suite="s")
    with CallStore(path) as store:
        model = open_model(spec, base_url=url, calls=store, budget=budget)
        plan = EvalPlan(suite=suite, agent=open_agent("graph:react", base=Path(), trusted=True))
        run = RemoteRun(plan, Path("run"), model, settings, Path(), True)
        async with open_calls(run, "127.0.0.1") as server:
            team = Driver(server, run)
            yield team
            for client in team.clients:
                await client.close()
        await model.aclose()


async def within(number: int, work: Awaitable[Any]) -> Any:
    """Wait for some work as an attempt of a worker."""

    async def main() -> Any:
        UNDERWAY.set(Underway(number, LiveLimits(SampleLimits())))
        return await work

    return await asyncio.create_task(main(), context=contextvars.Context())


def with_driver(
    script: Callable[[Driver, Served], Awaitable[None]],
    budget: Budget | None = None,
    path: Path | None = None,
) -> Served:
    """Run a script with a driver; what the endpoint has seen."""

    async def main(served: Served) -> None:
        async with driver(url=served.url, budget=budget, path=path) as team:
            await script(team, served)

    with serve(lambda _: completion(), delay_s=0.1) as served:
        asyncio.run(main(served))
    return served


def test_one_request_of_three_workers_is_sent_once_and_kept(tmp_path: Path) -> None:
    async def ask(team: Driver, _: Served) -> None:
        with team.server.attempt() as number:
            asked = [within(number, team.worker().complete(ASKED)) for _ in range(3)]
            replies = await asyncio.gather(*asked)
            later = await within(number, team.worker().complete(ASKED))
        assert [reply.text for reply in (*replies, later)] == ["ok"] * 4
        assert sorted(reply.cached for reply in replies) == [False, True, True]
        assert later.cached

    path = tmp_path / "calls.sqlite"
    assert len(with_driver(ask, path=path).bodies) == 1

    async def again(team: Driver, _: Served) -> None:  # as a later run of any executor
        with team.server.attempt() as number:
            assert (await within(number, team.worker().complete(ASKED))).cached

    assert not with_driver(again, path=path).bodies


def test_the_calls_of_an_attempt_that_is_over_are_cancelled_and_count_as_spent() -> None:
    budget = Budget(calls=3)

    async def ask(team: Driver, served: Served) -> None:
        with team.server.attempt() as number:
            asked = asyncio.create_task(within(number, team.worker().complete(ASKED)))
            while not served.bodies:  # noqa: ASYNC110  # the server lives in a thread
                await asyncio.sleep(0.01)
        with pytest.raises(Unreachable, match="the attempt is over"):
            await asked
        assert budget.spent.calls == 1
        with pytest.raises(Unreachable, match="the attempt is over"):
            await within(number, team.worker().complete(ASKED))

    assert len(with_driver(ask, budget).bodies) == 1


def test_a_budget_is_one_budget() -> None:
    budget = Budget(calls=3)

    async def ask(team: Driver, _: Served) -> None:
        with team.server.attempt() as number:
            workers = [team.worker() for _ in range(2)]
            asked = [
                within(number, model.complete([{"role": "user", "content": f"{turn} {worker}"}]))
                for turn in range(4)
                for worker, model in enumerate(workers)
            ]
            outcomes = await asyncio.gather(*asked, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, LimitReached)]
        assert len(refused) == 5
        assert "budget of 3 calls reached" in str(refused[0])

    assert len(with_driver(ask, budget).bodies) == 3


def test_a_worker_learns_the_limits_that_hold_with_every_answer() -> None:
    async def ask(team: Driver, _: Served) -> None:
        under = Underway(0, LiveLimits(SampleLimits()))

        async def attempt(number: int) -> None:
            under.number = number
            UNDERWAY.set(under)
            await team.worker().complete(ASKED)

        with team.server.attempt() as number:
            team.server.limits.now = SampleLimits(tokens=7)
            await attempt(number)
        assert under.limits.now.tokens == 7

    with_driver(ask)


def test_a_stranger_gets_no_answer() -> None:
    async def ask(team: Driver, _: Served) -> None:
        async with httpx.AsyncClient() as client:
            for key in ("", "Bearer 0", f"Bearer {team.server.endpoint.key[:-1]}", "Bearer \xe9"):
                headers = {b"authorization": key.encode("latin-1")}
                answer = await client.post(f"{team.server.endpoint.url}/calls", headers=headers)
                assert answer.status_code == 401
        with team.server.attempt() as number:
            worker = team.worker()
            team.server.endpoint = Endpoint("vllm", "driver", key="another")
            with pytest.raises(Unreachable, match="the driver does not answer its worker"):
                await within(number, worker.complete(ASKED))

    assert not with_driver(ask).bodies


def test_a_simulated_model_answers_workers_as_it_answers_the_driver() -> None:
    messages = [{"role": "user", "content": "What is the total? \u00e9"}]

    async def main() -> None:
        async with driver("simulated/ledger", budget=Budget(calls=1)) as team:
            with team.server.attempt() as number:
                worker = team.worker()
                assert worker.simulated
                asked = worker.complete(messages, sampling=Sampling(seed=3))
                there = await within(number, asked)
                here = await team.run.model.complete(messages, sampling=Sampling(seed=3))
                assert here == there.model_copy(update={"cached": True})
                with pytest.raises(LimitReached, match="budget of 1 calls"):
                    await within(number, worker.complete(messages, sampling=Sampling(seed=4)))

    asyncio.run(main())


class Heard(Watcher):
    """Keeps what it is told; looks at what was said."""

    content = True

    def __init__(self) -> None:
        self.events: list[str] = []
        self.operations: list[Operation] = []

    def began(self, operation: Operation) -> None:
        self.events.append(f"+{operation.name}")
        self.operations.append(operation)

    def ended(self, operation: Operation) -> None:
        error = f" {type(operation.error).__name__}" if operation.error else ""
        self.events.append(f"-{operation.name}{error}")


def row(name: str, **more: Any) -> dict[str, Any]:
    """A tool call as a worker reports it."""
    common: dict[str, Any] = {"facts": {}, "content": {}, "error": None, "seconds": 2.5}
    return {"name": name, **common, "began": time.time_ns(), "ended": time.time_ns(), **more}


def test_tool_calls_stand_within_their_attempt() -> None:
    heard, started_ns = Heard(), time.time_ns()
    trace_tool(row("nobody watches"), started_ns)
    with tracing.watching(heard), tracing.operation("invoke_agent", "a"):
        error = "test_x.<locals>.OddError"
        trace_tool(row("python", facts={"x": 1}, error=error, began=7), started_ns)
        trace_tool(row("bash", content={"result": "4"}), started_ns)
    assert heard.events == ["+a", "+python", "-python OddError", "+bash", "-bash", "-a"]
    attempt, python, bash = heard.operations
    assert [call.parent for call in (python, bash)] == [attempt, attempt]
    assert (python.seconds, python.attributes) == (2.5, {"x": 1})
    assert type(python.error).__qualname__ == "test_x.<locals>.OddError"
    assert bash.content == {"result": "4"}
    # A clock that is wrong moves nothing out of the attempt.
    assert python.began_ns == started_ns
    assert python.ended_ns is not None and python.ended_ns <= time.time_ns()


@pytest.mark.parametrize("content", [False, True])
def test_a_worker_reports_its_tool_calls_without_what_was_said_unless_wanted(content: bool) -> None:
    under = Underway(1, LiveLimits(SampleLimits()))

    def work() -> None:
        UNDERWAY.set(under)
        with tracing.watching(ToolCalls(content=content)), tracing.operation("invoke_agent", "a"):
            using = tracing.operation("execute_tool", "python", call_id="c")
            with pytest.raises(BadInput), using as tool:
                tool.say(result="secret")
                raise BadInput("secret")

    contextvars.copy_context().run(work)
    ((call),) = [report["value"] for report in under.take_reports()]
    assert (call["name"], call["facts"], call["error"]) == ("python", {"call_id": "c"}, "BadInput")
    assert call["content"] == ({"result": "secret"} if content else {})
    assert under.take_reports() == []


def test_calls_and_reports_of_a_worker_stand_within_its_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard, warnings = Heard(), Warnings(logging.WARNING)

    async def ask(team: Driver, _: Served) -> None:
        with tracing.operation("invoke_agent", "a"), team.server.attempt() as number:
            under = Underway(number, LiveLimits(SampleLimits()))
            under.report("tool", row("python"))

            async def attempt() -> None:
                UNDERWAY.set(under)
                record = logging.LogRecord("harness.x", 30, "", 1, "mind %s", ("it",), None)
                await asyncio.to_thread(warnings.emit, record)
                await team.worker().complete(ASKED)

            await asyncio.create_task(attempt(), context=contextvars.Context())

    with tracing.watching(heard):
        with_driver(ask)
    assert heard.events == ["+a", "+python", "-python", "+m", "-m", "-a"]
    attempt, tool, call = heard.operations
    assert (tool.parent, call.parent) == (attempt, attempt)
    assert [(seen.name, seen.getMessage()) for seen in caplog.records] == [("harness.x", "mind it")]
