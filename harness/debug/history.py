"""A stored thread read back: its checkpoints in every namespace, and the tasks of each."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from harness.core import BadInput
from harness.debug import internals
from harness.debug.graphs import subgraph
from harness.debug.tasks import split_ns

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from harness.checkpoints import CheckpointStore

CONTROL = frozenset(("__interrupt__", "__resume__", "__error__", "__error_source_node__"))
"""Channels that tell what happened to a task; every other holds what it wrote."""
NOBODY = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that come from outside (`Command`)."""


@dataclass(frozen=True)
class Moment:
    """One checkpoint of one graph, without its values.

    Attributes:
        id: the checkpoint's id; ids sort by time.
        ns: its namespace; empty for the main graph.
        parent: the checkpoint before it in its namespace.
        outer: checkpoints of the graphs around it, by namespace.
        step: number of the super-step that made it; -1 is the input.
        source: `input`, `loop`, `update` or `fork`.
    """

    id: str
    ns: str
    parent: str | None
    outer: dict[str, str]
    step: int
    source: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sub-graph nodes around it, outermost first."""
        return split_ns(self.ns)


def shown(saved: CheckpointTuple) -> dict[str, Any]:
    """The state's keys and values; LangGraph's own channels are left out."""
    found = saved.checkpoint["channel_values"]
    hidden = ("__", "branch:", "join:")
    return {name: value for name, value in found.items() if not name.startswith(hidden)}


def written(saved: CheckpointTuple) -> dict[str, list[tuple[str, Any]]]:
    """What each task of the next step wrote, by task id, control writes included."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for task, channel, value in saved.pending_writes or []:
        found.setdefault(task, []).append((channel, value))
    return found


def outputs(writes: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The writes of a task that are output."""
    return [(channel, value) for channel, value in writes if channel not in CONTROL]


class History:
    """What a store holds of one thread; values are read when they are asked for."""

    def __init__(self, store: CheckpointStore, thread: str) -> None:
        """Read the thread's outline; `moments` are its checkpoints, oldest first."""
        self.thread = thread
        self._store = store
        self.moments = [
            Moment(
                line.checkpoint,
                line.ns,
                line.parent,
                dict(line.metadata.get("parents") or {}),
                int(line.metadata.get("step", -1)),
                str(line.metadata.get("source", "loop")),
            )
            for line in store.outline(thread)
        ]
        self._by_place = {(moment.ns, moment.id): moment for moment in self.moments}

    def load(self, moment: Moment) -> CheckpointTuple:
        """A checkpoint with its values and writes."""
        saved = self._store.get_tuple(
            {
                "configurable": {
                    "thread_id": self.thread,
                    "checkpoint_ns": moment.ns,
                    "checkpoint_id": moment.id,
                }
            }
        )
        if saved is None:
            raise BadInput(f"checkpoint {moment.id!r} of {self.thread!r} is gone; read it again")
        return saved

    def find(self, checkpoint: str, ns: str | None = None) -> Moment:
        """The checkpoint of that id (or of an unambiguous beginning of one).

        Raises:
            BadInput: if there is none, or more than one.
        """
        if ns is not None and (ns, checkpoint) in self._by_place:
            return self._by_place[(ns, checkpoint)]
        found = [
            moment
            for moment in self.moments
            if moment.id.startswith(checkpoint) and ns in (None, moment.ns)
        ]
        if len(found) != 1:
            raise BadInput(
                f"expected one checkpoint {checkpoint!r} in thread {self.thread!r}, "
                f"found {len(found)}; its timeline shows the ids"
            )
        return found[0]

    def line(self, ns: str, checkpoint: str) -> list[str]:
        """A checkpoint and its ancestors in its namespace, newest first."""
        found: list[str] = []
        at: str | None = checkpoint
        while at is not None and (ns, at) in self._by_place:
            found.append(at)
            at = self._by_place[(ns, at)].parent
        return found

    def latest(self, ns: str = "") -> Moment | None:
        """The newest checkpoint of a namespace."""
        return next((moment for moment in reversed(self.moments) if moment.ns == ns), None)

    def trail(self) -> list[Moment]:
        """The checkpoints on the way to the latest state, sub-graphs' included, oldest first.

        What was left by time travel inside the thread is not on it.
        """
        latest = self.latest()
        if latest is None:
            return []
        main = set(self.line("", latest.id))
        on = [m for m in self.moments if (m.id in main if m.ns == "" else m.outer.get("") in main)]
        ends = {moment.ns: moment.id for moment in on}
        lines = {ns: set(self.line(ns, end)) for ns, end in ends.items()}
        return [moment for moment in on if moment.id in lines[moment.ns]]

    def tasks(self, graph: Any, moment: Moment, saved: CheckpointTuple | None = None) -> list[Any]:
        """The tasks that follow a checkpoint, as LangGraph prepares them, with their inputs.

        Empty if the graph of the namespace cannot be found (one that a function calls).
        """
        inner = subgraph(graph, moment.names)
        return [] if inner is None else prepare(inner, self._store, saved or self.load(moment))


def prepare(graph: Any, saver: CheckpointStore, saved: CheckpointTuple) -> list[Any]:
    """LangGraph's tasks after a checkpoint (as its `get_state` prepares them)."""
    checkpoint = internals.checkpoints().copy_checkpoint(saved.checkpoint)
    step = int(saved.metadata.get("step", -1)) + 1
    channels, managed = internals.checkpoints().channels_from_checkpoint(
        graph.channels, checkpoint, saver=saver, config=saved.config
    )
    tasks = internals.algorithm().prepare_next_tasks(
        checkpoint,
        saved.pending_writes or [],
        graph.nodes,
        channels,
        managed,
        saved.config,
        step,
        step + 2,
        for_execution=True,
        store=graph.store,
        checkpointer=saver,
        manager=None,
    )
    return [*cast("dict[str, Any]", tasks).values()]


def replace_writes(task: Any, values: Any) -> list[tuple[str, Any]]:
    """What a node would have written had it returned `values`: its writers and routes are run."""
    writes: deque[tuple[str, Any]] = task.writes
    writes.clear()
    for writer in task.writers:
        writer.invoke(values, task.config)
    return list(writes) or [("__no_writes__", None)]
