"""Branches: threads of one store, with names and the points where they left one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.core import BadInput
from harness.debug.forks import Point

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

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
        left: the first node (`outer/node`) that was not in the recording it was served from.
    """

    thread: str
    name: str
    kind: Kind = "run"
    parent: str | None = None
    point: Point | None = None
    left: str | None = None


def listed(store: CheckpointStore) -> list[Branch]:
    """Every branch of a store, parents before their forks."""
    return [_read(thread, info) for thread, info in store.threads().items()]


def found(store: CheckpointStore, name: str) -> Branch:
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


def keep(store: CheckpointStore, branch: Branch) -> None:
    """Write a branch's description into the store.

    Raises:
        BadInput: if another branch has the name.
    """
    for other in listed(store):
        if branch.name in (other.name, other.thread) and other.thread != branch.thread:
            raise BadInput(f"the name {branch.name!r} belongs to thread {other.thread!r}")
    info: dict[str, Any] = {"name": branch.name, "kind": branch.kind}
    if branch.parent is not None:
        info["parent"] = branch.parent
    if branch.point is not None:
        point = branch.point
        info["point"] = {"ns": point.ns, "checkpoint": point.checkpoint, "task": point.task}
    if branch.left is not None:
        info["left"] = branch.left
    store.describe(branch.thread, info)


def fresh(store: CheckpointStore, root: str) -> str:
    """A thread id that is not in use: `root.1`, `root.2`, …"""
    taken = store.threads()
    number = 1
    while f"{root}.{number}" in taken:
        number += 1
    return f"{root}.{number}"


def _read(thread: str, info: dict[str, Any]) -> Branch:
    point = info.get("point")
    return Branch(
        thread,
        info.get("name", thread),
        info.get("kind", "run"),
        info.get("parent"),
        None if point is None else Point(**point),
        info.get("left"),
    )
