"""Positions and stops of a run: tasks, reasons, modes to go on; breakpoints and watches."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from harness.checkpoints import segments, split_ns
from harness.core import BadInput
from harness.debug.engine.expressions import Expression

Reason = Literal[
    "step", "breakpoint", "pause", "static interrupt", "exception", "interrupt", "model call",
    "left recording", "done", "failed", "suspended",
]  # fmt: skip
"""A reason for which a run stands still. `static interrupt`: `interrupt_before` or
`interrupt_after`; `model call`: a person answers for the model; `failed`: it ended with an
exception; `suspended`: it can go on."""
_HINTS: dict[Reason, tuple[str, str]] = {
    "step": ("step", ""),
    "breakpoint": ("step", "or continue"),
    "pause": ("step", "or continue"),
    "static interrupt": ("step", "or continue"),
    "exception": ("retry", "after reload if you mended the file; continue lets it be raised"),
    "left recording": ("live", "with the real model and tools"),
    "done": ("replay", "or fork STEP, rewind, start JSON"),
    "failed": ("continue", "runs what failed again"),
    "suspended": ("continue", ""),
}
HIDDEN = ("__", "branch:", "join:")
"""Beginnings of LangGraph's own channels; every other is a key of the state."""


@dataclass(frozen=True)
class TaskInfo:
    """One execution of one node.

    Attributes:
        id: LangGraph's task id; the same for the same checkpoint, node and place in the step.
        node: the node's name.
        names: names of the sub-graph nodes around it, outermost first; empty in the main graph.
        ns: namespace of the graph that holds the node; empty for the main graph.
        checkpoint: the checkpoint that the task started from.
        own_ns: namespace of what runs inside the node.
        step: number of the super-step in its graph.
        path: LangGraph's path of the task: pulled by an edge, or pushed by a `Send` or a call.
        visit: how often this node has run in the thread, this time included; from 1.
    """

    id: str
    node: str
    names: tuple[str, ...]
    ns: str
    checkpoint: str
    own_ns: str
    step: int
    path: tuple[Any, ...]
    visit: int = 1

    @property
    def pushed(self) -> bool:
        """Whether a `Send` or a call made it, not an edge."""
        return self.path[:1] != ("__pregel_pull",)

    @property
    def depth(self) -> int:
        """0 in the main graph."""
        return len(self.names)

    @property
    def where(self) -> str:
        """`outer/inner/node`."""
        return "/".join((*self.names, self.node))


@dataclass(frozen=True)
class SourceFrame:
    """A frame of a traceback in somebody's code, with its local variables as text."""

    file: str
    line: int
    function: str
    code: str
    locals: dict[str, str]


@dataclass(frozen=True)
class Failure:
    """An exception that a node raised."""

    type: str
    message: str
    frames: tuple[SourceFrame, ...]


@dataclass(frozen=True)
class Stop:
    """The position of a run that stands.

    Attributes:
        reason: why.
        task: the node in front of which (or, on an exception, in which) it stands.
        waiting: every task that is held, the current one first.
        running: tasks that run meanwhile (enclosing nodes, parallel branches).
        breakpoint: the number of the breakpoint, if one was hit.
        watches: each watch expression with its value, or the error that it gave.
        failure: what was raised.
        interrupts: id and value of each question that waits for an answer; what a model was sent.
        asked_by: the node (`outer/node`) of each question, by id.
        pending: nodes that would run next where a run has failed.
        saved: whether a run that has failed has taken its input.
        sent: the input of a task that a `Send` or a call made, or of a run that could not begin.
        emitted: what nodes have written to the custom stream since the last stop.
        held: what the state holds in memory alone since the last stop: keys and types.
        values: the graph's output once it is done.
        mutated: nodes that changed their input in place since the last stop (if that is looked
            for).
    """

    reason: Reason
    task: TaskInfo | None = None
    waiting: tuple[TaskInfo, ...] = ()
    running: tuple[TaskInfo, ...] = ()
    breakpoint: int | None = None
    watches: dict[str, Any] = field(default_factory=dict[str, Any])
    failure: Failure | None = None
    interrupts: dict[str, Any] = field(default_factory=dict[str, Any])
    asked_by: dict[str, str] = field(default_factory=dict[str, str])
    values: Any = None
    mutated: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    saved: bool = False
    held: tuple[str, ...] = ()
    sent: Any = None
    emitted: tuple[Any, ...] = ()

    @property
    def hint(self) -> tuple[str, str]:
        """A command of the terminal that goes on from here, and what it does."""
        if self.interrupts:
            if len(self.interrupts) == 1:
                return 'answer "…"', "JSON"
            answers = json.dumps(dict.fromkeys(self.interrupts, "…"), ensure_ascii=False)
            return f"answer {answers}", "JSON by id; one is enough, then the others are asked again"
        if self.failure is not None and self.failure.type == "GraphRecursionError":
            return "continue", "as many steps again"
        if self.reason == "failed" and self.failure is not None:
            if self.failure.type == "InvalidUpdateError":
                return "rewind", "run the nodes of this step again"
            if not self.pending:
                return (
                    ("fork 0", "from its first node")
                    if self.saved
                    else (
                        f"start {json.dumps(self.sent or {}, default=str)}",
                        "change what it gets",
                    )
                )
        return _HINTS[self.reason]

    @property
    def ended(self) -> bool:
        """Return whether nothing runs any more."""
        return self.reason in ("done", "failed", "interrupt", "suspended")


