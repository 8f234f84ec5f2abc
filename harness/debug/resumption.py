"""Which sub-graphs LangGraph may resume after a fork, and which take their input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from harness.debug.tasks import is_inside, split_ns
from harness.debug.types import TaskInfo

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore

_RESUMING = "__pregel_resuming"


class Resumption:
    """What a thread held when a run began.

    LangGraph marks every task of the first step after a resumption as resuming. A sub-graph with a
    history of its own (`checkpointer=True`) then ignores its input and returns its last output,
    though this visit of it never began. Tasks that left no checkpoint in this step lose the mark.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._begun: dict[tuple[str, str], set[str]] | None = None

    def settle(self, task: Any, info: TaskInfo) -> None:
        """Take the mark from a task that has nothing to go on with."""
        place = task.config["configurable"]
        if not place.get(_RESUMING):
            return
        if self._begun is None:
            self._begun = self._read(str(place["thread_id"]))
        spaces = self._begun.get((info.ns, info.checkpoint), set())
        if not any(_belongs(ns, info) for ns in spaces):
            del place[_RESUMING]

    def _read(self, thread: str) -> dict[tuple[str, str], set[str]]:
        """Namespaces of sub-graphs by the checkpoint (namespace, id) of a graph around them."""
        found: dict[tuple[str, str], set[str]] = {}
        for line in self._store.outline(thread):
            parents = cast("dict[str, str]", line.metadata.get("parents") or {})
            for place in parents.items():
                found.setdefault(place, set()).add(line.ns)
        return found


def _belongs(ns: str, info: TaskInfo) -> bool:
    """Whether a namespace below the task's graph is inside the task."""
    inside = (*info.names, info.node)
    if split_ns(ns)[: len(inside)] != inside:
        return False
    segment = ns.split("|")[info.ns.count("|") + 1 if info.ns else 0]
    return ":" not in segment or is_inside(ns, info.own_ns)
