"""A debugging session: one graph, one store, the branch that runs now, and changes to it.

LangGraph replays from a checkpoint by running past it again under new ids, and looks sub-graphs'
checkpoints up by time, which starts sub-graphs anew (langgraph #8458). A fork here is a copy of
the thread, cut at the point, with all ids kept. The copy looks like a run that was stopped just
there, so LangGraph's plain resumption continues it: at any depth, with finished parallel branches
and earlier sub-graphs in place. Only what follows the point runs.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.checkpoints import Moment, config_at, segments
from harness.core import BadInput
from harness.debug.engine import graphs
from harness.debug.engine.controller import Controller
from harness.debug.engine.graphs import checked, held_at, subgraph
from harness.debug.engine.history import (
    OUTSIDE,
    Branch,
    History,
    Kind,
    Point,
    fresh_thread,
    keep_branch,
    replace_writes,
    shown,
)
from harness.debug.engine.recording import Beyond, Recording
from harness.debug.engine.stepping import Stepper
from harness.debug.engine.stops import FREE, Breakpoint, Mode, Stop, alike
from harness.debug.engine.usage import mapping

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_ITEMS = 1000
"""Items of a store that are looked at."""
_SAVING_S = 10.0
"""Longest time that a checkpoint takes which LangGraph saves while the next tasks begin."""


class Debugger(Stepper):
    """Runs a graph under control and changes it: forks, edits, reloads, replays.

    Every change goes into a branch of its own; no branch is ever written over.

    Example:
        with open_store(path) as store:
            debugger = Debugger(graph, store)
            stop = debugger.start({"question": "…"})
            while not stop.ended:
                stop = debugger.step()
    """

    def fork(
        self,
        point: Point,
        *,
        of: str | None = None,
        name: str | None = None,
        values: dict[str, Any] | None = None,
        graph: Any = None,
        hold: bool = True,
        goal: str | None = None,
    ) -> Stop:
        """Make a branch that continues from `point`, with the state changed, and switch to it.

        Args:
            point: the last checkpoint that is kept.
            of: the branch that has it; by default the current one.
            name: of the new branch.
            values: state keys to overwrite in the graph of `point`.
            graph: the graph to continue with, if it is another (after an edit of its source).
            hold: stop in front of the first node that runs.
            goal: own namespace of the only task to stop at, where several are next.

        Raises:
            BadInput: if there is no such point or the values do not fit the state's schema;
                nothing is stored then.
        """
        source = self._source(of)
        history = History(self.store, source.thread)
        moment = history.find(point.checkpoint, point.ns)
        point = Point(moment.ns, moment.id, point.task)
        inner = subgraph(self.graph if graph is None else graph, moment.names)
        if values and inner is not None:
            values = checked(inner, values, shown(history.load(moment)))
        self._refuse_held(history, moment, point.task, values or {})
        self.quit()
        self._use(graph)
        branch = self._cut(source, history, point, name, "state edit" if values else "fork")
        if values:
            self._overwrite(branch.thread, moment, values)
        self.branch = branch
        return self._run(None, _enter(point, goal) if hold else FREE)

    def rewind(self, steps: int = 1, *, hold: bool = True) -> Stop:
        """Go back by super-steps of the graph that the run stands in, into a new branch."""
        ns = "" if self._gate is None else self._gate.info.ns
        history = self.history()
        end = history.latest(ns)
        line = [] if end is None else history.line(ns, end.id)
        # Of a step that has failed there is no checkpoint to go back from.
        failed = self.last is not None and self.last.reason == "failed"
        back = line if failed else line[1:]
        if not 0 < steps <= len(back):
            raise BadInput(f"expected 1 to {len(back)} steps back, found {steps!r}")
        return self.fork(Point(ns, back[steps - 1]), hold=hold)

    def edit(self, values: dict[str, Any], *, name: str | None = None) -> Stop:
        """Change the state where the run stands; it stands there still, in a new branch."""
        gate = self._standing
        task, sent = gate.info, mapping(gate.task.input)
        if task.pushed and (keys := [key for key in values if key in sent]):
            raise BadInput(
                f"{keys[0]!r} came to this task with its `Send`, not from the state: change what "
                "sent it (`output STEP JSON`), or what it returns (`serve JSON`)"
            )
        end = time.monotonic() + _SAVING_S
        while (task.ns, task.checkpoint) not in self.history() and time.monotonic() < end:
            time.sleep(0.01)  # the input is saved beside the first tasks
        point = Point(task.ns, task.checkpoint, task.id)
        return self.fork(point, name=name, values=values, goal=task.own_ns)

    def edit_output(
        self,
        point: Point,
        values: Any,
        *,
        of: str | None = None,
        name: str | None = None,
        graph: Any = None,
    ) -> Stop:
        """Continue as if the task `point.task` had returned `values`, in a new branch.

        Its writers and routes run on the new values (with the values it returned and a mended
        `graph`: its routes are taken anew); its neighbours' writes are kept.
        """
        if point.task is None:
            raise BadInput("expected a point with the task whose output is edited")
        source = self._source(of)
        history = History(self.store, source.thread)
        moment = history.find(point.checkpoint, point.ns)
        self._refuse_held(history, moment, point.task)
        self.quit()
        self._use(graph)
        branch = self._cut(source, history, point, name, "output edit")
        saved = History(self.store, branch.thread).load(moment)
        tasks = history.tasks(self.graph, moment, saved)
        task = next((prepared for prepared in tasks if prepared.id == point.task), None)
        if task is None:
            raise BadInput(f"checkpoint {moment.id!r} has no task {point.task!r}")
        config = config_at(branch.thread, moment.ns, moment.id)
        called = hasattr(task, "called")
        writes = [("__return__", values)] if called else replace_writes(task, values)
        path = history.paths.get((moment.ns, moment.id), {}).get(task.id, "")
        self.store.put_writes(config, writes, task.id, path)
        self.branch = branch
        return self._run(None, _enter(point))

    def reload(self, graph: Any) -> Stop:
        """Continue with a changed graph from where the run stands; earlier nodes do not run again.

        After an exception the node that raised runs anew; an ended run stays as it is.
        """
        mode = Mode()
        if self._gate is not None:
            task = self._gate.info
            self.quit()
            mode = _enter(Point(task.ns, task.checkpoint), task.own_ns)
        self._use(graph)
        return self._run(None, mode)

    def until(self, node: str) -> Stop:
        """Run to the next visit of a node."""
        number = self.stop_at(Breakpoint(node))
        try:
            return self.go()
        finally:
            self.breakpoints.remove(number)

    def stop_at(self, point: Breakpoint) -> int:
        """Add a breakpoint at a node that is there or has run; its number.

        Nodes of a graph that a node calls are not known before: `outer/inner` is taken there.

        Raises:
            BadInput: if there is no such node.
        """
        inside = (
            {"": self.graph, **dict(self.graph.get_subgraphs(recurse=True))} if self.graph else {}
        )
        nodes = {f"{ns}|{name}".strip("|") for ns, graph in inside.items() for name in graph.nodes}
        names = {name for node in nodes for name in (node.replace("|", "/"), node.split("|")[-1])}
        outer, inner, _ = point.node.partition("/")
        if (
            nodes
            and not (inner and outer in names)
            and point.node not in {"*", *names, *self.breakpoints.visits()}
        ):
            listed = ", ".join(sorted(name for name in names if "__" not in name))
            raise BadInput(f"no node {point.node!r}; there are {listed}")
        return self.breakpoints.add(point)

    def memory(self, namespace: str = "") -> dict[str, Any]:
        """Items of the graph's store below a namespace (`users/ada`), by namespace and key."""
        store: Any = getattr(self.graph, "store", None)
        prefix = tuple(filter(None, namespace.split("/")))
        items = () if store is None else store.search(prefix, limit=_ITEMS)
        return {"/".join((*item.namespace, item.key)): item.value for item in items}

    def replay(
        self,
        of: str | None = None,
        *,
        beyond: Beyond = "stop",
        reroute: bool = False,
        hold: bool = False,
    ) -> Stop:
        """Run a branch's input again, every node served from its recorded writes.

        Where a node or its input is not recorded (the graph was changed), the run stops with the
        reason `left recording`; from there nodes run live. With `beyond="live"` it does
        not stop. With `reroute`, the edges of a changed graph decide anew where to go.
        """
        source = self._source(of)
        history = History(self.store, source.thread)
        first = next((m for m in history.trail() if m.source == "input" and m.ns == ""), None)
        if first is None:
            raise BadInput(f"branch {source.name!r} has no input to replay")
        self.quit()
        thread = fresh_thread(self.store, source.thread)
        self.branch = Branch(thread, thread, "replay", source.thread)
        self.breakpoints.keep_visits(())
        recording = Recording(self.graph, history, self.store.serde, beyond, reroute=reroute)
        # The input that a graph was started with stands in its first checkpoint.
        channels = history.load(first).checkpoint["channel_values"]
        state = {name: value for name, value in channels.items() if not name.startswith("__")}
        values = recording.input_with_ids(channels.get("__start__", state))
        return self._run(values, Mode() if hold else FREE, recording)

    def retry(self) -> Stop:
        """Run the node that raised once more."""
        gate = self._standing
        if gate.failure is None:
            raise BadInput("no exception to try again; `step` runs the node")
        gate.verdict = "retry"
        return self.go()

    def live(self) -> Stop:
        """Continue behind the recording: run the node that left it, and stop before the next."""
        if self.last is None or self.last.reason != "left recording":
            raise BadInput("the run does not stand where it left its recording; `step` runs a node")
        if self.last.failure is not None:
            if self._beyond is not None:
                self._beyond()
            self._standing.verdict = "retry"
        return self.step()

    def serve(self, values: Any) -> Stop:
        """Continue as if the current node had returned `values`, without running it."""
        gate = self._standing
        gate.verdict, gate.writes = "serve", replace_writes(gate.task, values)
        return self._go(lambda _: Mode())

    def _refuse_held(
        self, history: History, end: Moment, task: str | None, values: Collection[str] = ()
    ) -> None:
        """Refuse a fork whose state has what can be neither stored nor copied.

        Args:
            history: of the thread.
            end: where to fork.
            task: that runs again; None for all of its step.
            values: keys that are overwritten there.
        """
        for ns, checkpoint in {**end.outer, end.ns: end.id}.items():
            inside = ns == end.ns
            config = config_at(history.thread, ns, checkpoint)
            values_held = held_at(self.store, config, (task or "") if inside else None)
            for key, value in values_held.items():
                if not value.forks and not (inside and key in values):
                    raise BadInput(
                        f"the state key {key!r} holds a {value.type}, which can be neither copied "
                        "nor stored: a branch cannot begin there; fork before it was made"
                    )

    def _cut(
        self, source: Branch, history: History, point: Point, name: str | None, kind: Kind
    ) -> Branch:
        """A new branch with a copy of what came before `point`.

        The graph tells which task of a step a sub-graph with a history of its own
        (`checkpointer=True`) belongs to: its namespace does not.
        """
        thread, store = fresh_thread(self.store, source.thread.partition(".")[0]), self.store
        branch = Branch(thread, name or thread, kind, source.thread, point, stood=source.stood)
        keep_branch(store, branch)
        end = history.find(point.checkpoint, point.ns)
        frames = {**end.outer, end.ns: end.id}
        lines = {ns: history.line(ns, checkpoint) for ns, checkpoint in frames.items()}

        def is_before(moment: Moment) -> bool:
            if moment.ns in lines:
                return moment.id in lines[moment.ns]
            around = [ns for ns in moment.outer if ns in frames]
            if not around:
                return False
            ns = max(around, key=len)
            checkpoint = moment.outer[ns]
            if checkpoint != frames[ns]:
                return checkpoint in lines[ns]
            if ns == end.ns:
                return point.task is not None and point.task != task_of(moment.ns, ns, checkpoint)
            return not alike(_below(moment.ns, ns), _below(end.ns, ns)) or moment.id <= end.id

        @cache
        def task_of(inner: str, ns: str, checkpoint: str) -> str:
            """The task, of those behind a checkpoint, whose graphs the namespace `inner` is in."""
            node, _, task = _below(inner, ns).partition(":")
            tasks = [] if task else history.tasks(self.graph, history.find(checkpoint, ns))
            return next((prepared.id for prepared in tasks if prepared.name == node), task)

        earlier = {(moment.ns, moment.id) for moment in history.moments if is_before(moment)}
        store.copy_checkpoints(history.thread, thread, earlier)
        for ns, checkpoint in end.outer.items():
            # The task that holds the cut sub-graph is unfinished again. Its answers to earlier
            # interrupts stay: its code runs from the start and asks for them.
            task = task_of(end.ns, ns, checkpoint)
            saved = store.get_tuple(config_at(thread, ns, checkpoint))
            writes = (saved.pending_writes if saved is not None else None) or []
            channels = {channel for writer, channel, _ in writes if writer == task}
            if channels := channels - {"__resume__"}:
                store.drop_writes(thread, (ns, checkpoint), task, channels)
            store.drop_writes(thread, (ns, checkpoint), OUTSIDE)
        for task in history.reruns(end, point.task):
            store.drop_writes(thread, (end.ns, end.id), task)
        store.drop_writes(thread, (end.ns, end.id), OUTSIDE)
        self.breakpoints.keep_visits({checkpoint for _, checkpoint in earlier})
        return branch

    def _overwrite(self, thread: str, moment: Moment, values: dict[str, Any]) -> None:
        """Change state keys in a checkpoint, in place: no reducer, no change of what comes next."""
        saved = History(self.store, thread).load(moment)
        checkpoint = saved.checkpoint
        checkpoint["channel_values"].update(values)
        versions = checkpoint["channel_versions"]
        highest = max(versions.values(), default=None)
        for name in values.keys() - versions.keys():
            versions[name] = self.store.get_next_version(highest, None)
        config = config_at(thread, moment.ns, moment.parent)
        self.store.put(config, checkpoint, saved.metadata, dict(versions))


