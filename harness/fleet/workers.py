"""Workers: processes of this machine, or actors of a Ray cluster, that do what they are asked.

A worker sets its work up once, by an *entry*: `module:function`, awaited with a spec and the
folders of the files that were sent along; it gives the function that is then called with every
value. A value whose worker dies goes to another one; :data:`DEATHS` of them are its last.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context, parent_process
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import harness
from harness.core import BadInput, HarnessError, LimitReached, Refused, Unreachable, loops
from harness.fleet.trees import unpack

DEATHS = 3
"""Workers that a value may lose before it is given up: it may be what kills them."""
GRACE_S = 5.0
"""Seconds that a worker has to end by itself."""
ARRIVAL_S = 120.0
"""Seconds without any worker after which a cluster is given up."""
_KINDS = {kind.__name__: kind for kind in (BadInput, LimitReached, Refused, Unreachable)}

Answer = dict[str, Any]
"""`value`, or the `error` with its `kind`."""
Ask = Callable[[Any], Awaitable[Any]]


class WorkersLost(HarnessError):
    """Worker after worker died while it worked on this value."""

    def __init__(self) -> None:
        super().__init__(f"{DEATHS} workers died of the same work (out of memory, perhaps)")


async def outcome(work: Awaitable[Any]) -> Answer:
    """The value of some work, or its error, in a form for another process."""
    try:
        return {"value": await work}
    except HarnessError as error:
        kinds = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS]
        return {"error": str(error), "kind": kinds[0] if kinds else ""}


def value_of(answer: Answer) -> Any:
    """The value of an answer.

    Raises:
        HarnessError: the error in its place.
    """
    if "error" in answer:
        raise _KINDS.get(answer["kind"], HarnessError)(answer["error"])
    return answer["value"]


class Worker:
    """One process: sets its work up when it is first asked.

    Args:
        arguments: see :meth:`join`; none where that is called.
    """

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._begun: asyncio.Future[Ask] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    async def join(self, *arguments: Any) -> None:
        """Take the work: the version of the harness that asks, the entry, its spec, and its files.

        These are folders by name, or as :func:`pack` made them.
        """
        self._arguments = arguments

    async def ask(self, value: Any) -> Answer:
        """Work on a value."""
        return await outcome(self._work(value))

    async def leave(self) -> None:
        """Remove the files that were sent."""
        if self._folder is not None:
            self._folder.cleanup()

    async def _work(self, value: Any) -> Any:
        if self._begun is None:
            self._begun = asyncio.ensure_future(self._begin(*self._arguments))
        try:
            work = await asyncio.shield(self._begun)
        except HarnessError as error:
            raise Unreachable(f"a worker cannot begin: {error}") from error
        return await work(value)

    async def _begin(
        self, version: str, entry: str, spec: Any, trees: Mapping[str, Path] | bytes
    ) -> Ask:
        if version != harness.__version__:
            raise BadInput(
                f"it has version {harness.__version__!r} of the harness, not {version!r}: "
                "install the same on every node"
            )
        if isinstance(trees, bytes):
            self._folder = tempfile.TemporaryDirectory(prefix="harness-worker-")
            trees = unpack(trees, Path(self._folder.name))
        return await resolve_name(entry)(spec, trees)


class _Process:
    """A worker process of this machine; it does one thing at a time."""

    def __init__(self) -> None:
        # Not forked: this process has threads.
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self.pid = 0
        self._work: Future[Any] = Future()

    async def begin(self, *arguments: Any) -> None:
        """Start the process.

        Raises:
            Unreachable: if it ends at once.
        """
        try:
            self.pid = await asyncio.wrap_future(self._pool.submit(_begin, arguments))
        except BrokenProcessPool as error:
            raise Unreachable(
                "a worker process ended before it could begin; where it was a script that began "
                'the work, its own needs `if __name__ == "__main__":` around it'
            ) from error

    async def ask(self, value: Any) -> Answer:
        """Let it work on a value."""
        self._work = self._pool.submit(_ask, value)
        return await asyncio.wrap_future(self._work)

    async def interrupt(self) -> bool:
        """Interrupt its work, so that it can clean up; False if it has not ended then."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)
        return not (await asyncio.to_thread(wait, [self._work], GRACE_S)).not_done

    async def end(self, *, kill: bool = False) -> None:
        """End it; what it is doing is lost if it is killed."""
        if kill and self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)


_process: list[tuple[asyncio.Runner, Worker]] = []
"""In a worker process: its event loop, and its work."""


def _begin(arguments: tuple[Any, ...]) -> int:
    """In a worker process: get ready; the number of the process."""
    os.setsid()  # Ctrl-C is the driver's: it ends its workers
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    for path in Path("/dev/fd").iterdir():  # its death shows while programs it began live on
        with suppress(OSError):  # the one that lists them
            os.set_inheritable(int(path.name), int(path.name) < 3)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    threading.Thread(target=_end_with_driver, daemon=True).start()
    _process.append((loops.new_runner(), Worker(*arguments)))
    return os.getpid()


