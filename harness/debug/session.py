"""A debugging session: one graph, one store, the branch that runs now, and changes to it."""

from __future__ import annotations

from typing import Any

from harness.core import BadInput
from harness.debug import branches
from harness.debug.branches import Branch, Kind
from harness.debug.controller import FREE, Mode
from harness.debug.forks import Point, cut, overwrite
from harness.debug.graphs import subgraph, with_store
from harness.debug.history import History, prepare, replace_writes
from harness.debug.messages import input_with_ids
from harness.debug.recording import Beyond, Recording
from harness.debug.running import Running
from harness.debug.schema import checked
from harness.debug.types import Stop


class Debugger(Running):
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
    ) -> Stop:
        """Make a branch that goes on from `point`, with the state changed, and switch to it.

        Args:
            point: the last checkpoint that is kept.
            of: the branch that has it; by default the current one.
            name: of the new branch.
            values: state keys to overwrite in the graph of `point`.
            graph: the graph to go on with, if it is another (after an edit of its source).
            hold: stop in front of the first node that runs.

        Raises:
            BadInput: if there is no such point or the values do not fit the state's schema;
                nothing is stored then.
        """
        return self._fork(point, of, name, "state edit" if values else "fork", values, graph, hold)

    def rewind(self, steps: int = 1, *, hold: bool = True) -> Stop:
        """Go back by super-steps of the graph that the run stands in, into a new branch."""
        current = self._controller.current if self._controller is not None else None
        ns = "" if current is None else current.info.ns
        history = self.history()
        end = history.latest(ns)
        line = [] if end is None else history.line(ns, end.id)
        if not 0 < steps < len(line):
            raise BadInput(f"expected 1 to {max(len(line) - 1, 0)} steps back, found {steps!r}")
        return self.fork(Point(ns, line[steps]), hold=hold)

    def edit(self, values: dict[str, Any], *, name: str | None = None) -> Stop:
        """Change the state where the run stands; it stands there still, in a new branch."""
        task = self._standing
        point = Point(task.ns, task.checkpoint, task.id)
        return self._fork(point, None, name, "state edit", values, None, True, goal=task.own_ns)

    def edit_output(
        self,
        point: Point,
        values: Any,
        *,
        of: str | None = None,
        name: str | None = None,
        graph: Any = None,
    ) -> Stop:
        """Go on as if the task `point.task` had returned `values`, in a new branch.

        Its writers and routes run on the new values (with the values it returned and a mended
        `graph`: its routes are taken anew); its neighbours' writes are kept.
        """
        if point.task is None:
            raise BadInput("expected a point with the task whose output is edited")
        source = branches.found(self.store, of) if of else self._now
        history = History(self.store, source.thread)
        moment = history.find(point.checkpoint, point.ns)
        self.quit()
        self._graph = self._graph if graph is None else with_store(graph, self.store)
        branch = self._cut(source, history, point, name, "output edit")
        saved = History(self.store, branch.thread).load(moment)
        inner = subgraph(self._graph, moment.names)
        task = next((t for t in prepare(inner, self.store, saved) if t.id == point.task), None)
        if task is None:
            raise BadInput(f"checkpoint {moment.id!r} has no task {point.task!r}")
        place = {
            "thread_id": branch.thread,
            "checkpoint_ns": moment.ns,
            "checkpoint_id": moment.id,
        }
        self.store.put_writes({"configurable": place}, replace_writes(task, values), task.id)
        self.branch = branch
        return self._run(None, self._enter(point))

    def reload(self, graph: Any) -> Stop:
        """Go on with a changed graph from where the run stands; earlier nodes are not run again.

        After an exception the node that raised runs anew; an ended run stays as it is.
        """
        graph = with_store(graph, self.store)
        if self._controller is None or self._controller.current is None:
            self._graph = graph
            return self._run(None, Mode())
        task = self._standing
        self.quit()
        self._graph = graph
        return self._run(None, self._enter(Point(task.ns, task.checkpoint), task.own_ns))

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
        reason `left recording`; going on from there runs nodes live. With `beyond="live"` it does
        not stop. With `reroute`, the edges of a changed graph decide anew where to go.
        """
        source = branches.found(self.store, of) if of else self._now
        history = History(self.store, source.thread)
        first = next((m for m in history.trail() if m.source == "input" and m.ns == ""), None)
        if first is None:
            raise BadInput(f"branch {source.name!r} has no input to replay")
        self.quit()
        thread = branches.fresh(self.store, source.thread)
        self.branch = Branch(thread, thread, "replay", source.thread)
        self.breakpoints.keep_visits(())
        recording = Recording(self._graph, history, self.store.serde, beyond, reroute=reroute)
        given = _input_of(history.load(first).checkpoint["channel_values"])
        values = input_with_ids(given, recording.input_ids)
        return self._run(values, Mode() if hold else FREE, recording)

    def _fork(
        self,
        point: Point,
        of: str | None,
        name: str | None,
        kind: Kind,
        values: dict[str, Any] | None,
        graph: Any,
        hold: bool,
        goal: str | None = None,
    ) -> Stop:
        source = branches.found(self.store, of) if of else self._now
        history = History(self.store, source.thread)
        moment = history.find(point.checkpoint, point.ns)
        point = Point(moment.ns, moment.id, point.task)
        if graph is not None:
            graph = with_store(graph, self.store)
        inner = subgraph(graph or self._graph, moment.names)
        fitting = checked(inner, values) if values and inner is not None else values
        self.quit()
        self._graph = graph or self._graph
        branch = self._cut(source, history, point, name, kind)
        if fitting:
            overwrite(self.store, branch.thread, moment, fitting)
        self.branch = branch
        return self._run(None, self._enter(point, goal) if hold else FREE)

    def _cut(
        self, source: Branch, history: History, point: Point, name: str | None, kind: Kind
    ) -> Branch:
        thread = branches.fresh(self.store, source.thread.partition(".")[0])
        branch = Branch(thread, name or thread, kind, source.thread, point)
        branches.keep(self.store, branch)
        self.breakpoints.keep_visits(cut(self.store, self._graph, history, point, thread))
        return branch

    def _enter(self, point: Point, goal: str | None = None) -> Mode:
        """Stop at the next task, but not on the way into the graph of `point`."""
        parts = point.ns.split("|") if point.ns else []
        outer = frozenset("|".join(parts[: end + 1]) for end in range(len(parts)))
        return Mode(through=outer, goal=goal)


def _input_of(channels: dict[str, Any]) -> Any:
    """The input that a graph was started with, from its first checkpoint."""
    if "__start__" in channels:
        return channels["__start__"]
    return {name: value for name, value in channels.items() if not name.startswith("__")}