def _below(ns: str, outer: str) -> str:
    """The segment of a namespace that names the task of `outer` which it belongs to."""
    return "".join(segments(ns)[len(segments(outer)) :][:1])


def _enter(point: Point, goal: str | None = None) -> Mode:
    """Stop at the next task, but not on the way into the graph of `point`."""
    return Mode(through=frozenset((point.ns,)), goal=goal)


class Attached(Debugger):
    """Stops in every graph of the process whose node raises, or at a breakpoint.

    The runs are started by somebody else, a test for one, and nothing of them is changed: thread,
    event loop and checkpoints are their own. So there is stepping, looking, trying again and
    serving; branches need a run of the debugger's own. Commands come from another thread than
    those that run the graphs.
    """

    def __init__(self, store: CheckpointStore) -> None:
        """`store` is for the session's own notes; runs keep their own."""
        super().__init__(None, store)

    def attach(self) -> None:
        """Watch the runs that begin from now on."""
        graphs.install_hooks()
        self._controller = Controller(self.breakpoints)
        graphs.everywhere = self._controller

    def detach(self) -> None:
        """Release every task; a thread that waits for a stop gets `done`."""
        graphs.everywhere = None
        if self._controller is not None:
            self._controller.free()
            self._controller.stops.put(Stop("done"))
