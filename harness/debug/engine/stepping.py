"""Running one graph under control: start, step, stop, look."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from harness.core import BadInput
from harness.debug.engine import graphs
from harness.debug.engine.controller import Controller, Gate
from harness.debug.engine.history import (
    Branch,
    History,
    find_branch,
    fresh_thread,
    keep_branch,
    made_at,
    shown,
)
from harness.debug.engine.stops import (
    FREE,
    Breakpoints,
    Mode,
    Stop,
    TaskInfo,
    end_of,
    state_names,
    unfinished,
)
from harness.debug.engine.usage import Meter, mapping

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore, Held
    from harness.debug.engine.recording import Recording


class Stepper:
    """A graph that runs in a thread of its own; every command returns its next stop.

    Attributes:
        store: where its state goes, and where its branches are.
        breakpoints: where to stop and what to watch; shared by all branches.
        branch: the branch that runs, or ran last.
        recording: what is served in a replay, else None.
        meter: tokens and money of every task.
        graph: the graph, saving in the session's store.
        last: the last stop.
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
                None where somebody else runs graphs (:class:`harness.debug.Attached`).
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
        self.graph: Any = None
        self._use(graph)
        self.last: Stop | None = None
        self._config = config or {}
        self._context = context
        self._stop_on_exception = stop_on_exception
        self._find_mutations = find_mutations
        self._beyond = beyond
        self._told = set[str]()  # what is held in memory, as it was shown
        self._stopped: tuple[str, float] | None = None  # the thread that stands, and since when
        self._controller: Controller | None = None
        self._thread: threading.Thread | None = None

    # Running

    def start(self, values: Any, *, thread: str | None = "main", hold: bool = True) -> Stop:
        """Run the graph on an input, from its beginning or as the thread's next turn.

        With `hold`, the first stop is in front of the first node; else at a breakpoint or the end.
        Without `thread` the run gets one of its own: `main`, or `main.1`, … where that is in use.
        """
        self.quit()
        threads = self.store.threads()
        if thread is None:
            thread = fresh_thread(self.store, "main") if "main" in threads else "main"
        if thread not in threads:
            self.branch = Branch(thread, thread)
            self.breakpoints.keep_visits(())
        else:
            self.branch = find_branch(self.store, thread)
        return self._run(values, Mode() if hold else FREE)

    def resume(self, thread: str | None = None, *, hold: bool = True) -> Stop:
        """Resume a thread that was left unfinished, by this process or another."""
        self.quit()
        self.branch = find_branch(self.store, thread or self._now.thread)
        if lost := [f"{key} ({held.type})" for key, held in self._held().items() if not held.forks]:
            raise BadInput(
                f"what the state held in memory is gone with its session: {', '.join(lost)}; "
                "fork at a step before it was made, or replay"
            )
        return self._run(None, Mode() if hold else FREE)

    def open(self, thread: str) -> Stop:
        """Open a thread: at its end, at its question, or in front of what comes next."""
        self.quit()
        self.branch = find_branch(self.store, thread)
        state = self.graph.get_state({"configurable": {"thread_id": self.branch.thread}})
        lost = any(not held.forks for held in self._held().values())
        if state.next and not state.interrupts and not lost:
            return self.resume(thread)
        self.last = end_of(state, state.values)
        return self.last

    def answer(self, value: Any, *, hold: bool = False) -> Stop:
        """Answer an interrupt or a model call: a value, or values by id where several wait."""
        from langgraph.types import Command

        gate = self._gate
        if gate is not None and gate.request is not None and self._controller is not None:
            mode, gate.verdict, gate.writes = self._controller.mode, "serve", value
            return self._go(lambda _: mode)
        if self.last is None or self.last.reason != "interrupt":
            raise BadInput("expected a run that waits for an answer; this one does not")
        questions = self.last.interrupts
        if len(questions) > 1:
            ids = {*mapping(value)}
            if not ids or ids - questions.keys():
                waiting = ", ".join(f"{name} ({node})" for name, node in self.last.asked_by.items())
                raise BadInput(
                    f"{len(questions)} questions wait: {waiting}; answer them by id: "
                    f"{self.last.hint[0]}"
                )
        return self._run(Command(resume=value), Mode() if hold else FREE)

    def step(self) -> Stop:
        """Run the current node, its sub-graph included, and stop in front of the next one."""
        return self._go(lambda task: Mode(target=task.own_ns))

    def step_into(self) -> Stop:
        """Run the current node; if it is or calls a graph, stop in front of that one's first."""
        return self._go(lambda task: Mode(target=task.own_ns, into=True))

    def step_out(self) -> Stop:
        """Finish the current graph and stop in the one around it."""
        return self._go(lambda task: Mode(target=task.ns) if task.ns else FREE, FREE)

    def go(self) -> Stop:
        """Run to the next breakpoint, exception, interrupt or the end."""
        return self._go(lambda _: FREE, FREE)

    def pause(self, timeout: float | None = None) -> Stop:
        """Stop a running graph at its next node."""
        if self._gate is not None and self.last is not None:
            return self.last
        self.ask_pause()
        return self.wait(timeout)

    def ask_pause(self) -> None:
        """Ask a run to stop at its next node; for a thread beside the one that waits for it."""
        if self._controller is not None:
            self._controller.pause()

    def wait(self, timeout: float | None = None) -> Stop:
        """The next stop of a graph that runs.

        Raises:
            TimeoutError: if there is none within `timeout` seconds.
        """
        controller = self._controller
        if controller is None:
            raise BadInput("nothing runs; start a run first")
        try:
            stop = controller.stops.get(timeout=timeout)
        except queue.Empty as error:
            raise TimeoutError(f"the graph has not stopped within {timeout} s") from error
        if self.branch is not None:
            self._stopped = (self.branch.thread, time.time())
        mutated, emitted = tuple(controller.mutated), tuple(controller.emitted)
        del controller.mutated[: len(mutated)], controller.emitted[: len(emitted)]
        held = self._newly_held()
        self.last = replace(stop, mutated=mutated, emitted=emitted, held=held)
        # Note in the branch where it left the recording.
        task = self.recording.left_at if self.recording is not None else None
        if task is None and stop.reason == "left recording":
            task = stop.task
        if task is not None and self._now.left_at is None:
            self.branch = replace(self._now, left_at=task.where)
            keep_branch(self.store, self.branch)
        return self.last

    def quit(self) -> None:
        """Start no more tasks and wait for those that run. The thread can be resumed."""
        if self._controller is not None and self._thread is not None and self._thread.is_alive():
            self._controller.suspend()
            self._thread.join()
        self._controller = self._thread = None

    def innermost(self) -> list[TaskInfo]:
        """The nodes that run and wait for none inside them."""
        return [gate.info for gate in (self._controller.innermost() if self._controller else ())]

    def place(self) -> tuple[str, int, str]:
        """Thread, step and id of the only node that runs; of several, none can be told apart."""
        running = self.innermost()
        thread = "" if self.branch is None else self.branch.thread
        task = running[0] if len(running) == 1 else None
        return (thread, -1, "") if task is None else (thread, task.step, task.id)

    async def ask(self, request: Any) -> Any:
        """What a person answers for the model that the node which runs asks."""
        if self._controller is None:
            raise BadInput("nothing runs that a person could answer")
        return await self._controller.ask(request)

    # Looking

    def state(self, thread: str | None = None) -> dict[str, Any]:
        """The state where the run stands (of the current task's graph), or a thread's latest."""
        gate = self._gate
        if thread is None and gate is not None:
            names = state_names(gate.task)
            del names["input"]
            return names
        history = self.history(thread)
        latest = history.latest()
        return {} if latest is None else shown(history.load(latest))

    def history(self, name: str | None = None) -> History:
        """A branch's checkpoints."""
        history = History(self.store, self._source(name).thread)
        history.names = self.breakpoints.names
        return history

    # Inside

    @property
    def _now(self) -> Branch:
        if self.branch is None:
            raise BadInput("no branch is open; start or resume a run first")
        return self.branch

    def _source(self, name: str | None) -> Branch:
        """The branch of that name; by default the current one."""
        return find_branch(self.store, name) if name else self._now

    @property
    def _gate(self) -> Gate | None:
        """The task in front of which, or in which, the run stands."""
        return None if self._controller is None else self._controller.current

    @property
    def _standing(self) -> Gate:
        if self._gate is None:
            hint = f"; {self.last.hint[0]!r} goes on from here" if self.last else ""
            raise BadInput(f"the run does not stand in front of a node{hint}")
        return self._gate

    def _go(self, mode: Callable[[TaskInfo], Mode], otherwise: Mode | None = None) -> Stop:
        """Go on in the mode for the current task; a run that ended unfinished is resumed."""
        resumable = self.last is not None and self.last.reason in ("suspended", "failed")
        if self._gate is None and resumable:
            return self._run(None, otherwise or Mode())
        gate = self._standing
        if gate.request is not None and gate.verdict is None:
            raise BadInput("the node waits for what its model says: 'answer \"…\"'")
        self._start_clock()
        assert self._controller is not None
        self._controller.release(mode(gate.info))
        return self.wait()

    def _use(self, graph: Any) -> None:
        """Run `graph` from now on, its state in the session's store; None for the same one."""
        if graph is not None:
            self.graph = graphs.with_store(graph, self.store)
            self.store = self.graph.checkpointer

    def _held(self) -> dict[str, Held]:
        """The values of the latest state that are held in memory, by key."""
        if self.branch is None or self.graph is None:
            return {}
        return graphs.held_at(self.store, {"configurable": {"thread_id": self.branch.thread}}, "")

    def _newly_held(self) -> tuple[str, ...]:
        """Keys and types that are held in memory and were not named yet."""
        news: list[str] = getattr(self.store.serde, "news", [])
        values = self._held() if news else {}
        news.clear()
        names = {f"{key} ({held.type})" for key, held in values.items()} - self._told
        self._told |= names
        return tuple(sorted(names))

    def _start_clock(self) -> None:
        """Note in the branch for how long it stood: no node took that time.

        A run that another process left, or that was forked, has stood since its last checkpoint.
        """
        branch = self.branch
        if branch is None:
            return
        thread, since = self._stopped or ("", None)
        if thread != branch.thread:
            times = (made_at(moment.id) for moment in History(self.store, branch.thread).moments)
            since = max((moment for moment in times if moment is not None), default=None)
        if since is not None:
            self.branch = replace(branch, stood=(*branch.stood, (since, time.time())))
        self._stopped = None
        keep_branch(self.store, self._now)

    def _run(self, values: Any, mode: Mode, recording: Recording | None = None) -> Stop:
        """Run the current branch in a thread of its own, with its event loop."""
        from langchain_core.runnables.config import merge_configs

        branch = self._now
        if self._thread is not None:
            self._thread.join()
        graphs.install_hooks()
        self._start_clock()
        self.recording = recording
        self._controller = controller = Controller(
            self.breakpoints,
            self.store,
            recording,
            mode=mode,
            stop_on_exception=self._stop_on_exception,
            find_mutations=self._find_mutations,
        )
        configurable = {**self._config.get("configurable", {}), "thread_id": branch.thread}
        configurable[graphs.HOOK] = controller
        callbacks: Any = {"callbacks": [graphs.listener(self.meter)]}
        config = {
            **merge_configs(cast("Any", self._config), callbacks),
            "configurable": configurable,
        }
        graph, modes = self.graph, ["values", "custom"]
        settings: dict[str, Any] = {"stream_mode": modes, "context": self._context}
        saved = {"configurable": {"thread_id": branch.thread}}

        async def invoke(values: Any) -> Stop:
            """Asynchronously, whatever the nodes are; the stop says how the run ended."""
            before = None
            while True:
                result = None
                async for ns, mode, part in graph.astream(
                    values, config, durability="sync", subgraphs=True, **settings
                ):
                    if mode == "custom":
                        controller.emitted.append(part)
                    elif not ns:
                        result = part
                state = await graph.aget_state(saved)
                if state.next or state.interrupts:
                    with suppress(Exception):  # of a sub-graph that cannot be read
                        state = await graph.aget_state(saved, subgraphs=True)
                stop = end_of(state, result)
                after = (controller.arrivals, state.config)
                if stop.reason != "suspended" or controller.suspended or after == before:
                    return stop
                # `interrupt_before` and `interrupt_after` end LangGraph's run: stand there.
                values, before = None, after
                if recording is None:
                    controller.stand(unfinished(state))

        async def failed(error: BaseException) -> Stop:
            begun, pending = self.history().latest() is not None, ()
            with suppress(Exception):  # the state may be what failed
                pending = tuple[str, ...]((await graph.aget_state(saved)).next)
            from harness.debug.engine.sources import describe_failure

            failure = describe_failure(error)
            stop = Stop("failed", failure=failure, pending=pending, saved=begun)
            return stop if begun else replace(stop, sent=values)

        def work() -> None:
            try:
                stop = asyncio.run(invoke(values))
            except BaseException as error:  # noqa: BLE001  # whatever a user's graph raises is shown
                stop = asyncio.run(failed(error))
            controller.stops.put(stop)

        self._thread = threading.Thread(target=work, name="harness-debug", daemon=True)
        self._thread.start()
        return self.wait()
