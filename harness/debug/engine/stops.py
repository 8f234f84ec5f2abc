"""Where a run stands: its tasks, why it stopped, what a node raised."""

from __future__ import annotations

import linecache
import reprlib
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Reason = Literal[
    "step", "breakpoint", "pause", "exception", "interrupt", "left recording", "done", "failed",
    "suspended",
]  # fmt: skip
"""Why a run stands still. `failed`: it ended with an exception; `suspended`: it can go on."""
HIDDEN = ("__", "branch:", "join:")
"""Beginnings of LangGraph's own channels; every other is a key of the state."""
_MACHINERY = ("/langgraph/", "/langchain_core/", "/harness/debug/", "/concurrent/", "/asyncio/")
_SHOWN = 400
"""Characters of a local variable."""


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
        running: tasks that run meanwhile (enclosing nodes, parallel branches).
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
        condition: an expression over the state (:mod:`harness.debug.engine.expressions`), or None.
    """

    node: str
    visit: int | None = None
    condition: str | None = None


def split_ns(ns: str) -> tuple[str, ...]:
    """Node names of a namespace, outermost first: `a:1|2|b:3` is `a`, `b`.

    Segments of digits only number repeated calls of a sub-graph by one task.
    """
    parts = (part for part in ns.split("|") if part and not part.isdigit())
    return tuple(part.partition(":")[0] for part in parts)


def is_inside(ns: str, outer: str) -> bool:
    """Whether the namespace `ns` is `outer` or one below it."""
    return ns == outer or ns.startswith(f"{outer}|")


def describe_task(task: Any) -> TaskInfo:
    """Read a task that LangGraph is about to run."""
    place: Mapping[str, Any] = task.config["configurable"]
    own = str(place["checkpoint_ns"])
    checkpoints = cast("dict[str, str]", place.get("checkpoint_map") or {})
    ns = own.rpartition("|")[0]
    while ns and ns not in checkpoints:
        ns = ns.rpartition("|")[0]
    frames = tuple(
        Frame(name, checkpoints[name])
        for name in sorted(checkpoints, key=len)
        if name == "" or is_inside(ns, name)
    )
    return TaskInfo(
        id=task.id,
        node=task.name,
        names=split_ns(ns),
        own_ns=own,
        step=int(task.config.get("metadata", {}).get("langgraph_step", 0)),
        path=tuple(task.path),
        frames=frames or (Frame("", ""),),
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


def describe_failure(error: BaseException) -> Failure:
    """The exception's type, message and frames, LangGraph's own frames left out."""
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [
        (frame, line)
        for frame, line in frames
        if not any(part in frame.f_code.co_filename.replace("\\", "/") for part in _MACHINERY)
    ]
    short = reprlib.Repr()
    short.maxstring = short.maxother = _SHOWN
    sources = tuple(
        SourceFrame(
            frame.f_code.co_filename,
            line,
            frame.f_code.co_name,
            linecache.getline(frame.f_code.co_filename, line).strip(),
            {name: short.repr(value) for name, value in frame.f_locals.items()},
        )
        for frame, line in own or frames
    )
    return Failure(type(error).__name__, str(error), sources)
