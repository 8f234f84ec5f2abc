"""Forks: a new thread that holds what came before a point, and nothing of what came after.

LangGraph replays from a checkpoint by running past it again under new ids, and looks sub-graphs'
checkpoints up by time, which starts sub-graphs anew (langgraph #8458). A fork here is a copy of
the thread, cut at the point, with all ids kept. The copy looks like a run that was stopped just
there, so LangGraph's plain resumption goes on in it: at any depth, with finished parallel branches
and earlier sub-graphs in place. Only what follows the point runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.debug.history import NOBODY, History, Moment

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


KEEP = "keep"
"""As the task of a :class:`Point`: run no task of the next step again."""


@dataclass(frozen=True)
class Point:
    """A point of a thread: behind a checkpoint, in front of what follows it.

    Attributes:
        ns: namespace of the graph; empty for the main graph.
        checkpoint: the checkpoint whose state is the last that is kept.
        task: run this task of the next step again and keep what its neighbours wrote;
            None to run them all again; :data:`KEEP` to run none and apply their writes again
            (by another reducer, say).
    """

    ns: str
    checkpoint: str
    task: str | None = None


def cut(
    store: CheckpointStore, graph: Any, history: History, point: Point, target: str
) -> set[str]:
    """Copy what came before `point` to the thread `target`; the ids of its checkpoints.

    `graph` tells which task of a step a sub-graph with a history of its own
    (`checkpointer=True`) belongs to: its namespace does not.

    Raises:
        BadInput: if the thread has no such checkpoint.
    """
    end = history.find(point.checkpoint, point.ns)
    frames = {**end.outer, end.ns: end.id}
    lines = {ns: history.line(ns, checkpoint) for ns, checkpoint in frames.items()}
    wanted = {
        (moment.ns, moment.id)
        for moment in history.moments
        if _is_before(moment, end, point, frames, lines)
    }
    store.copy_checkpoints(history.thread, target, wanted)
    for ns, checkpoint in end.outer.items():
        task = _holder(graph, history, history.find(checkpoint, ns), end.ns)
        _reopen(store, target, (ns, checkpoint), task)
    store.drop_writes(target, (end.ns, end.id), point.task)
    store.drop_writes(target, (end.ns, end.id), NOBODY)
    return {checkpoint for _, checkpoint in wanted}


def _is_before(
    moment: Moment,
    end: Moment,
    point: Point,
    frames: dict[str, str],
    lines: dict[str, list[str]],
) -> bool:
    if moment.ns in lines:
        return moment.id in lines[moment.ns]
    around = [ns for ns in moment.outer if ns in frames]
    if not around:
        return False
    ns = max(around, key=len)
    at = moment.outer[ns]
    if at != frames[ns]:
        return at in lines[ns]
    if ns == end.ns:
        return point.task is not None and point.task not in moment.ns
    if _same_task(moment.ns, end.ns, ns):
        return moment.id <= end.id
    return True


def _same_task(one: str, other: str, ns: str) -> bool:
    """Whether two namespaces below `ns` belong to the same task of it."""
    start = len(ns) + 1 if ns else 0
    return one[start:].partition("|")[0] == other[start:].partition("|")[0]


def _holder(graph: Any, history: History, outer: Moment, inner: str) -> str:
    """The task that follows `outer` and holds the namespace `inner`."""
    segment = inner[len(outer.ns) + 1 if outer.ns else 0 :].partition("|")[0]
    node, _, task = segment.partition(":")
    if task:
        return task
    return next((t.id for t in history.tasks(graph, outer) if t.name == node), "")


def _reopen(store: CheckpointStore, thread: str, place: tuple[str, str], task: str) -> None:
    """Make a task unfinished again.

    Its answers to earlier interrupts stay: its code runs from the start and asks for them.
    """
    saved = store.get_tuple(
        {
            "configurable": {
                "thread_id": thread,
                "checkpoint_ns": place[0],
                "checkpoint_id": place[1],
            }
        }
    )
    writes = (saved.pending_writes if saved is not None else None) or []
    channels = {channel for name, channel, _ in writes if name == task} - {"__resume__"}
    if channels:
        store.drop_writes(thread, place, task, channels)
    store.drop_writes(thread, place, NOBODY)


def overwrite(store: CheckpointStore, thread: str, moment: Moment, values: dict[str, Any]) -> None:
    """Change state keys in a checkpoint, in place: no reducer, no change of what comes next."""
    place = {"thread_id": thread, "checkpoint_ns": moment.ns, "checkpoint_id": moment.id}
    saved = store.get_tuple({"configurable": place})
    if saved is None:
        return
    checkpoint = saved.checkpoint
    checkpoint["channel_values"].update(values)
    highest = max(checkpoint["channel_versions"].values(), default=None)
    for name in values:
        if name not in checkpoint["channel_versions"]:
            checkpoint["channel_versions"][name] = store.get_next_version(highest, None)
    config = {"configurable": {**place, "checkpoint_id": moment.parent}}
    store.put(config, checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))  # pyright: ignore[reportArgumentType]  # a config is a dict
