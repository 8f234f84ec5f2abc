"""A branch as a list of steps: what ran, what it wrote, what it asked, what failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.debug.forks import Point
from harness.debug.history import History, Moment, outputs, written

_HIDDEN = ("__", "branch:", "join:")


@dataclass(frozen=True)
class Event:
    """One execution of one node.

    Attributes:
        node: `outer/inner/node`.
        point: where to fork to run it again, its neighbours' writes kept.
        step: number of the super-step in its graph.
        pushed: whether a `Send` or a call made it, not an edge.
        input: what it got.
        wrote: state keys and values, in order.
        goes_to: nodes that it chose.
        interrupts: what it asked.
        error: what it raised, as text; its own later success leaves None.
        done: whether it finished.
    """

    node: str
    point: Point
    step: int
    pushed: bool
    input: Any
    wrote: tuple[tuple[str, Any], ...]
    goes_to: tuple[str, ...]
    interrupts: tuple[Any, ...]
    error: str | None
    done: bool


def timeline(graph: Any, history: History) -> list[Event]:
    """The events on the way to a branch's latest state, in the order of their steps.

    Nodes of graphs that LangGraph cannot find (called by a function through a container, say) are
    not listed; their states are in the history.
    """
    events: list[Event] = []
    for moment in history.trail():
        saved = history.load(moment)
        by_task = written(saved)
        events += [
            _event(moment, task, by_task.get(task.id, []))
            for task in history.tasks(graph, moment, saved)
            if not task.name.startswith("__")
        ]
    return events


def _event(moment: Moment, task: Any, writes: list[tuple[str, Any]]) -> Event:
    done = outputs(writes)
    errors = [value for channel, value in writes if channel == "__error__"]
    asked = [value for channel, value in writes if channel == "__interrupt__"]
    return Event(
        node="/".join((*moment.names, task.name)),
        point=Point(moment.ns, moment.id, task.id),
        step=moment.step + 1,
        pushed=task.path[0] != "__pregel_pull",
        input=task.input,
        wrote=tuple(write for write in done if not write[0].startswith(_HIDDEN)),
        goes_to=tuple(_targets(done)),
        interrupts=tuple(one.value for found in asked for one in found),
        error=str(errors[-1]) if errors and not done else None,
        done=bool(done),
    )


def _targets(writes: list[tuple[str, Any]]) -> list[str]:
    found: list[str] = []
    for channel, value in writes:
        if channel.startswith("branch:to:"):
            found.append(channel.removeprefix("branch:to:"))
        elif channel.startswith("join:"):
            found.append(channel.rpartition(":")[2])
        elif channel == "__pregel_tasks":
            found.append(value.node)
    return found
