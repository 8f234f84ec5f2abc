"""The debugger's values: where a run stands, why it stopped, what one step did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Reason = Literal[
    "step", "breakpoint", "pause", "exception", "interrupt", "left recording", "done", "failed",
    "suspended",
]  # fmt: skip
"""Why a run stands still. `failed`: it ended with an exception; `suspended`: it can go on."""


@dataclass(frozen=True)
class Frame:
    """One graph of the stack: its namespace and the checkpoint that its tasks started from."""

    ns: str
    checkpoint: str


@dataclass(frozen=True)
class TaskInfo:
    """One execution of one node.

    Attributes:
        id: LangGraph's task id; the same for the same checkpoint, node and place in the step.
        node: the node's name.
        names: names of the sub-graph nodes around it, outermost first; empty in the main graph.
        own_ns: namespace of what runs inside the node.
        step: number of the super-step in its graph.
        path: LangGraph's path of the task: pulled by an edge, or pushed by a `Send` or a call.
        frames: the stack of graphs, outermost first; the last holds the node.
        visit: how often this node has run in the thread, this time included; from 1.
    """

    id: str
    node: str
    names: tuple[str, ...]
    own_ns: str
    step: int
    path: tuple[Any, ...]
    frames: tuple[Frame, ...]
    visit: int = 1

    @property
    def ns(self) -> str:
        """Namespace of the graph that holds the node; empty for the main graph."""
        return self.frames[-1].ns

    @property
    def checkpoint(self) -> str:
        """The checkpoint that the task started from."""
        return self.frames[-1].checkpoint

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
    """Where a run stands.

    Attributes:
        reason: why.
        task: the node in front of which (or, on an exception, in which) it stands.
        waiting: every task that is held, the current one first.
        running: tasks that go on meanwhile (enclosing nodes, parallel branches).
        breakpoint: the number of the breakpoint, if one was hit.
        watches: each watch expression with its value, or the error that it gave.
        failure: what was raised.
        interrupts: id and value of each question that waits for an answer.
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
    values: Any = None
    mutated: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether nothing runs any more."""
        return self.reason in ("done", "failed", "interrupt", "suspended")


@dataclass(frozen=True)
class Breakpoint:
    """Where to stop.

    Attributes:
        node: a node's name, or `outer/inner/node`; `*` for every node.
        visit: stop at this visit only (from 1), or None for every one.
        condition: an expression over the state (:mod:`harness.debug.expressions`), or None.
    """

    node: str
    visit: int | None = None
    condition: str | None = None

    def names(self, task: TaskInfo) -> bool:
        """Whether the task's node is meant."""
        return self.node in ("*", task.node, task.where)
