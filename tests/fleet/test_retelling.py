"""What a worker tells, and what those who watch the driver hear of it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from typing import Any

import pytest

from harness.core import BadInput, tracing
from harness.core.tracing import Operation, Watcher
from harness.fleet import Channel, Retelling, part, relay_service, telling
from harness.fleet.relay import RelayedModel
from harness.models import CallStore, ChatModel, open_model
from tests.fleet.test_channel import connected

SAID = {"content": "What is the total?"}


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

    def noted(self, name: str, operation: Operation | None, facts: dict[str, Any]) -> None:
        self.events.append(f"!{name} in {operation.name if operation else 'nothing'}")


def told(number: int, name: str, **more: Any) -> dict[str, Any]:
    """How a worker tells that a call has begun."""
    where = {"part": 1, "within": None}
    common: dict[str, Any] = {"kind": "chat", "facts": {}, "at": time.time_ns(), **where}
    return {"number": number, "name": name, **common, **more}


def ended(number: int, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"facts": {}, "content": {}, "error": None}
    common = {**told, "seconds": 2.5, "at": time.time_ns()}
    return {"number": number, **common, **more}


def test_operations_stand_where_they_were_handed_out_and_those_of_the_dead_fail() -> None:
    heard = Heard()

    async def main() -> None:
        async with connected({}, {}) as (driver, worker):
            retelling = Retelling(wanted=True)
            driver.methods = retelling.of(driver).methods()
            with tracing.operation("invoke_agent", "a"), retelling.part() as number:
                assert number is not None
                worker.tell("began", told(1, "tool", part=number, at=7))
                worker.tell("began", told(2, "call", part=number, within=1))
                worker.tell("noted", {"name": "retry", "facts": {}, "part": number, "within": 2})
                worker.tell("ended", ended(2, facts={"x": 1}, error="test_x.<locals>.OddError"))
                worker.tell("began", told(3, "last", part=number))
                worker.tell("began", told(4, "nobody's", part=number + 1))
                worker.tell("ended", ended(4))
                await asyncio.sleep(0.05)
                worker.close()
                await driver.closed
                await asyncio.sleep(0)

    with tracing.watching(heard):
        asyncio.run(main())
    assert heard.events == [
        "+a", "+tool", "+call", "!retry in call", "-call OddError", "+last", "-last Gone",
        "-tool Gone", "-a",
    ]  # fmt: skip
    attempt, tool, call, last = heard.operations
    assert [one.parent for one in (tool, call, last)] == [attempt, tool, attempt]
    assert (call.seconds, call.facts) == (2.5, {"x": 1})
    assert type(call.error).__qualname__ == "test_x.<locals>.OddError"
    # A clock that is wrong moves nothing out of what it is part of.
    assert tool.began_ns is not None and time.time_ns() - tool.began_ns < 60e9


def test_a_worker_tells_calls_and_tools_and_where_they_belong() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def main() -> None:
        async with connected({}, {}) as (driver, worker):

            def keep(name: str) -> Any:
                async def method(value: dict[str, Any]) -> None:
                    seen.append((name, value))

                return method

            driver.methods = {
                name: keep(name) for name in ("began", "ended", "noted", "warned")
            }  # fmt: skip
            with telling(worker, content=False), part(5):
                using = tracing.operation("execute_tool", "python", call_id="c")
                with tracing.operation("invoke_agent", "a"), pytest.raises(BadInput), using as tool:
                    tracing.note("retry", attempt=1)
                    tool.say(result="secret")
                    raise BadInput("secret")
                thread = threading.Thread(target=lambda: tracing.note("aside"))
                thread.start()
                thread.join()
                logging.getLogger("harness.models").warning("about %s", "something")
                logging.getLogger("harness.models").info("nothing")
            tracing.note("unheard")
            await asyncio.sleep(0.05)

    asyncio.run(main())
    assert [name for name, _ in seen] == ["began", "noted", "ended", "warned", "noted"]
    (_, first), (_, note), (_, last), (_, warned), (_, aside) = seen
    assert (first["kind"], first["facts"], first["part"]) == ("execute_tool", {"call_id": "c"}, 5)
    assert (note["within"], last["number"]) == (first["number"], first["number"])
    assert (last["error"], last["content"]) == ("BadInput", {})
    assert "secret" not in str(seen)
    assert warned == {"logger": "harness.models", "level": 30, "message": "about something"}
    assert (aside["name"], aside["part"]) == ("aside", None)


def test_a_call_that_the_driver_answers_stands_where_the_worker_asked() -> None:
    heard = Heard()

    async def asked(driver: Channel, worker: Channel, model: ChatModel) -> None:
        retelling = Retelling(wanted=True)
        told_of = retelling.of(driver)
        driver.methods = {**told_of.methods(), **relay_service(model, told_of.context)}
        relayed, messages = RelayedModel(worker, model.spec, True), [{"role": "user"} | SAID]
        with tracing.operation("invoke_agent", "a"), retelling.part() as number:
            elsewhere = contextvars.Context()  # as in the worker: what is asked says where
            with part(number):
                await relayed.complete(messages)
            worker.tell("began", told(1, "tool", part=number, kind="execute_tool"))
            value = {"messages": messages, "tools": None, "sampling": {"seed": 7}}
            value |= {"response_format": None, "place": {"part": number, "within": 1}}
            asking = worker.ask("complete", value)
            await asyncio.create_task(asking, context=elsewhere)
            worker.tell("ended", ended(1))
            await asyncio.sleep(0.01)

    async def main() -> None:
        with CallStore() as store:
            model = open_model("simulated/ledger", calls=store)
            async with connected({}, {}) as (driver, worker):
                await asked(driver, worker, model)
            await model.aclose()

    with tracing.watching(heard):
        asyncio.run(main())
    assert heard.events == [
        "+a",
        "+ledger",
        "-ledger",
        "+tool",
        "+ledger",
        "-ledger",
        "-tool",
        "-a",
    ]
    attempt, first, tool, second = heard.operations
    assert (first.parent, second.parent) == (attempt, tool)


def test_nobody_watches_and_nothing_is_kept() -> None:
    async def main() -> tuple[int | None, object]:
        async with connected({}, {}) as (driver, _):
            retelling = Retelling(wanted=False)
            with retelling.part() as number:
                return number, retelling.of(driver).context({"part": number, "within": None})

    assert asyncio.run(main()) == (None, None)