def _end_with_driver() -> None:
    driver = parent_process()
    assert driver is not None  # this is a worker process
    driver.join()
    os._exit(1)


def _ask(value: Any) -> Answer:
    runner, worker = _process[0]
    try:
        return runner.run(worker.ask(value))
    except KeyboardInterrupt:
        return {"error": "interrupted", "kind": ""}


class Processes:
    """So many worker processes of this machine, started when they are needed.

    Args:
        count: at most.
        arguments: of their :class:`Worker`.
    """

    def __init__(self, count: int, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments
        self._idle: asyncio.LifoQueue[_Process | None] = asyncio.LifoQueue()
        for _ in range(count):
            self._idle.put_nowait(None)

    async def ask(self, value: Any) -> Any:
        """Ask an idle worker.

        Raises:
            WorkersLost: if :data:`DEATHS` workers died over the value.
            HarnessError: from the worker.
        """
        for _ in range(DEATHS):
            process = await self._idle.get() or _Process()
            survivor: _Process | None = None
            try:
                if not process.pid:
                    await process.begin(*self._arguments)
                answer = await process.ask(value)
                survivor = process
                return value_of(answer)
            except BrokenProcessPool:
                continue
            except asyncio.CancelledError:
                survivor = process if process.pid and await process.interrupt() else None
                raise
            finally:
                try:
                    if survivor is None:
                        await process.end(kill=True)
                finally:
                    self._idle.put_nowait(survivor)
        raise WorkersLost

    async def close(self) -> None:
        """Send the workers home."""
        while not self._idle.empty():
            if (process := self._idle.get_nowait()) is not None:
                await process.end()


class Actors:
    """So many actors of a Ray cluster, each of which does many things at a time.

    Ray finds them nodes, and begins those anew that die; one that it finds no room for misses.

    Args:
        count: of actors.
        options: their demands, in Ray's words.
        arguments: of their :class:`Worker`.
    """

    def __init__(self, count: int, options: dict[str, Any], arguments: tuple[Any, ...]) -> None:
        self._ray: Any = import_module("ray")
        *simple, files = arguments
        kind = self._ray.remote(Worker).options(**options, max_restarts=-1, max_concurrency=10_000)
        # Not for its constructor: Ray warns of what is lost where an actor begins anew.
        self._arguments = *simple, self._ray.put(files)
        self._actors = [kind.remote() for _ in range(count)]
        self._loads: dict[Any, int] = {}
        self._changed = asyncio.Condition()
        self._joining = {asyncio.create_task(self._join(actor)) for actor in self._actors}

    async def ask(self, value: Any) -> Any:
        """Ask the least busy worker.

        Raises:
            WorkersLost: if :data:`DEATHS` workers died over the value.
            Unreachable: if there is no worker and none comes.
            HarnessError: from the worker.
        """
        from ray.exceptions import RayActorError

        for _ in range(DEATHS):
            actor = await self._least_busy()
            self._loads[actor] += 1
            reference = actor.ask.remote(value)
            try:
                return value_of(await asyncio.wrap_future(reference.future()))
            except RayActorError:
                if self._loads.pop(actor, None) is not None:
                    self._joining.add(asyncio.create_task(self._join(actor)))
            except asyncio.CancelledError:
                await self._cancel(reference)
                raise
            finally:
                if actor in self._loads:
                    self._loads[actor] -= 1
        raise WorkersLost

    async def _least_busy(self) -> Any:
        async with self._changed:
            try:
                async with asyncio.timeout(ARRIVAL_S):
                    await self._changed.wait_for(lambda: self._loads)
            except TimeoutError:
                raise Unreachable(
                    f"no worker was there for {ARRIVAL_S:.0f} s: does the Ray cluster have the "
                    "resources that they ask for?"
                ) from None
        return min(self._loads, key=self._loads.__getitem__)

    async def _join(self, actor: Any) -> None:
        """Wait until an actor is there, or there again; Ray holds the call until it has room."""
        join = actor.join.options(max_task_retries=-1).remote(*self._arguments)
        await asyncio.wrap_future(join.future())
        async with self._changed:
            self._loads[actor] = 0
            self._changed.notify_all()

    async def _cancel(self, reference: Any) -> None:
        """Cancel a call; it has a moment to end."""
        self._ray.cancel(reference)
        with suppress(Exception):
            await asyncio.wait_for(asyncio.wrap_future(reference.future()), GRACE_S)

    async def close(self) -> None:
        """Send the workers home."""
        for joining in self._joining:
            joining.cancel()
        leaving = [asyncio.wrap_future(actor.leave.remote().future()) for actor in self._loads]
        if leaving:
            await asyncio.wait(leaving, timeout=GRACE_S)
        for actor in self._actors:
            self._ray.kill(actor)
