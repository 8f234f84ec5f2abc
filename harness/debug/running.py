"""Running one graph under control: start, step, stop, look."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.debug import branches
from harness.debug.branches import Branch
from harness.debug.breakpoints import Breakpoints
from harness.debug.controller import FREE, Controller, Mode
from harness.debug.gatekeeper import Gatekeeper
from harness.debug.graphs import with_store
from harness.debug.history import History, replace_writes, shown
from harness.debug.recording import Recording
from harness.debug.tasks import state_names
from harness.debug.types import Breakpoint, Stop, TaskInfo
from harness.debug.usage import Meter
from harness.debug.worker import Worker

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


class Running:
    """A graph that runs in a thread of its own; every command returns its next stop.

    Attributes:
        store: where its state goes, and where its branches are.
        breakpoints: where to stop and what to watch; shared by all branches.
        branch: the branch that runs, or ran last.
        recording: what is served in a replay, else None.
        meter: tokens and money of every task.
    """

    def __init__(
        self,
        graph: Any,
        store: CheckpointStore,
        *,
        config: dict[str, Any] | None = None,
        context: Any = None,
        stop_on_exception: bool = True,
        find_mutations: bool = False,
        beyond: Callable[[], None] | None = None,
        meter: Meter | None = None,
    ) -> None:
        """Prepare a session.

        Args:
            graph: a compiled graph (:func:`harness.debug.load_graph`); it is copied, not changed.
                None where somebody else runs graphs (:mod:`harness.debug.attached`).
            store: where its state goes, and where its branches are.
            config: LangGraph's config for every run (`configurable`, `recursion_limit`, …).
            context: the graph's runtime context.
            stop_on_exception: stop in the node that raises instead of ending the run.
            find_mutations: serialise every node's input before and after it, and name the nodes
                that changed it in place.
            beyond: lets models and tools answer what a recorded attempt did not ask; None where
                they are the graph's own.
            meter: knows of calls that leave no trace in the state.
        """
        self.store = store
        self.breakpoints = Breakpoints()
        self.branch: Branch | None = None
        self.recording: Recording | None = None
        self.meter = meter or Meter()
        self._config = config or {}
        self._context = context
        self._stop_on_exception = stop_on_exception
        self._find_mutations = find_mutations
        self._beyond = beyond
        self._graph: Any = None if graph is None else with_store(graph, store)
        self._controller: Controller | None = None
        self._worker: Worker | None = None
        self._last: Stop | None = None

    # Running

    def start(self, values: Any, *, thread: str = "main", hold: bool = True) -> Stop:
        """Run the graph on an input, from its beginning or as the thread's next turn.

        With `hold`, the first stop is in front of the first node; else at a breakpoint or the end.
        """
        self.quit()
        if thread not in self.store.threads():
            self.branch = Branch(thread, thread)
            self.breakpoints.keep_visits(())
        else:
            self.branch = branches.found(self.store, thread)
        return self._run(values, Mode() if hold else FREE)

    def resume(self, thread: str | None = None, *, hold: bool = True) -> Stop:
        """Go on with a thread that was left unfinished, by this process or another."""
        self.quit()
        self.branch = branches.found(self.store, thread or self._now.thread)
        return self._run(None, Mode() if hold else FREE)

    def open(self, thread: str) -> Stop:
        """Open a thread: at its end, at its question, or in front of what comes next."""
        self.quit()
        self.branch = branches.found(self.store, thread)
        place = {"configurable": {"thread_id": self.branch.thread}}
        state = self._graph.get_state(place)
        if state.interrupts:
            asked = {interrupt.id: interrupt.value for interrupt in state.interrupts}
            self._last = Stop("interrupt", interrupts=asked, values=state.values)
        elif state.next:
            return self.resume(thread)
        else:
            self._last = Stop("done", values=state.values)
        return self._last

    def answer(self, value: Any, *, hold: bool = False) -> Stop:
        """Answer an interrupt: a value, or values by interrupt id where several wait."""
        from langgraph.types import Command

        if self._last is None or self._last.reason != "interrupt":
            raise BadInput("expected a run that waits for an answer; this one does not")
        return self._run(Command(resume=value), Mode() if hold else FREE)

    def step(self) -> Stop:
        """Run the current node, its sub-graph included, and stop in front of the next one."""
        return self._go(Mode(target=self._standing.own_ns))

    def step_into(self) -> Stop:
        """Run the current node; if it is or calls a graph, stop in front of that one's first."""
        return self._go(Mode(target=self._standing.own_ns, into=True))

    def step_out(self) -> Stop:
        """Run the rest of the current graph and stop in the one around it."""
        task = self._standing
        return self._go(Mode(target=task.ns) if task.ns else FREE)

    def go(self) -> Stop:
        """Run to the next breakpoint, exception, interrupt or the end."""
        _ = self._standing
        return self._go(FREE)

    def until(self, node: str) -> Stop:
        """Run to the next visit of a node."""
        number = self.breakpoints.add(Breakpoint(node))
        try:
            return self.go()
        finally:
            self.breakpoints.remove(number)

    def pause(self, timeout: float | None = None) -> Stop:
        """Stop a running graph at its next node."""
        if self._controller is not None and self._controller.current is not None and self._last:
            return self._last
        self.ask_pause()
        return self.wait(timeout)

    def ask_pause(self) -> None:
        """Ask a run to stop at its next node; for a thread beside the one that waits for it."""
        if self._controller is not None:
            self._controller.pause()

    def wait(self, timeout: float | None = None) -> Stop:
        """The next stop of a run that goes on.

        Raises:
            TimeoutError: if there is none within `timeout` seconds.
        """
        if self._controller is None:
            raise BadInput("nothing runs; start a run first")
        return self._next(self._controller, timeout)

    def _next(self, controller: Controller, timeout: float | None = None) -> Stop:
        try:
            stop = controller.stops.get(timeout=timeout)
        except queue.Empty as error:
            raise TimeoutError(f"the graph has not stopped within {timeout} s") from error
        self._last = replace(stop, mutated=controller.take_mutated())
        self._mark()
        return self._last

    def _mark(self) -> None:
        """Note in the branch where it left the recording."""
        left = self.recording.left_at if self.recording is not None else None
        if left is None and self._last is not None and self._last.reason == "left recording":
            left = self._last.task
        if left is not None and self._now.left is None:
            self.branch = replace(self._now, left=left.where)
            branches.keep(self.store, self.branch)

    def quit(self) -> None:
        """Let nothing more begin and wait for what runs. The thread can be resumed."""
        if self._controller is not None and self._worker is not None and self._worker.alive:
            self._controller.suspend()
            self._worker.join()
        self._controller = self._worker = None

    # Exceptions

    def retry(self) -> Stop:
        """Run the node that raised once more."""
        self._failed().answer("retry")
        return self.go()

    def live(self) -> Stop:
        """Go on behind the recording: run the node that left it, and stop in front of the next."""
        if self._last is None or self._last.reason != "left recording":
            raise BadInput("the run does not stand where it left its recording; `step` runs a node")
        if self._last.failure is not None:
            if self._beyond is not None:
                self._beyond()
            self._failed().answer("retry")
        return self.step()

    def serve(self, values: Any) -> Stop:
        """Go on as if the current node had returned `values`, without running it."""
        controller = self._at()
        if controller.current is not None:
            controller.answer("serve", replace_writes(controller.current.task, values))
        return self._go(Mode())

    # Looking

    @property
    def last(self) -> Stop | None:
        """The last stop."""
        return self._last

    def state(self, thread: str | None = None) -> dict[str, Any]:
        """The state where the run stands (of the current task's graph), or a thread's latest."""
        current = self._controller.current if self._controller is not None else None
        if thread is None and current is not None:
            names = state_names(current.task)
            del names["input"]
            return names
        history = self.history(thread)
        latest = history.latest()
        return {} if latest is None else shown(history.load(latest))

    def history(self, name: str | None = None) -> History:
        """A branch's checkpoints."""
        thread = branches.found(self.store, name).thread if name else self._now.thread
        return History(self.store, thread)

    @property
    def graph(self) -> Any:
        """The graph, saving in the session's store."""
        return self._graph

    # Inside

    @property
    def _now(self) -> Branch:
        if self.branch is None:
            raise BadInput("no branch is open; start or resume a run first")
        return self.branch

    def _at(self) -> Controller:
        if self._controller is None or self._controller.current is None:
            raise BadInput("the run does not stand in front of a node")
        return self._controller

    @property
    def _standing(self) -> TaskInfo:
        current = self._at().current
        assert current is not None  # _at has seen it
        return current.info

    def _failed(self) -> Controller:
        controller = self._at()
        if controller.current is None or controller.current.failure is None:
            raise BadInput("no exception to try again; `step` runs the node")
        return controller

    def _go(self, mode: Mode) -> Stop:
        controller = self._at()
        controller.release(mode)
        return self._next(controller)

    def _run(self, values: Any, mode: Mode, recording: Recording | None = None) -> Stop:
        branch = self._now
        if self._worker is not None:
            self._worker.join()
        self.recording = recording
        self._controller = Controller(self.breakpoints, stop_on_exception=self._stop_on_exception)
        self._controller.release(mode)
        self._worker = Worker(
            self._controller,
            Gatekeeper(
                self._controller, self.store, recording, find_mutations=self._find_mutations
            ),
        )
        place = {**self._config.get("configurable", {}), "thread_id": branch.thread}
        config = {"recursion_limit": 1000, **self._config, "configurable": place}
        branches.keep(self.store, branch)
        self._worker.start(self._graph, values, config, self._context)
        return self._next(self._controller)
