"""Which tasks may run and which wait.

Every task arrives here before it runs and reports here when it is done. A task that may not run
waits; when nothing more can happen without the user, a :class:`Stop` is announced. Commands come
from another thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from harness.debug.engine.breakpoints import Breakpoints
from harness.debug.engine.stops import (
    Failure,
    Reason,
    Stop,
    TaskInfo,
    describe_task,
    is_inside,
    state_names,
)

Verdict = Literal["go", "suspend", "raise", "retry", "serve"]


@dataclass(eq=False)
class Gate:
    """A task in front of its node, or in it with an exception.

    `wake` lets its thread or coroutine resume and read `verdict`; with `serve`, `writes` are what
    the node is taken to have written.
    """

    info: TaskInfo
    task: Any
    wake: Callable[[], None]
    reason: Reason | None = None
    breakpoint: int | None = None
    failure: Failure | None = None
    verdict: Verdict | None = None
    writes: list[tuple[str, Any]] | None = None


@dataclass
class Mode:
    """How far to go.

    Attributes:
        free: no task waits (except at breakpoints).
        target: own namespace of the task that is being stepped over; what is inside may run.
        into: stop inside the target too.
        through: tasks that are entered without a stop, by own namespace or `outer/node`.
        goal: own namespace of the only task to stop at, or None for the next one.
        reason: of a stop that no task has asked for itself.
    """

    free: bool = False
    target: str | None = None
    into: bool = False
    through: frozenset[str] = frozenset()
    goal: str | None = None
    reason: Reason = "step"

    def lets(self, info: TaskInfo) -> bool:
        """Whether the task may run without a stop."""
        if self.free or info.own_ns in self.through or info.where in self.through:
            return True
        return not self.into and self.target is not None and is_inside(info.ns, self.target)


FREE = Mode(free=True)


class Controller:
    """Gates, mode and stops of one run."""

    def __init__(self, breakpoints: Breakpoints, *, stop_on_exception: bool = True) -> None:
        self.breakpoints = breakpoints
        self.stops: queue.Queue[Stop] = queue.Queue()
        self._lock = threading.RLock()
        self._mode = Mode(free=True)
        self._held: list[Gate] = []
        self._running: dict[str, TaskInfo] = {}
        self._suspended = False
        self._current: Gate | None = None
        self._stop_on_exception = stop_on_exception
        self._mutated: list[str] = []

    # Called by tasks

    def arrive(self, task: Any, wake: Callable[[], None]) -> Gate:
        """A task is about to run; if its gate has no verdict it must wait for `wake`."""
        info = self.breakpoints.count(describe_task(task))
        gate = Gate(info, task, wake)
        hit = self.breakpoints.hit(info, lambda: state_names(task))
        with self._lock:
            if self._suspended:
                gate.verdict = "suspend"
                return gate
            if hit is not None:
                gate.reason, gate.breakpoint = "breakpoint", hit
            elif self._mode.lets(info):
                self._go(gate)
                return gate
            self._held.append(gate)
        return gate

    def hold(self, gate: Gate, reason: Reason) -> None:
        """Hold a task that the mode would let go (it left the recording)."""
        with self._lock:
            self._running.pop(gate.info.own_ns, None)
            gate.reason, gate.verdict = reason, None
            self._held.append(gate)

    def fail(self, gate: Gate, failure: Failure, reason: Reason = "exception") -> bool:
        """A node raised; whether its task has to wait for a verdict."""
        with self._lock:
            if not self._stop_on_exception or self._suspended:
                return False
            self._running.pop(gate.info.own_ns, None)
            gate.reason, gate.failure, gate.verdict = reason, failure, None
            self._held.append(gate)
            return True

    def note_mutation(self, gate: Gate) -> None:
        """A node changed its input in place."""
        with self._lock:
            self._mutated.append(gate.info.where)

    def take_mutated(self) -> tuple[str, ...]:
        """The nodes noted since the last call."""
        with self._lock:
            mutated, self._mutated = tuple(self._mutated), []
            return mutated

    def leave(self, gate: Gate) -> None:
        """A task is done, whatever came of it."""
        with self._lock:
            self._running.pop(gate.info.own_ns, None)
            if gate in self._held:
                self._held.remove(gate)
            if self._current is gate:
                self._current = None
            if self._mode.target == gate.info.own_ns:
                self._mode = Mode(reason=self._mode.reason)
        self.look()

    def look(self) -> None:
        """Announce a stop if a gate asks for one and none is announced yet."""
        with self._lock:
            if self._current is not None or not self._held or self._suspended:
                return
            mode = self._mode
            asking = [gate for gate in self._held if gate.reason is not None]
            if not asking and mode.target is not None and mode.into:
                asking = [gate for gate in self._held if is_inside(gate.info.ns, mode.target)]
            if not asking and mode.target is None and not mode.free:
                asking = [gate for gate in self._held if mode.goal in (None, gate.info.own_ns)]
            if not asking:
                return
            gate = self._current = asking[0]
            self._mode = Mode()
            waiting = [gate, *(held for held in self._held if held is not gate)]
            self.stops.put(
                Stop(
                    gate.reason or mode.reason,
                    gate.info,
                    waiting=tuple(held.info for held in waiting),
                    running=tuple(self._running.values()),
                    breakpoint=gate.breakpoint,
                    watches=self.breakpoints.watched(lambda: state_names(gate.task)),
                    failure=gate.failure,
                )
            )

    # Called by the user's thread

    @property
    def current(self) -> Gate | None:
        """The gate of the last stop, while it stands there."""
        return self._current

    def release(self, mode: Mode) -> None:
        """Resume in `mode`; the current task goes first."""
        with self._lock:
            current, self._current = self._current, None
            self._mode = mode
            if current is not None:
                self._release(current)
            for gate in list(self._held):
                if gate.reason is None and mode.lets(gate.info):
                    self._release(gate)
        self.look()

    def answer(self, verdict: Verdict, writes: list[tuple[str, Any]] | None = None) -> None:
        """Give the current gate a verdict of its own before the run resumes."""
        with self._lock:
            if self._current is not None:
                self._current.verdict = verdict
                self._current.writes = writes

    def pause(self) -> None:
        """Stop at the next task, wherever it is."""
        with self._lock:
            if self._current is None:
                self._mode = Mode(reason="pause")
        self.look()

    def free(self) -> None:
        """Stop no task any more; exceptions are raised."""
        with self._lock:
            self._stop_on_exception = False
            self._mode, self._current = FREE, None
            for gate in list(self._held):
                self._release(gate)

    def suspend(self) -> None:
        """Start no more tasks: every waiting one ends as LangGraph's interrupts do."""
        with self._lock:
            self._suspended = True
            self._current = None
            for gate in list(self._held):
                gate.verdict = "raise" if gate.failure is not None else "suspend"
                self._held.remove(gate)
                gate.wake()

    def _release(self, gate: Gate) -> None:
        self._held.remove(gate)
        gate.reason = None
        self._go(gate)
        gate.wake()

    def _go(self, gate: Gate) -> None:
        if gate.verdict is None:
            gate.verdict = "raise" if gate.failure is not None else "go"
        self._running[gate.info.own_ns] = gate.info
