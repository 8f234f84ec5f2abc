"""Workers' model calls and tool calls in the driver's traces."""

from __future__ import annotations

import asyncio
import contextvars
import time
from typing import Any

import pytest

from harness.core import BadInput, tracing
from harness.core.tracing import Operation, Watcher
from harness.fleet.attempts import RemoteModel, ToolCalls, answer_calls, trace_tool
from harness.models import CallStore, open_model
from tests.fleet.test_channel import connected


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


def row(name: str, **more: Any) -> dict[str, Any]:
    """A tool call as a worker hands it over."""
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
    assert (python.seconds, python.facts) == (2.5, {"x": 1})
    assert type(python.error).__qualname__ == "test_x.<locals>.OddError"
    assert bash.content == {"result": "4"}
    # A clock that is wrong moves nothing out of the attempt.
    assert python.began_ns == started_ns
    assert python.ended_ns is not None and python.ended_ns <= time.time_ns()


@pytest.mark.parametrize("content", [False, True])
def test_a_worker_keeps_its_tool_calls_without_what_was_said_unless_wanted(content: bool) -> None:
    kept = ToolCalls(content=content)
    with tracing.watching(kept), tracing.operation("invoke_agent", "a"):
        using = tracing.operation("execute_tool", "python", call_id="c")
        with pytest.raises(BadInput), using as tool:
            tool.say(result="secret")
            raise BadInput("secret")
    (call,) = kept.of(None)
    assert (call["name"], call["facts"], call["error"]) == ("python", {"call_id": "c"}, "BadInput")
    assert call["content"] == ({"result": "secret"} if content else {})
    assert kept.of(None) == []


def test_a_call_of_a_worker_stands_within_its_attempt() -> None:
    heard = Heard()

    async def main() -> None:
        contexts: dict[int, contextvars.Context] = {}
        with CallStore() as store:
            model = open_model("simulated/ledger", calls=store)
            async with connected({"complete": answer_calls(model, contexts)}, {}) as (_, worker):
                with tracing.operation("invoke_agent", "a"):
                    contexts[1] = contextvars.copy_context()
                    request: dict[str, Any] = {
                        "messages": [{"role": "user", "content": "What is the total?"}],
                        "tools": None, "sampling": None, "response_format": None, "attempt": 1,
                    }  # fmt: skip
                    elsewhere = contextvars.Context()  # as in the worker
                    asking = worker.ask("complete", request)
                    await asyncio.create_task(asking, context=elsewhere)
                remote = RemoteModel(worker, model.spec, True)
                await asyncio.create_task(
                    remote.complete(request["messages"]), context=contextvars.Context()
                )
            await model.aclose()

    with tracing.watching(heard):
        asyncio.run(main())
    assert heard.events == ["+a", "+ledger", "-ledger", "-a", "+ledger", "-ledger"]
    attempt, first, second = heard.operations
    assert (first.parent, second.parent) == (attempt, None)