@dataclass(frozen=True)
class Breakpoint:
    """A condition to stop at.

    Attributes:
        node: a node's name, or `outer/inner/node`; `*` for every node.
        visit: stop at this visit only (from 1), or None for every one.
        condition: an expression over the state (:mod:`harness.debug.engine.expressions`), or None.
    """

    node: str
    visit: int | None = None
    condition: str | None = None


def alike(first: str, second: str) -> bool:
    """Compare two parts of namespaces, which may name the same task.

    A graph with a history of its own (`checkpointer=True`) keeps it under names alone, those
    around it included: `middle|inner` for what runs in `middle:1|inner:2`.
    """
    short = ":" not in first or ":" not in second
    return first == second or (short and first.partition(":")[0] == second.partition(":")[0])


def is_inside(ns: str, outer: str) -> bool:
    """Return whether the namespace `ns` is `outer` or one below it."""
    parts, around = segments(ns), segments(outer)
    return ns == outer or (0 < len(around) <= len(parts) and all(map(alike, parts, around)))


@dataclass(frozen=True)
class Mode:
    """Extent of a command to go on.

    Attributes:
        free: no task waits (except at breakpoints).
        target: own namespace of the task that is being stepped over; what is inside may run.
        into: stop inside the target too.
        through: namespaces on the way to which tasks are entered without a stop.
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
        """Return whether the task may run without a stop."""
        if self.free or any(is_inside(ns, info.own_ns) for ns in self.through):
            return True
        return not self.into and self.target is not None and is_inside(info.ns, self.target)

    def stops_at(self, info: TaskInfo) -> bool:
        """Return whether to announce a stop at a task that is held and has not asked for one."""
        if self.target is not None:
            return self.into and is_inside(info.ns, self.target)
        return not self.free and self.goal in (None, info.own_ns)


FREE = Mode(free=True)


def describe_task(task: Any) -> TaskInfo:
    """Read a task that LangGraph is about to run."""
    configurable: Mapping[str, Any] = task.config["configurable"]
    own_ns = str(configurable["checkpoint_ns"])
    checkpoints = cast("dict[str, str]", configurable.get("checkpoint_map") or {})
    ns = own_ns.rpartition("|")[0]
    while ns and ns not in checkpoints:
        ns = ns.rpartition("|")[0]
    return TaskInfo(
        id=task.id,
        node=task.name,
        names=split_ns(ns),
        ns=ns,
        checkpoint=checkpoints.get(ns, ""),
        own_ns=own_ns,
        step=int(task.config.get("metadata", {}).get("langgraph_step", 0)),
        path=tuple(task.path),
    )


def state_names(task: Any) -> dict[str, Any]:
    """The state as a task sees it, by channel, and its own input under `input`.

    Keys of the input win: what a `Send` carries is what the node works on.
    """
    read = task.config["configurable"].get("__pregel_read")
    names: dict[str, Any] = {}
    if read is not None:
        for channel in read.args[1]:
            if not channel.startswith(HIDDEN):
                names.update(read([channel]))
    values: Any = task.input
    if isinstance(values, Mapping):
        names.update(cast("Mapping[str, Any]", values))
    else:
        fields = cast("Mapping[str, Any]", getattr(values.__class__, "model_fields", {}))
        names.update({name: getattr(values, name) for name in fields})
    names["input"] = values
    return names


def end_of(state: Any, values: Any) -> Stop:
    """The stop at the end of a run, by the state that it left."""
    if state.interrupts:
        questions = {interrupt.id: interrupt.value for interrupt in state.interrupts}
        return Stop("interrupt", interrupts=questions, asked_by=_asked_by(state), values=values)
    return Stop("suspended" if state.next else "done", values=values, pending=tuple(state.next))


def _asked_by(state: Any, around: tuple[str, ...] = ()) -> dict[str, str]:
    """The innermost node of each question, by id."""
    questions: dict[str, str] = {}
    for task in state.tasks:
        path = (*around, task.name)
        questions.update(
            dict.fromkeys((question.id for question in task.interrupts), "/".join(path))
        )
        if hasattr(task.state, "tasks"):
            questions.update(_asked_by(task.state, path))
    return questions


def unfinished(state: Any) -> list[str]:
    """Namespaces of the innermost graphs that have begun and are not done."""
    inner = [task.state for task in state.tasks if getattr(task.state, "next", None)]
    ns = str(state.config["configurable"].get("checkpoint_ns", ""))
    return [inner_ns for below in inner for inner_ns in unfinished(below)] or [ns]


class Breakpoints:
    """Breakpoints, and the expressions to show at them.

    Attributes:
        points: every breakpoint under its number.
        watches: the expressions that are shown at every stop, by their texts.
        names: of every task that came, `outer/inner/node` by id.
    """

    def __init__(self) -> None:
        self.points: dict[int, Breakpoint] = {}
        self.watches: dict[str, Expression] = {}
        self._conditions: dict[int, Expression | None] = {}
        # By `outer/inner/node`, own namespaces of its visits, each with its checkpoint.
        self._visits: dict[str, dict[str, str]] = {}
        self.names: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, point: Breakpoint) -> int:
        """Add a breakpoint; its number.

        Raises:
            BadInput: if the visit is below 1 or the condition cannot be read.
        """
        if point.visit is not None and point.visit < 1:
            raise BadInput(f"expected a visit from 1, found {point.visit!r}")
        condition = None if point.condition is None else Expression(point.condition)
        number = next(self._numbers)
        self._conditions[number] = condition
        self.points[number] = point
        return number

    def remove(self, number: int) -> None:
        """Remove a breakpoint.

        Raises:
            BadInput: if there is none of that number.
        """
        if self.points.pop(number, None) is None:
            raise BadInput(f"no breakpoint {number}; there are {sorted(self.points) or 'none'}")

    def watch(self, text: str) -> None:
        """Show the value of an expression at every stop."""
        self.watches[text] = Expression(text)

    def unwatch(self, text: str) -> None:
        """Show it no more."""
        self.watches.pop(text, None)

    def watched(self, task: Any) -> dict[str, Any]:
        """Every watch with its value in front of LangGraph's `task`; an error is shown as text."""
        state = state_names(task) if self.watches else {}
        values: dict[str, Any] = {}
        for text, watch in self.watches.items():
            try:
                values[text] = watch.value(state)
            except BadInput as error:
                values[text] = f"<{error}>"
        return values

    def count(self, task: TaskInfo) -> TaskInfo:
        """The task with its visit number. A task that comes again keeps its number."""
        with self._lock:
            self.names[task.id] = task.where
            visits = self._visits.setdefault(task.where, {})
            visits.setdefault(task.own_ns, task.checkpoint)
            return replace(task, visit=list(visits).index(task.own_ns) + 1)

    def keep_visits(self, checkpoints: Collection[str]) -> None:
        """Forget the visits of tasks that did not start from one of these checkpoints."""
        for where, visits in self._visits.items():
            self._visits[where] = {
                ns: checkpoint for ns, checkpoint in visits.items() if checkpoint in checkpoints
            }

    def visits(self) -> dict[str, int]:
        """Count the runs of each node, by `outer/inner/node`."""
        return {where: len(tasks) for where, tasks in self._visits.items()}

    def hit(self, info: TaskInfo, task: Any) -> int | None:
        """The number of the first breakpoint that LangGraph's `task`, or `info` of it, meets.

        A condition that fails (a key that is not there yet) does not stop the run.
        """
        for number, point in [*self.points.items()]:
            at_node = point.node in ("*", info.node, info.where)
            if at_node and point.visit in (None, info.visit):
                condition = self._conditions[number]
                with suppress(BadInput):
                    if condition is None or condition.value(state_names(task)):
                        return number
        return None
