"""Asynchronous work on the fastest event loop that is there, and what is said of it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from threading import Event
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run like :func:`asyncio.run`, on uvloop where it is installed (it is not made for Windows).

    For what makes many small model calls: an eval sample costs a tenth less of the processor
    (`benchmarks/evals/overhead.py`). Where a loop is running already, as in a notebook, the work
    gets a thread with a loop of its own; the caller waits, and an interrupt ends the work.
    """

    def complete(work: Coroutine[Any, Any, T]) -> T:
        with new_runner() as runner:
            return runner.run(work)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return complete(work)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []
    interrupted = Event()

    async def noted() -> T:
        begun.append((asyncio.get_running_loop(), asyncio.current_task()))
        if interrupted.is_set():
            raise asyncio.CancelledError
        return await work

    with ThreadPoolExecutor(1, thread_name_prefix="harness") as pool:
        try:
            future = pool.submit(copy_context().run, complete, noted())
            while not future.done():  # CPython may miss a signal just before it begins to wait
                wait([future], timeout=0.5)
            return future.result()
        except KeyboardInterrupt:
            interrupted.set()
            for loop, task in begun:
                if task is not None:
                    with suppress(RuntimeError):  # it has ended by itself
                        loop.call_soon_threadsafe(task.cancel)
            raise


def new_runner() -> asyncio.Runner:
    """An event loop for several pieces of work, one after the other."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = None
    return asyncio.Runner(loop_factory=new_event_loop)


@asynccontextmanager
async def every(seconds: float, call: Callable[[], None]) -> AsyncGenerator[None]:
    """Call something every so many seconds while the block runs, first after that time."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(seconds)
            call()

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating
