"""What LangGraph's task objects say about where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from harness.debug.types import Frame, TaskInfo

_MAP, _NS, _READ = "checkpoint_map", "checkpoint_ns", "__pregel_read"


def split_ns(ns: str) -> tuple[str, ...]:
    """Node names of a namespace, outermost first: `a:1|2|b:3` is `a`, `b`.

    Segments of digits only number repeated calls of a sub-graph by one task.
    """
    parts = (part for part in ns.split("|") if part and not part.isdigit())
    return tuple(part.partition(":")[0] for part in parts)


def is_inside(ns: str, outer: str) -> bool:
    """Whether the namespace `ns` is `outer` or one below it."""
    return ns == outer or ns.startswith(f"{outer}|")


def describe(task: Any) -> TaskInfo:
    """Read a task that LangGraph is about to run."""
    place: Mapping[str, Any] = task.config["configurable"]
    own = str(place[_NS])
    checkpoints = cast("dict[str, str]", place.get(_MAP) or {})
    ns = parent_ns(own, checkpoints)
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


def parent_ns(own: str, known: Mapping[str, str]) -> str:
    """The namespace of the graph that runs the task whose own namespace is `own`."""
    head = own
    while head:
        head = head.rpartition("|")[0]
        if head in known:
            return head
    return ""


def state_names(task: Any) -> dict[str, Any]:
    """The state as a task sees it, by channel, and its own input under `input`.

    Keys of the input win: what a `Send` carries is what the node works on.
    """
    read = task.config["configurable"].get(_READ)
    names: dict[str, Any] = {}
    if read is not None:
        channels = read.args[1]
        shown = [name for name in channels if not name.startswith(("__", "branch:", "join:"))]
        for name in shown:
            found = read([name])
            names.update(found)
    given: Any = task.input
    if isinstance(given, Mapping):
        names.update(cast("Mapping[str, Any]", given))
    else:
        declared = cast("Mapping[str, Any]", getattr(given.__class__, "model_fields", {}))
        names.update({name: getattr(given, name) for name in declared})
    names["input"] = given
    return names
