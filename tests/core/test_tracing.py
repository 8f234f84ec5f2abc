"""Operations and who watches them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.core import tracing
from harness.core.tracing import Operation, Watcher


class Listed(Watcher):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def began(self, operation: Operation) -> None:
        self.told.append(f"+{operation.name}")

    def ended(self, operation: Operation) -> None:
        error = f" {type(operation.error).__name__}" if operation.error else ""
        self.told.append(f"-{operation.name}{error}")

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        self.told.append(f"!{name} in {operation.name if operation else 'nothing'}")


class Failing(Listed):
    def ended(self, operation: Operation) -> None:
        super().ended(operation)
        raise KeyError("a bug")


def test_operations_nest_in_tasks_side_by_side() -> None:
    parents: dict[str, str] = {}

    async def attempt(name: str) -> None:
        with tracing.operation("invoke_agent", name):
            await asyncio.sleep(0)
            with tracing.operation("chat", f"{name}-call") as call:
                await asyncio.sleep(0)
                assert isinstance(call, Operation)
                found = call.within("invoke_agent")
                assert found is not None
                parents[call.name] = found.name

    async def run() -> None:
        with tracing.operation("run", "r"):
            await asyncio.gather(*(attempt(name) for name in ("a", "b", "c")))

    with tracing.watching(Listed()):
        asyncio.run(run())
    assert parents == {"a-call": "a", "b-call": "b", "c-call": "c"}


def test_errors_pass_through_and_are_told() -> None:
    listed = Listed()
    with tracing.watching(listed), pytest.raises(ValueError, match="x"), _chat():
        tracing.note("retry")
        raise ValueError("x")
    tracing.note("nobody hears this")
    assert listed.told == ["+m", "!retry in m", "-m ValueError"]


@contextmanager
def _chat() -> Generator[None]:
    with tracing.operation("chat", "m"):
        yield


def test_a_watcher_that_fails_is_told_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    failing, listed = Failing(), Listed()
    with (
        caplog.at_level(logging.WARNING), tracing.watching(failing), tracing.watching(listed),
        tracing.operation("run", "around"),
    ):  # fmt: skip
        for name in ("a", "b"):
            with tracing.operation("chat", name):
                pass
    assert failing.told == ["+around", "+a", "-a"]
    assert listed.told == ["+around", "+a", "-a", "+b", "-b", "-around"]
    assert "Failing failed and watches no more" in caplog.text
    assert not tracing.watched()
