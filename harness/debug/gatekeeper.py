"""The hook that runs in LangGraph's threads and coroutines: it waits where the controller says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from harness.debug.controller import Controller, Gate
from harness.debug.failures import describe_failure
from harness.debug.recording import LeftRecording, Recording, digest_of
from harness.debug.resumption import Resumption

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_SETTLE = 3
"""Turns of the event loop in which the branches of one super-step arrive."""


class Gatekeeper:
    """One run's hook (:class:`harness.debug.hooks.Hook`)."""

    def __init__(
        self,
        controller: Controller,
        store: CheckpointStore | None,
        recording: Recording | None = None,
        *,
        find_mutations: bool = False,
    ) -> None:
        """Ask `controller` before every task; serve what `recording` holds instead of running.

        Without a store the run is somebody else's, and resumes as LangGraph has it.
        """
        self._find_mutations = find_mutations
        self._controller = controller
        self._store = store
        self._resumption = None if store is None else Resumption(store)
        self._recording = recording
        self._seen: dict[int, Exception] = {}

    def around(self, task: Any, call: Callable[[], Any]) -> Any:
        """Run a task of a synchronous graph."""
        woken = threading.Event()
        gate = self._controller.arrive(task, woken.set)
        try:
            self._wait(gate, woken)
            while not self._is_settled(gate, task):
                if self._leaves(gate):
                    self._wait(gate, woken)
                    continue
                self._settle(task, gate)
                before = self._digest(task)
                try:
                    return call()
                except Exception as error:
                    if not self._asks(gate, error):
                        raise
                    self._wait(gate, woken)
                    if gate.verdict == "raise":
                        raise
                finally:
                    if before != self._digest(task):
                        self._controller.note_mutation(gate)
            return _result(task)
        finally:
            self._controller.leave(gate)

    async def around_async(self, task: Any, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a task of an asynchronous graph."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        gate = self._controller.arrive(task, wake)
        try:
            await self._wait_async(gate, woken)
            while not self._is_settled(gate, task):
                if self._leaves(gate):
                    await self._wait_async(gate, woken)
                    continue
                self._settle(task, gate)
                before = self._digest(task)
                try:
                    return await call()
                except Exception as error:
                    if not self._asks(gate, error):
                        raise
                    await self._wait_async(gate, woken)
                    if gate.verdict == "raise":
                        raise
                finally:
                    if before != self._digest(task):
                        self._controller.note_mutation(gate)
            return _result(task)
        finally:
            self._controller.leave(gate)

    def _wait(self, gate: Gate, woken: threading.Event) -> None:
        if gate.verdict is None:
            self._controller.look()
            woken.wait()
            woken.clear()

    async def _wait_async(self, gate: Gate, woken: asyncio.Event) -> None:
        if gate.verdict is None:
            for _ in range(_SETTLE):
                await asyncio.sleep(0)
            self._controller.look()
            await woken.wait()
            woken.clear()

    def _digest(self, task: Any) -> str | None:
        if self._store is None or not self._find_mutations:
            return None
        return digest_of(self._store.serde, task.input)

    def _settle(self, task: Any, gate: Gate) -> None:
        if self._resumption is not None:
            self._resumption.settle(task, gate.info)

    def _is_settled(self, gate: Gate, task: Any) -> bool:
        """Whether the node need not run: its writes are known, or it must not begin."""
        if gate.verdict == "suspend":
            from langgraph.errors import GraphInterrupt

            raise GraphInterrupt(())
        writes = gate.writes if gate.verdict == "serve" else None
        if writes is None and self._recording is not None and gate.verdict == "go":
            writes = self._recording.take(gate.info, task)
        if writes is None:
            return False
        task.writes.clear()
        task.writes.extend(writes)
        return True

    def _leaves(self, gate: Gate) -> bool:
        """Whether to hold a task that the recording does not know."""
        if self._recording is None or gate.verdict != "go":
            return False
        if not self._recording.leaves(gate.info):
            return False
        self._controller.hold(gate, "left recording")
        return True

    def _asks(self, gate: Gate, error: Exception) -> bool:
        """Whether the user decides about an exception; the innermost node asks, once."""
        from langgraph.errors import GraphBubbleUp

        if isinstance(error, GraphBubbleUp) or id(error) in self._seen:
            return False
        self._seen[id(error)] = error
        reason = "left recording" if isinstance(error, LeftRecording) else "exception"
        return self._controller.fail(gate, describe_failure(error), reason)


def _result(task: Any) -> Any:
    """What a task of the functional interface hands to its caller."""
    return next((value for channel, value in task.writes if channel == "__return__"), None)
