"""Which sub-graphs LangGraph may resume after a fork, and which take their input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from harness.debug.tasks import is_inside, split_ns
from harness.debug.types import TaskInfo

if TYPE_CHECKING:
    from harness.checkpoints.store import CheckpointStore

_RESUMING = "__pregel_resuming"


def settle(store: CheckpointStore, task: Any, info: TaskInfo) -> None:
    """Tell a task whether it goes on with something that it had begun.

    LangGraph marks every task of the first step after a resumption as resuming. A sub-graph with a
    history of its own (`checkpointer=True`) then ignores its input and returns its last output,
    though this visit of it never began. Tasks that left no checkpoint in this step lose the mark.
    """
    place = task.config["configurable"]
    if not place.get(_RESUMING):
        return
    inside = (*info.names, info.node)
    for line in store.outline(str(place["thread_id"])):
        parents = cast("dict[str, str]", line.metadata.get("parents") or {})
        if parents.get(info.ns) == info.checkpoint and split_ns(line.ns)[: len(inside)] == inside:
            segment = line.ns.split("|")[info.ns.count("|") + 1 if info.ns else 0]
            if ":" not in segment or is_inside(line.ns, info.own_ns):
                return
    del place[_RESUMING]
