"""Branches for the page: their steps, the state at one of them, two branches compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.core import HarnessError
from harness.debug.engine.compare import Difference, compare, differences
from harness.debug.engine.history import (
    CONTROL,
    OUTSIDE,
    ROUTES,
    Branch,
    Finished,
    History,
    Moment,
    listed,
    made_at,
    named,
    shown,
    written,
)
from harness.debug.engine.stops import HIDDEN
from harness.debug.web.values import tree

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

MOST = 500
"""Differences of one step that are listed."""
_PULLED = "~__pregel_pull, "


def steps(
    graph: Any, store: CheckpointStore, thread: str, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Steps of a branch in order of time, visits of nodes, and the edges taken; JSON only.

    Each step is a checkpoint: `tasks` are those that started from it and wrote something, `on` says
    whether it is on the way to the latest state, `seconds` how long until the next one, without the
    time in which the run stood and a person looked. No value is read: fast for thousands of steps.
    """
    history = History(store, thread)
    history.names = names or {}
    branch = {branch.thread: branch for branch in listed(store)}.get(thread, Branch(thread, thread))
    trail = {(moment.ns, moment.id) for moment in history.trail()}
    writers: dict[tuple[str, str], dict[str, tuple[str, list[str]]]] = {}
    for write in store.writes(thread):
        tasks = writers.setdefault((write.ns, write.checkpoint), {})
        tasks.setdefault(write.task, (write.path, []))[1].append(write.channel)
    rows: list[dict[str, Any]] = []
    visits: Counter[str] = Counter()
    routes: set[tuple[str, str]] = set()
    ends = {(moment.ns, moment.parent): made_at(moment.id) for moment in history.moments}
    finished = Finished()
    for moment in history.moments:
        key = (moment.ns, moment.id)
        begun, ended = made_at(moment.id), ends.get(key)
        tasks = _tasks(graph, history, moment, writers.get(key, {}))
        for task in tasks:
            if task["done"]:
                finished.add(moment, task["id"], task["node"])
            task["asks"] = task["asks"] and not (task["done"] or finished.around(moment))
        if key in trail:
            visits.update(task["where"] for task in tasks if task["node"] != "__start__")
            routes.update((task["where"], target) for task in tasks for target in task["goes_to"])
        rows.append(
            {
                "ns": moment.ns,
                "checkpoint": moment.id,
                "parent": moment.parent,
                "names": list(moment.names),
                "step": moment.step,
                "source": moment.source,
                "on": key in trail,
                "seconds": round(branch.worked(begun, ended), 4) if begun and ended else None,
                "tasks": tasks,
            }
        )
    # A `Send` names its node in the step behind: what was pushed there.
    behind = {(row["ns"], row["parent"]): row["tasks"] for row in rows if row["on"]}
    routes.update(
        (task["where"], after["where"])
        for row in rows
        for task in row["tasks"]
        if task["sends"]
        for after in behind.get((row["ns"], row["checkpoint"]), [])
        if after["pushed"]
    )
    return {"steps": rows, "visits": dict(visits), "taken": sorted(routes)}


def _tasks(
    graph: Any, history: History, moment: Moment, writers: dict[str, tuple[str, list[str]]]
) -> list[dict[str, Any]]:
    """Tasks with node and written keys; those of a `Send` are named by preparing the step anew."""
    names: dict[str, str] = {}
    if any(not path.startswith(_PULLED) for path, _ in writers.values()):
        try:
            names = {task.id: task.name for task in history.tasks(graph, moment)}
        except (HarnessError, KeyError, ValueError):
            names = {}  # the graph was changed since
    rows: list[dict[str, Any]] = []
    for task, (path, channels) in writers.items():
        if task == OUTSIDE:
            continue
        node = path.removeprefix(_PULLED) if path.startswith(_PULLED) else names.get(task, "Send")
        targets = [name.rpartition(":")[2] for name in channels if name.startswith(ROUTES)]
        finished = not CONTROL.issuperset(channels)
        if not targets and finished and "__pregel_tasks" not in channels:
            targets = ["__end__"]  # it finished and called no other
        rows.append(
            {
                "id": task,
                "node": node,
                "where": node if path.count("~") > 1 else "/".join((*moment.names, node)),
                "goes_to": ["/".join((*moment.names, target)) for target in targets],
                "keys": sorted({name for name in channels if not name.startswith(HIDDEN)}),
                "failed": "__error__" in channels,
                "asks": "__interrupt__" in channels and "__resume__" not in channels,
                "done": finished,
                "pushed": not path.startswith(_PULLED),
                "sends": "__pregel_tasks" in channels,
            }
        )
    return rows


def look(store: CheckpointStore, thread: str, ns: str, checkpoint: str) -> dict[str, Any]:
    """The state at a checkpoint, what the tasks that started from it wrote, and what that changed.

    `changes` is None where they did not finish.

    Raises:
        BadInput: if there is no such checkpoint.
    """
    history = History(store, thread)
    moment = history.find(checkpoint, ns)
    saved = history.load(moment)
    values = shown(saved)
    # Of several next checkpoints (time travel inside the thread) the last.
    children = [m for m in history.moments if (m.ns, m.parent) == (moment.ns, moment.id)]
    after = shown(history.load(children[-1])) if children else None
    return {
        "ns": moment.ns,
        "checkpoint": moment.id,
        "step": moment.step,
        "values": {key: tree(value) for key, value in values.items()},
        "changes": None if after is None else _changes(differences(values, after)),
        "writes": [
            {"task": task, "channel": channel, "value": tree(value)}
            for task, writes in written(saved).items()
            for channel, value in named(writes)
        ],
    }


def compared(store: CheckpointStore, first: str, second: str) -> dict[str, Any]:
    """Two branches, step by step: the first pair that differs, and what differs in each.

    Args:
        store: that holds both.
        first: thread of one.
        second: thread of the other.
    """
    pairs = compare(History(store, first), History(store, second)).pairs
    rows: list[dict[str, Any]] = [
        {
            "names": list(pair.place[0]),
            "step": pair.place[1],
            "first": pair.first and {"ns": pair.first.ns, "id": pair.first.id},
            "second": pair.second and {"ns": pair.second.ns, "id": pair.second.id},
            "same": pair.same,
            "changes": _changes(pair.changes),
        }
        for pair in pairs
    ]
    return {
        "parted": next((number for number, row in enumerate(rows) if not row["same"]), None),
        "pairs": rows,
    }


def _changes(changes: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "path": [str(part) for part in change.path],
            "kind": change.kind,
            "before": tree(change.before),
            "after": tree(change.after),
        }
        for change in changes[:MOST]
    ]
