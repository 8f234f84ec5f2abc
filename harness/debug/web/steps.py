"""What a branch did, step by step, without reading its values: fast for thousands of steps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import UUID

from harness.core import HarnessError
from harness.debug.history import CONTROL, History, Moment

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_TO = "branch:to:"
_PULLED = "~__pregel_pull, "
_TICKS = 10_000_000
_ERRORS = frozenset(("__error__",))


def steps(graph: Any, store: CheckpointStore, thread: str) -> dict[str, Any]:
    """Steps of a branch in order of time, visits of nodes, and the edges taken; JSON only.

    Each step is a checkpoint: `tasks` are those that started from it and wrote something, `on` says
    whether it is on the way to the latest state, `seconds` how long until the next one, with all
    waiting.
    """
    history = History(store, thread)
    on = {(moment.ns, moment.id) for moment in history.trail()}
    written = store.writers(thread)
    found: list[dict[str, Any]] = []
    visits: Counter[str] = Counter()
    taken: set[tuple[str, str]] = set()
    next_at = {(moment.ns, moment.parent): seconds_of(moment.id) for moment in history.moments}
    for moment in history.moments:
        begun, done = seconds_of(moment.id), next_at.get((moment.ns, moment.id))
        here = (moment.ns, moment.id) in on
        tasks = _tasks(graph, history, moment, written.get((moment.ns, moment.id), {}))
        if here:
            visits.update(task["where"] for task in tasks if task["node"] != "__start__")
            taken.update((task["where"], target) for task in tasks for target in task["goes_to"])
        found.append(
            {
                "ns": moment.ns,
                "checkpoint": moment.id,
                "parent": moment.parent,
                "names": list(moment.names),
                "step": moment.step,
                "source": moment.source,
                "on": here,
                "seconds": None if begun is None or done is None else round(done - begun, 4),
                "tasks": tasks,
            }
        )
    return {"steps": found, "visits": dict(visits), "taken": sorted(taken)}


def seconds_of(checkpoint: str) -> float | None:
    """When a checkpoint was made, by its id (UUID version 6, RFC 9562): seconds since 1582."""
    try:
        digits = UUID(checkpoint).hex
    except ValueError:
        return None
    return (int(digits[:12], 16) << 12 | int(digits[13:16], 16)) / _TICKS


def _targets(channels: list[str]) -> list[str]:
    """Nodes that a task's writes call; `__end__` where it finished and called none."""
    found = [one.removeprefix(_TO) for one in channels if one.startswith(_TO)]
    found += [one.rpartition(":")[2] for one in channels if one.startswith("join:")]
    unfinished = CONTROL.intersection(channels) or "__pregel_tasks" in channels
    return found or ([] if unfinished else ["__end__"])


def _tasks(
    graph: Any, history: History, moment: Moment, written: dict[str, tuple[str, list[str]]]
) -> list[dict[str, Any]]:
    """Tasks with node and written keys; those of a `Send` are named by preparing the step anew."""
    pushed = any(not path.startswith(_PULLED) for path, _ in written.values())
    known: dict[str, str] = {}
    if pushed:
        try:
            known = {task.id: task.name for task in history.tasks(graph, moment)}
        except (HarnessError, KeyError, ValueError):
            known = {}  # the graph was changed since
    found: list[dict[str, Any]] = []
    for task, (path, channels) in written.items():
        node = path.removeprefix(_PULLED) if path.startswith(_PULLED) else known.get(task, "Send")
        keys = [one for one in channels if not one.startswith(("__", "branch:", "join:"))]
        found.append(
            {
                "id": task,
                "node": node,
                "where": "/".join((*moment.names, node)),
                "goes_to": ["/".join((*moment.names, one)) for one in _targets(channels)],
                "keys": sorted({key for key in keys if key not in CONTROL}),
                "failed": not _ERRORS.isdisjoint(channels),
                "asks": "__interrupt__" in channels and "__resume__" not in channels,
            }
        )
    return found
