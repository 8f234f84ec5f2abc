"""Choice of the event loop that work runs on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextvars import ContextVar

import pytest

from harness.core import loops


async def _kind() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_work_runs_on_uvloop_and_without_it_on_asyncios_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert loops.run(_kind()).startswith("uvloop")
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loops.run(_kind()).startswith("asyncio")


def test_work_runs_inside_a_running_loop() -> None:
    """As in a notebook."""
    name = ContextVar("name", default="")

    async def work() -> tuple[str, str]:
        await asyncio.sleep(0)
        return await _kind(), name.get()

    async def cell() -> tuple[str, str]:
        name.set("mine")
        return loops.run(work())

    kind, seen = asyncio.run(cell())
    assert kind.startswith("uvloop") and seen == "mine"


INTERRUPTED = """
import asyncio, os, signal
from harness.core import loops

# A job in the background of a shell ignores the signal and hands that on.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def work():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("cancelled")
        raise

async def cell():
    loops.run(work())

try:
    asyncio.new_event_loop().run_until_complete(cell())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_ends_work_inside_a_running_loop() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
    assert "cancelled" in ended.stdout and "interrupted" in ended.stdout, ended.stderr


def test_a_call_is_repeated_while_the_block_runs_and_no_longer() -> None:
    calls: list[int] = []

    async def work() -> int:
        third = asyncio.Event()

        def call() -> None:
            calls.append(len(calls))
            if len(calls) == 3:
                third.set()

        with pytest.raises(ValueError, match="of the block"):
            async with loops.every(0.001, call):
                await third.wait()
                raise ValueError("of the block")
        count = len(calls)
        await asyncio.sleep(0.02)
        return count

    assert loops.run(work()) == len(calls) >= 3
