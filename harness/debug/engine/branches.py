"""Branches: threads of one store, with names, and the points where they left one another.

LangGraph replays from a checkpoint by running past it again under new ids, and looks sub-graphs'
checkpoints up by time, which starts sub-graphs anew (langgraph #8458). A fork here is a copy of
the thread, cut at the point, with all ids kept. The copy looks like a run that was stopped just
there, so LangGraph's plain resumption continues it: at any depth, with finished parallel branches
and earlier sub-graphs in place. Only what follows the point runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.core import BadInput
from harness.debug.engine.history import OUTSIDE, History, Moment, config_at
from harness.debug.engine.history import Point as Point

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

KEEP = "keep"
"""As the task of a :class:`Point`: run no task of the next step again."""
Kind = Literal["run", "fork", "state edit", "output edit", "replay", "reload"]


@dataclass(frozen=True)
class Branch:
    """One thread.

    Attributes:
        thread: its id in the store.
        name: what the user calls it; the thread's id by default.
        kind: how it came about.
        parent: the thread that it was forked from.
        point: where.
        left_at: the first node (`outer/node`) that was not in the recording it was served from.
    """

    thread: str
    name: str
    kind: Kind = "run"
    parent: str | None = None
    point: Point | None = None
    left_at: str | None = None


def listed(store: CheckpointStore) -> list[Branch]:
    """Every branch of a store, parents before their forks."""
    branches: list[Branch] = []
    for thread, info in store.threads().items():
        point = info.get("point")
        branches.append(
            Branch(
                thread,
                info.get("name", thread),
                info.get("kind", "run"),
                info.get("parent"),
                None if point is None else Point(**point),
                info.get("left"),
            )
        )
    return branches


def find_branch(store: CheckpointStore, name: str) -> Branch:
    """The branch of that name or thread id.

    Raises:
        BadInput: if there is none.
    """
    branches = listed(store)
    for branch in branches:
        if name in (branch.name, branch.thread):
            return branch
    names = ", ".join(branch.name for branch in branches) or "none"
    raise BadInput(f"no branch {name!r}; there are {names}")


def keep_branch(store: CheckpointStore, branch: Branch) -> None:
    """Write a branch's description into the store.

    Raises:
        BadInput: if another branch has the name.
    """
    for rival in listed(store):
        if branch.name in (rival.name, rival.thread) and rival.thread != branch.thread:
            raise BadInput(f"the name {branch.name!r} belongs to thread {rival.thread!r}")
    info: dict[str, Any] = {"name": branch.name, "kind": branch.kind}
    if branch.parent is not None:
        info["parent"] = branch.parent
    if branch.point is not None:
        point = branch.point
        info["point"] = {"ns": point.ns, "checkpoint": point.checkpoint, "task": point.task}
    if branch.left_at is not None:
        info["left"] = branch.left_at
    store.describe(branch.thread, info)


def fresh_thread(store: CheckpointStore, root: str) -> str:
    """A thread id that is not in use: `root.1`, `root.2`, …"""
    threads = store.threads()
    number = 1
    while f"{root}.{number}" in threads:
        number += 1
    return f"{root}.{number}"


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
    earlier = {
        (moment.ns, moment.id)
        for moment in history.moments
        if _is_before(moment, end, point, frames, lines)
    }
    store.copy_checkpoints(history.thread, target, earlier)
    for ns, checkpoint in end.outer.items():
        # The task that holds the cut sub-graph is unfinished again. Its answers to earlier
        # interrupts stay: its code runs from the start and asks for them.
        place, segment = (ns, checkpoint), _below(end.ns, ns)
        node, _, task = segment.partition(":")
        if not task:
            tasks = history.tasks(graph, history.find(checkpoint, ns))
            task = next((prepared.id for prepared in tasks if prepared.name == node), "")
        saved = store.get_tuple(config_at(target, *place))
        writes = (saved.pending_writes if saved is not None else None) or []
        channels = {channel for writer, channel, _ in writes if writer == task} - {"__resume__"}
        if channels:
            store.drop_writes(target, place, task, channels)
        store.drop_writes(target, place, OUTSIDE)
    store.drop_writes(target, (end.ns, end.id), point.task)
    store.drop_writes(target, (end.ns, end.id), OUTSIDE)
    return {checkpoint for _, checkpoint in earlier}


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
    checkpoint = moment.outer[ns]
    if checkpoint != frames[ns]:
        return checkpoint in lines[ns]
    if ns == end.ns:
        return point.task is not None and point.task not in moment.ns
    if _below(moment.ns, ns) == _below(end.ns, ns):
        return moment.id <= end.id
    return True


def _below(ns: str, outer: str) -> str:
    """The segment of a namespace that names the task of `outer` which it belongs to."""
    return ns[len(outer) + 1 if outer else 0 :].partition("|")[0]


def overwrite(store: CheckpointStore, thread: str, moment: Moment, values: dict[str, Any]) -> None:
    """Change state keys in a checkpoint, in place: no reducer, no change of what comes next."""
    saved = store.get_tuple(config_at(thread, moment.ns, moment.id))
    if saved is None:
        return
    checkpoint = saved.checkpoint
    checkpoint["channel_values"].update(values)
    highest = max(checkpoint["channel_versions"].values(), default=None)
    for name in values:
        if name not in checkpoint["channel_versions"]:
            checkpoint["channel_versions"][name] = store.get_next_version(highest, None)
    config = config_at(thread, moment.ns, moment.parent)
    store.put(config, checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))
