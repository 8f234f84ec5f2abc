"""The hook that runs in LangGraph's threads and coroutines: it waits where the controller says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, cast

from harness.debug.engine.controller import Controller, Gate
from harness.debug.engine.recording import LeftRecording, Recording, digest_of
from harness.debug.engine.stops import TaskInfo, describe_failure, is_inside, split_ns

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_SETTLE = 3
"""Turns of the event loop in which the branches of one super-step arrive."""
_RESUMING = "__pregel_resuming"


class Gatekeeper:
    """One run's hook (:class:`harness.debug.engine.internals.Hook`)."""

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
        self._recording = recording
        self._seen: dict[int, Exception] = {}
        self._begun: dict[tuple[str, str], set[str]] | None = None

    def around(self, task: Any, call: Callable[[], Any]) -> Any:
        """Run a task of a synchronous graph."""
        woken = threading.Event()
        gate = self._controller.arrive(task, woken.set)
        visit = self._visit(gate, task)
        try:
            move = next(visit, None)
            while move is not None:
                if move == "run":
                    try:
                        return call()
                    except Exception as error:  # noqa: BLE001  # the visit decides whether to raise it
                        move = visit.send(error)
                else:
                    if gate.verdict is None:
                        self._controller.look()
                        woken.wait()
                        woken.clear()
                    move = next(visit, None)
            return _returned(task)
        finally:
            visit.close()
            self._controller.leave(gate)

    async def around_async(self, task: Any, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a task of an asynchronous graph."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        gate = self._controller.arrive(task, wake)
        visit = self._visit(gate, task)
        try:
            move = next(visit, None)
            while move is not None:
                if move == "run":
                    try:
                        return await call()
                    except Exception as error:  # noqa: BLE001  # the visit decides whether to raise it
                        move = visit.send(error)
                else:
                    if gate.verdict is None:
                        for _ in range(_SETTLE):
                            await asyncio.sleep(0)
                        self._controller.look()
                        await woken.wait()
                        woken.clear()
                    move = next(visit, None)
            return _returned(task)
        finally:
            visit.close()
            self._controller.leave(gate)

    def _visit(
        self, gate: Gate, task: Any
    ) -> Generator[Literal["wait", "run"], Exception | None, None]:
        """What to do next with a task, until its writes are known: wait for a verdict, or run it.

        What the run raised is sent in. It is raised again, or the user decides about it.
        """
        yield "wait"
        while not self._is_served(gate, task):
            # Stand still in front of a task that the recording does not know.
            if (
                self._recording is not None
                and gate.verdict == "go"
                and self._recording.leaves(gate.info)
            ):
                self._controller.hold(gate, "left recording")
                yield "wait"
                continue
            if self._store is not None:
                self._settle(self._store, task, gate.info)
            before = self._digest(task)
            try:
                error = yield "run"
            finally:
                if before != self._digest(task):
                    self._controller.note_mutation(gate)
            if error is not None:
                if not self._asks(gate, error):
                    raise error
                yield "wait"
                if gate.verdict == "raise":
                    raise error

    def _digest(self, task: Any) -> str | None:
        if self._store is None or not self._find_mutations:
            return None
        return digest_of(self._store.serde, task.input)

    def _is_served(self, gate: Gate, task: Any) -> bool:
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

    def _asks(self, gate: Gate, error: Exception) -> bool:
        """Whether the user decides about an exception; the innermost node asks, once."""
        from langgraph.errors import GraphBubbleUp

        if isinstance(error, GraphBubbleUp) or id(error) in self._seen:
            return False
        self._seen[id(error)] = error
        reason = "left recording" if isinstance(error, LeftRecording) else "exception"
        return self._controller.fail(gate, describe_failure(error), reason)

    def _settle(self, store: CheckpointStore, task: Any, info: TaskInfo) -> None:
        """Take LangGraph's mark of resuming from a task that has nothing to resume.

        LangGraph marks every task of the first step after a resumption. A sub-graph with a history
        of its own (`checkpointer=True`) then ignores its input and returns its last output, though
        this visit of it never began. Tasks that left no checkpoint in this step lose the mark.
        """
        place = task.config["configurable"]
        if not place.get(_RESUMING):
            return
        if self._begun is None:
            # Namespaces of sub-graphs by the checkpoint (namespace, id) of a graph around them.
            self._begun = {}
            for line in store.outline(str(place["thread_id"])):
                outer = cast("dict[str, str]", line.metadata.get("parents") or {})
                for key in outer.items():
                    self._begun.setdefault(key, set()).add(line.ns)
        inside = (*info.names, info.node)
        for ns in self._begun.get((info.ns, info.checkpoint), ()):
            segment = ns.split("|")[info.ns.count("|") + 1 if info.ns else 0]
            own = ":" not in segment or is_inside(ns, info.own_ns)
            if own and split_ns(ns)[: len(inside)] == inside:
                return
        del place[_RESUMING]


def _returned(task: Any) -> Any:
    """What a task of the functional interface hands to its caller."""
    return next((value for channel, value in task.writes if channel == "__return__"), None)
