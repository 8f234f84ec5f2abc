"""One checkpoint for the page: its state, what changed, what its tasks wrote."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from harness.debug.history import CONTROL, History, Moment, outputs, shown, written
from harness.debug.web.plain import editable, tree

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore


def look(store: CheckpointStore, thread: str, ns: str, checkpoint: str) -> dict[str, Any]:
    """State and changes at a checkpoint.

    Raises:
        BadInput: if there is no such checkpoint.
    """
    history = History(store, thread)
    moment = history.find(checkpoint, ns)
    saved = history.load(moment)
    values = shown(saved)
    before = _before(history, moment)
    writes = [
        {"task": task, "channel": channel, "value": tree(value)}
        for task, found in written(saved).items()
        for channel, value in outputs(found)
        if not channel.startswith(("__", "branch:", "join:")) and channel not in CONTROL
    ]
    return {
        "ns": moment.ns,
        "checkpoint": moment.id,
        "step": moment.step,
        "values": {key: described(value) for key, value in values.items()},
        "changes": changes(before, values),
        "writes": writes,
    }


def described(value: Any) -> dict[str, Any]:
    """A value as a tree, and as JSON text where it can be edited."""
    return {"tree": tree(value), "json": editable(value)}


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Keys that differ, with both values; of lists only the entries that differ."""
    found: list[dict[str, Any]] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if key in before and key in after and _same(old, new):
            continue
        change: dict[str, Any] = {"key": key, "kind": _kind(key, before, after)}
        if isinstance(old, list) and isinstance(new, list):
            change["items"] = _entries(old, new)
        else:
            change |= {"before": tree(old), "after": tree(new)}
        found.append(change)
    return found


def compared(store: CheckpointStore, first: str, second: str) -> dict[str, Any]:
    """Two branches step by step along their main graphs: where they part, and what differs at the end.

    Args:
        store: that holds both.
        first: thread of one.
        second: thread of the other.
    """
    lines = [_main_line(History(store, thread)) for thread in (first, second)]
    rows: list[dict[str, Any]] = []
    parted: int | None = None
    for number, pair in enumerate(zip_longest(*lines)):
        states = [{} if one is None else shown(one[0].load(one[1])) for one in pair]
        differing = [change["key"] for change in changes(*states)]
        if (differing or None in pair) and parted is None:
            parted = number
        places = [None if one is None else one[1].id for one in pair]
        rows.append({"step": number, "checkpoints": places, "differs": differing})
    last = [{} if not line else shown(line[-1][0].load(line[-1][1])) for line in lines]
    return {"parted": parted, "rows": rows, "changes": changes(*last)}


def _main_line(history: History) -> list[tuple[History, Moment]]:
    return [(history, moment) for moment in history.trail() if moment.ns == ""]


def _before(history: History, moment: Moment) -> dict[str, Any]:
    if moment.parent is None:
        return {}
    return shown(history.load(history.find(moment.parent, moment.ns)))


def _kind(key: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    if key not in before:
        return "added"
    return "changed" if key in after else "removed"


def _entries(old: list[Any], new: list[Any]) -> list[dict[str, Any]]:
    """Entries that are not the same at the same place."""
    missing = object()
    found: list[dict[str, Any]] = []
    for at, (one, other) in enumerate(zip_longest(old, new, fillvalue=missing)):
        if one is missing:
            found.append({"at": at, "kind": "added", "after": tree(other)})
        elif other is missing:
            found.append({"at": at, "kind": "removed", "before": tree(one)})
        elif not _same(one, other):
            found.append({"at": at, "kind": "changed", "before": tree(one), "after": tree(other)})
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; such as cannot be compared by truth (arrays) by their text."""
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return repr(one) == repr(other)
