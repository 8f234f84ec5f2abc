"""One checkpoint for the page: its state, what changed, what its tasks wrote; two branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from harness.debug.compare import Difference, Pair, compare, differences
from harness.debug.history import History, Moment, outputs, shown, written
from harness.debug.web.plain import editable, tree

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

MOST = 500
"""Differences of one step that are listed."""


def look(store: CheckpointStore, thread: str, ns: str, checkpoint: str) -> dict[str, Any]:
    """The state at a checkpoint, what the tasks that started from it wrote, and what that changed.

    `changes` is None where they did not finish.

    Raises:
        BadInput: if there is no such checkpoint.
    """
    history = History(store, thread)
    moment = history.find(checkpoint, ns)
    saved = history.load(moment)
    values, after = shown(saved), _after(history, moment)
    writes = [
        {"task": task, "channel": channel, "value": tree(value)}
        for task, found in written(saved).items()
        for channel, value in outputs(found)
        if not channel.startswith(("__", "branch:", "join:"))
    ]
    return {
        "ns": moment.ns,
        "checkpoint": moment.id,
        "step": moment.step,
        "values": {key: described(value) for key, value in values.items()},
        "changes": None if after is None else _changes(differences(values, after)),
        "writes": writes,
    }


def described(value: Any) -> dict[str, Any]:
    """A value as a tree, and as JSON text where it can be edited."""
    return {"tree": tree(value), "json": editable(value)}


def compared(store: CheckpointStore, first: str, second: str) -> dict[str, Any]:
    """Two branches, step by step: the first pair that differs, and what differs in each.

    Args:
        store: that holds both.
        first: thread of one.
        second: thread of the other.
    """
    pairs = compare(History(store, first), History(store, second)).pairs
    parted = next((number for number, pair in enumerate(pairs) if not pair.same), None)
    return {"parted": parted, "pairs": [_pair(pair) for pair in pairs]}


def _pair(pair: Pair) -> dict[str, Any]:
    names, step = pair.place
    return {
        "names": list(names),
        "step": step,
        "first": None if pair.first is None else {"ns": pair.first.ns, "id": pair.first.id},
        "second": None if pair.second is None else {"ns": pair.second.ns, "id": pair.second.id},
        "same": pair.same,
        "changes": _changes(pair.changes),
    }


def _changes(found: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "path": [str(part) for part in one.path],
            "kind": one.kind,
            "before": tree(one.before),
            "after": tree(one.after),
        }
        for one in found[:MOST]
    ]


def _after(history: History, moment: Moment) -> dict[str, Any] | None:
    """The state of the next checkpoint; of several (time travel inside the thread) the last."""
    children = [one for one in history.moments if (one.ns, one.parent) == (moment.ns, moment.id)]
    return shown(history.load(children[-1])) if children else None
