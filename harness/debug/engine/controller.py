"""Control of tasks: the ones that may run, and the ones that wait.

Every task arrives here, in LangGraph's threads and coroutines, before it runs, and reports here
when it is done. A task that may not run waits; when nothing more can happen without the user, a
:class:`Stop` is announced. Commands come from another thread.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from harness.debug.engine.graphs import digest_of, langgraph
from harness.debug.engine.recording import LeftRecording, Recording
from harness.debug.engine.stops import (
    FREE,
    Breakpoints,
    Failure,
    Mode,
    Reason,
    Stop,
    TaskInfo,
    describe_task,
    is_inside,
)

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

Verdict = Literal["go", "suspend", "raise", "retry", "serve"]
_SETTLE = 3
"""Turns of the event loop in which the branches of one super-step arrive."""
_RESUMING = "__pregel_resuming"


@dataclass(eq=False)
class Gate:
    """A task in front of its node, or in it with an exception.

    `wake` lets its thread or coroutine resume and read `verdict`; with `serve`, `writes` are what
    the node is taken to have written, or the model to have said of a `request`.
    """

    info: TaskInfo
    task: Any
    wake: Callable[[], Any]
    reason: Reason | None = None
    breakpoint: int | None = None
    failure: Failure | None = None
    verdict: Verdict | None = None
    writes: Any = None
    request: Any = None


class Controller:
    """Gates, mode and stops of one run; the hook around its tasks.

    Attributes:
        stops: what is announced, in order.
        mutated: nodes that changed their input in place.
        emitted: what nodes wrote to the custom stream.
        current: the gate of the last stop, while the run stands there.
        mode: extent of the command that goes on.
        arrivals: how many tasks have come.
        suspended: whether no more tasks start.
    """

    def __init__(
        self,
        breakpoints: Breakpoints,
        store: CheckpointStore | None = None,
        recording: Recording | None = None,
        *,
        mode: Mode = FREE,
        stop_on_exception: bool = True,
        find_mutations: bool = False,
    ) -> None:
        """Stop at `breakpoints`; serve what `recording` holds instead of running.

        Without a store the run is somebody else's, and resumes as LangGraph has it.
        """
        self.stops: queue.Queue[Stop] = queue.Queue()
        self.mutated: list[str] = []
        self.emitted: list[Any] = []
        self.current: Gate | None = None
        self._breakpoints = breakpoints
        self._store = store
        self._recording = recording
        self.mode = mode
        self._stop_on_exception = stop_on_exception
        self._find_mutations = find_mutations
        self._lock = threading.RLock()
        self._held: list[Gate] = []
        self._running: dict[str, Gate] = {}
        self.arrivals = 0
        self.suspended = False
        self._seen: dict[int, Exception] = {}
        self._begun: dict[tuple[str, str], set[str]] | None = None

    # Called by tasks

    def around(self, task: Any, call: Callable[[], Any]) -> Any:
        """Run a task of a synchronous graph; `call` does it."""
        woken = threading.Event()

        async def run() -> Any:
            return call()

        async def wait(gate: Gate) -> None:
            self._announce()
            while gate.verdict is None:
                woken.wait()
                woken.clear()

        try:
            self._visit(task, woken.set, run, wait).send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("nothing in a synchronous visit waits for an event loop")

    async def around_async(self, task: Any, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a task of an asynchronous graph."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        async def wait(gate: Gate) -> None:
            for _ in range(_SETTLE):
                await asyncio.sleep(0)
            self._announce()
            while gate.verdict is None:
                await woken.wait()
                woken.clear()

        return await self._visit(task, lambda: loop.call_soon_threadsafe(woken.set), call, wait)

    async def _visit(
        self,
        task: Any,
        wake: Callable[[], Any],
        run: Callable[[], Awaitable[Any]],
        wait: Callable[[Gate], Awaitable[None]],
    ) -> Any:
        """Run a task when the user lets it, or serve its writes; what it raises the user decides.

        What is returned is what a task of the functional interface hands to its caller.
        """
        gate = self._arrive(task, wake)
        try:
            if gate.verdict is None:
                await wait(gate)
            while not self._is_served(gate, task):
                # Stand still in front of a task that the recording does not know.
                recording = self._recording if gate.verdict == "go" else None
                if recording is not None and recording.leaves(gate.info):
                    self._hold(gate, "left recording")
                    await wait(gate)
                    continue
                self._settle(task, gate.info)
                try:
                    with self._noting_mutations(task, gate.info):
                        return await run()
                except Exception as error:
                    if not self._asks(gate, error):
                        raise
                    await wait(gate)
                    if gate.verdict == "raise":
                        raise
            return next((value for name, value in task.writes if name == "__return__"), None)
        finally:
            self._leave(gate)

    def _arrive(self, task: Any, wake: Callable[[], None]) -> Gate:
        """A task is about to run; if its gate has no verdict it must wait."""
        info = self._breakpoints.count(describe_task(task))
        gate = Gate(info, task, wake)
        gate.breakpoint = self._breakpoints.hit(info, task)
        with self._lock:
            self.arrivals += 1
            if self.suspended:
                gate.verdict = "suspend"
            elif gate.breakpoint is not None:
                self._hold(gate, "breakpoint")
            elif self.mode.lets(info):
                self._go(gate)
            else:
                self._hold(gate, None)
        return gate

    def innermost(self) -> list[Gate]:
        """Tasks that run and wait for no task inside them."""
        with self._lock:
            running = dict(self._running)
        return [
            gate
            for own_ns, gate in running.items()
            if not any(is_inside(inner_ns, own_ns) for inner_ns in running if inner_ns != own_ns)
        ]

    async def ask(self, request: Any) -> Any:
        """Stop in the node that asks a model until a person has typed the answer; the answer.

        Of several nodes that run, none can be told to have asked: the stop names them all.
        """
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            running = [] if self.suspended else self.innermost()
            if not running:
                raise LeftRecording("nobody is there to answer")
            info = replace(running[0].info, node=" or ".join(gate.info.node for gate in running))
            gate = replace(running[0], info=info, request=request)
            gate.wake = lambda: loop.call_soon_threadsafe(woken.set)
            self._hold(gate, "model call")
        self._announce()
        await woken.wait()
        if gate.verdict != "serve":
            raise LeftRecording("nobody has answered")
        return gate.writes

    def _hold(self, gate: Gate, reason: Reason | None, failure: Failure | None = None) -> None:
        with self._lock:
            self._running.pop(gate.info.own_ns, None)
            gate.reason, gate.failure, gate.verdict = reason, failure, None
            self._held.append(gate)

    def _is_served(self, gate: Gate, task: Any) -> bool:
        """Return whether the node need not run: its writes are known, or it must not begin."""
        if gate.verdict == "suspend":
            raise langgraph("errors").GraphInterrupt(())
        writes = gate.writes if gate.verdict == "serve" else None
        if gate.verdict == "go" and self._recording is not None:
            writes = self._recording.take(gate.info, task)
        if writes is None:
            return False
        task.writes.clear()
        task.writes.extend(writes)
        return True

    @contextmanager
    def _noting_mutations(self, task: Any, info: TaskInfo) -> Generator[None]:
        store = self._store if self._find_mutations else None
        before = None if store is None else digest_of(store.serde, task.input)
        try:
            yield
        finally:
            if store is not None and before != digest_of(store.serde, task.input):
                self.mutated.append(info.where)

    def _asks(self, gate: Gate, error: Exception) -> bool:
        """Return whether the user decides about an exception; the innermost node asks, once."""
        if isinstance(error, langgraph("errors").GraphBubbleUp) or id(error) in self._seen:
            return False
        self._seen[id(error)] = error
        # Clients of a user's own graph hear of it from the gateway, whose refusals name it.
        left_recording = isinstance(error, LeftRecording) or f"{LeftRecording.__name__}: " in str(
            error
        )
        reason = "left recording" if left_recording else "exception"
        from harness.debug.engine.sources import describe_failure

        failure = describe_failure(error)  # shows a user's objects: not under the lock
        with self._lock:
            if not self._stop_on_exception or self.suspended:
                return False
            self._hold(gate, reason, failure)
            return True

    def _settle(self, task: Any, info: TaskInfo) -> None:
        """Take LangGraph's mark of resuming from a task that has nothing to resume.

        LangGraph marks every task of the first step after a resumption. A sub-graph with a history
        of its own (`checkpointer=True`) then ignores its input and returns its last output, though
        this visit of it never began. Tasks that left no checkpoint in this step lose the mark.
        """
        configurable = task.config["configurable"]
        if self._store is None or not configurable.get(_RESUMING):
            return
        if self._begun is None:
            # Namespaces of sub-graphs by the checkpoint (namespace, id) of a graph around them.
            self._begun = {}
            for moment in self._store.outline(str(configurable["thread_id"])):
                for key in moment.outer.items():
                    self._begun.setdefault(key, set()).add(moment.ns)
        begun = self._begun.get((info.ns, info.checkpoint), ())
        if not any(is_inside(ns, info.own_ns) for ns in begun):
            del configurable[_RESUMING]

    def _leave(self, gate: Gate) -> None:
        """A task is done, whatever came of it."""
        with self._lock:
            self._running.pop(gate.info.own_ns, None)
            if gate in self._held:
                self._held.remove(gate)
            if self.current is gate:
                self.current = None
            target = self.mode.target
            if target is not None and is_inside(target, gate.info.own_ns):
                self.mode = Mode(reason=self.mode.reason)
        self._announce()

    def _announce(self) -> None:
        """Announce a stop if a gate asks for one and none is announced yet."""
        with self._lock:
            if self.current is not None or self.suspended:
                return
            mode = self.mode
            asking = [held for held in self._held if held.reason is not None]
            asking += [held for held in self._held if mode.stops_at(held.info)]
            if (gate := next(iter(asking), None)) is None:
                return
            self.mode = Mode() if gate.request is None else mode  # which an answer goes on in
            self.current, call = gate, {} if gate.request is None else {gate.info.id: gate.request}
            waiting = [gate, *(held for held in self._held if held is not gate)]
            self.stops.put(
                Stop(
                    gate.reason or mode.reason,
                    gate.info,
                    sent=gate.task.input if gate.info.pushed else None,
                    waiting=tuple(held.info for held in waiting),
                    running=tuple(gate.info for gate in self._running.values()),
                    breakpoint=gate.breakpoint,
                    watches=self._breakpoints.watched(gate.task),
                    failure=gate.failure,
                    interrupts=call,
                    asked_by=dict.fromkeys(call, gate.info.where),
                )
            )

    # Called by the user's thread

    def release(self, mode: Mode) -> None:
        """Resume in `mode`; the current task goes first."""
        with self._lock:
            current, self.current = self.current, None
            self.mode = mode
            if current is not None:
                self._release(current)
            for gate in list(self._held):
                if gate.reason is None and mode.lets(gate.info):
                    self._release(gate)
        self._announce()

    def stand(self, namespaces: Collection[str]) -> None:
        """Stop in front of the next tasks, which a graph's own `interrupt_before` names."""
        with self._lock:
            self.mode = Mode(through=frozenset(namespaces), reason="static interrupt")
            self._begun = None

    def pause(self) -> None:
        """Stop at the next task, wherever it is."""
        with self._lock:
            if self.current is None:
                self.mode = Mode(reason="pause")
        self._announce()

    def free(self) -> None:
        """Stop no task any more; exceptions are raised."""
        with self._lock:
            self._stop_on_exception = False
            self.mode, self.current = FREE, None
            for gate in list(self._held):
                self._release(gate)

    def suspend(self) -> None:
        """Start no more tasks: every waiting one ends as LangGraph's interrupts do."""
        with self._lock:
            self.suspended = True
            self.current = None
            for gate in self._held:
                gate.verdict = "raise" if gate.failure is not None else "suspend"
                gate.wake()
            self._held.clear()

    def _release(self, gate: Gate) -> None:
        self._held.remove(gate)
        gate.reason = None
        self._go(gate)
        gate.wake()

    def _go(self, gate: Gate) -> None:
        if gate.verdict is None:
            gate.verdict = "raise" if gate.failure is not None else "go"
        self._running[gate.info.own_ns] = gate
