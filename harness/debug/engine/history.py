"""Stored threads read back: branches and their names, checkpoints in every namespace, tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from itertools import count
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import UUID

from harness.checkpoints import Moment as Moment
from harness.checkpoints import config_at, segments
from harness.core import BadInput, grouped
from harness.debug.engine.graphs import langgraph, subgraph
from harness.debug.engine.stops import HIDDEN

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from harness.checkpoints import CheckpointStore

_TICKS, _EPOCH = 10_000_000, 12_219_292_800
"""Ticks of a UUID in a second; seconds from its epoch, in 1582, to 1970."""
KEEP = "keep"
"""As the task of a :class:`Point`: run no task of the next step again."""
Kind = Literal["run", "fork", "state edit", "output edit", "replay", "reload"]
ROUTES = ("branch:", "join:")
"""Beginnings of the channels by which a task calls others; behind the last colon is their name."""
OUTSIDE = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that come from outside (`Command`)."""
RETURNS = {"__return__": "returned", "__end__": "returned"}
"""Channels of what functions of the functional interface return, and how they are shown."""
_CALLED = "~__pregel_push, "
"""The path of a task that a function called: this, the path of its caller, and its number."""
CONTROL = frozenset(("__interrupt__", "__resume__", "__error__", "__error_source_node__"))
"""Channels that tell what happened to a task; every other holds what it wrote."""


@dataclass(frozen=True)
class Point:
    """A point of a thread: behind a checkpoint, in front of what follows it.

    Attributes:
        ns: namespace of the graph; empty for the main graph.
        checkpoint: the checkpoint whose state is the last that is kept.
        task: run this task of the next step again and keep what its neighbours wrote;
            None to run them all again; :data:`harness.debug.KEEP` to run none and apply their
            writes again (by another reducer, say).
    """

    ns: str
    checkpoint: str
    task: str | None = None


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
        stood: stretches in which it stood and a person looked, seconds since 1970.
    """

    thread: str
    name: str
    kind: Kind = "run"
    parent: str | None = None
    point: Point | None = None
    left_at: str | None = None
    stood: tuple[tuple[float, float], ...] = ()

    def worked(self, begun: float, ended: float) -> float:
        """Seconds between two times, without those in which it stood."""
        idle = (min(ended, end) - max(begun, start) for start, end in self.stood)
        return max(0.0, ended - begun - sum(part for part in idle if part > 0))


@dataclass(frozen=True)
class Event:
    """One execution of one node.

    Attributes:
        node: `outer/inner/node`.
        point: where to fork to run it again, its neighbours' writes kept.
        step: number of the super-step in its graph.
        pushed: whether a `Send` or a call made it, not an edge.
        called: whether a function called it (`@task`).
        input: what it got; None for a call, of which LangGraph keeps no arguments.
        wrote: state keys and values, in order.
        goes_to: nodes that it chose.
        interrupts: what it asked.
        error: what it raised, as text; its own later success leaves None.
        done: whether it finished.
    """

    node: str
    point: Point
    step: int
    pushed: bool
    called: bool
    input: Any
    wrote: tuple[tuple[str, Any], ...]
    goes_to: tuple[str, ...]
    interrupts: tuple[Any, ...]
    error: str | None
    done: bool


def listed(store: CheckpointStore) -> list[Branch]:
    """Every branch of a store, parents before their forks."""
    return [
        Branch(
            thread,
            info.get("name", thread),
            info.get("kind", "run"),
            info.get("parent"),
            Point(**info["point"]) if "point" in info else None,
            info.get("left"),
            tuple((begun, ended) for begun, ended in info.get("stood", ())),
        )
        for thread, info in store.threads().items()
    ]


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


def fresh_thread(store: CheckpointStore, root: str) -> str:
    """A thread id that is not in use: `root.1`, `root.2`, …"""
    threads = store.threads()
    return next(name for number in count(1) if (name := f"{root}.{number}") not in threads)


def keep_branch(store: CheckpointStore, branch: Branch) -> None:
    """Write a branch's description into the store.

    Raises:
        BadInput: if another branch has the name.
    """
    for rival in listed(store):
        if branch.name in (rival.name, rival.thread) and rival.thread != branch.thread:
            raise BadInput(f"the name {branch.name!r} belongs to thread {rival.thread!r}")
    point = branch.point and asdict(branch.point)
    info = {"name": branch.name, "kind": branch.kind, "parent": branch.parent, "point": point,
            "left": branch.left_at, "stood": branch.stood or None}  # fmt: skip
    store.describe(branch.thread, {key: value for key, value in info.items() if value is not None})


@lru_cache(100_000)
def made_at(checkpoint: str) -> float | None:
    """When a checkpoint was made, seconds since 1970, by its id (UUID version 6, RFC 9562)."""
    try:
        digits = UUID(checkpoint).hex
    except ValueError:
        return None
    return (int(digits[:12], 16) << 12 | int(digits[13:16], 16)) / _TICKS - _EPOCH


def shown(saved: CheckpointTuple) -> dict[str, Any]:
    """The state's keys and values; LangGraph's own channels are left out."""
    values = saved.checkpoint["channel_values"].items()
    return {name: value for name, value in values if not name.startswith(HIDDEN)}


def written(saved: CheckpointTuple) -> dict[str, list[tuple[str, Any]]]:
    """Return the writes of the next step's tasks, by task id, control writes included."""
    return grouped((task, (channel, value)) for task, channel, value in saved.pending_writes or [])


def named(writes: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The output of a task by state key or as `returned`, without LangGraph's own channels."""
    names = [(RETURNS.get(channel, channel), value) for channel, value in outputs(writes)]
    return [(name, value) for name, value in names if not name.startswith(HIDDEN)]


def outputs(writes: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The writes of a task that are output."""
    return [(channel, value) for channel, value in writes if channel not in CONTROL]


class History:
    """A store's history of one thread; values are read when they are asked for."""

    names: Mapping[str, str] = MappingProxyType({})
    """Names of tasks that functions called, by id: LangGraph keeps none."""

    def __init__(self, store: CheckpointStore, thread: str) -> None:
        """Read the thread's outline; `moments` are its checkpoints, oldest first."""
        self.thread, self._store = thread, store
        self.moments = store.outline(thread)
        self._by_place = {(moment.ns, moment.id): moment for moment in self.moments}

    def __contains__(self, key: tuple[str, str]) -> bool:
        """Look a checkpoint up by namespace and id."""
        return key in self._by_place

    def load(self, moment: Moment) -> CheckpointTuple:
        """A checkpoint with its values and writes."""
        saved = self._store.get_tuple(config_at(self.thread, moment.ns, moment.id))
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
        matches = [
            moment
            for moment in self.moments
            if moment.id.startswith(checkpoint) and ns in (None, moment.ns)
        ]
        if len(matches) != 1:
            raise BadInput(
                f"expected one checkpoint {checkpoint!r} in thread {self.thread!r}, "
                f"found {len(matches)}; its timeline shows the ids"
            )
        return matches[0]

    def line(self, ns: str, checkpoint: str) -> list[str]:
        """A checkpoint and its ancestors in its namespace, newest first."""
        ids: list[str] = []
        following: str | None = checkpoint
        while following is not None and (ns, following) in self._by_place:
            ids.append(following)
            following = self._by_place[(ns, following)].parent
        return ids

    def latest(self, ns: str = "") -> Moment | None:
        """The newest checkpoint of a namespace."""
        return next((moment for moment in reversed(self.moments) if moment.ns == ns), None)

    def trail(self) -> list[Moment]:
        """The checkpoints on the way to the latest state, sub-graphs' included, oldest first."""
        latest = self.latest()
        if latest is None:
            return []
        main = set(self.line("", latest.id))
        on = [m for m in self.moments if (m.id in main if m.ns == "" else m.outer.get("") in main)]
        ends = {moment.ns: moment.id for moment in on}
        lines = {ns: set(self.line(ns, end)) for ns, end in ends.items()}
        return [moment for moment in on if moment.id in lines[moment.ns]]

    def tasks(self, graph: Any, moment: Moment, saved: CheckpointTuple | None = None) -> list[Any]:
        """The tasks behind a checkpoint, if LangGraph finds its graph, and what they called."""
        inner = subgraph(graph, moment.names)
        tasks = [] if inner is None else prepare(inner, self._store, saved or self.load(moment))
        paths = self.paths.get((moment.ns, moment.id), {})
        for task, path in sorted(paths.items(), key=lambda row: row[1].replace(_CALLED, "")):
            if path.startswith(f"{_CALLED}~"):
                name = self.names.get(task, "task")
                call = {"id": task, "name": name, "path": (path,), "input": None, "called": True}
                tasks.append(SimpleNamespace(**call))
        return tasks

    def reruns(self, moment: Moment, task: str | None) -> list[str | None]:
        """Tasks that run again where one does: its callers, and what was called from there on."""
        writers = self.paths.get((moment.ns, moment.id), {})
        paths = {name: f"{path.replace(_CALLED, '')}, " for name, path in writers.items()}
        if task is None or task not in paths:
            return [task]
        start, root = paths[task], f"{paths[task].removesuffix(', ').partition(', 0')[0]}, "
        behind = {name for name, path in paths.items() if path >= start and path.startswith(root)}
        return [*(name for name, path in paths.items() if name in behind or start.startswith(path))]

    @cached_property
    def paths(self) -> dict[tuple[str, str], dict[str, str]]:
        """LangGraph's paths of tasks that wrote, by namespace and checkpoint, and by task id."""
        paths: dict[tuple[str, str], dict[str, str]] = {}
        for write in self._store.writes(self.thread):
            paths.setdefault((write.ns, write.checkpoint), {})[write.task] = write.path
        return paths


def timeline(graph: Any, history: History) -> list[Event]:
    """The events on the way to a branch's latest state, in the order of their steps.

    Nodes of graphs that LangGraph cannot find (called by a function through a container, say) are
    not listed; their states are in the history.
    """
    events, finished = list[Event](), Finished()
    for moment in history.trail():
        saved = history.load(moment)
        writes = written(saved)
        is_over = finished.around(moment)
        for task in history.tasks(graph, moment, saved):
            if task.name.startswith("__"):
                continue
            task_writes, called = writes.get(task.id, []), hasattr(task, "called")
            output = outputs(task_writes)
            if output:
                finished.add(moment, task.id, task.name)
            errors = [
                f"{type(value).__name__}: {value}"
                if isinstance(value, BaseException)
                else f"{value}"
                for channel, value in task_writes
                if channel == "__error__"
            ]
            questions = [value for channel, value in task_writes if channel == "__interrupt__"]
            targets = (
                value.node if channel == "__pregel_tasks" else channel.rpartition(":")[2]
                for channel, value in output
                if channel.startswith((*ROUTES, "__pregel_tasks"))
            )
            events.append(
                Event(
                    task.name if called else "/".join((*moment.names, task.name)),
                    Point(moment.ns, moment.id, task.id),
                    moment.step + 1,
                    pushed=task.path[0] != "__pregel_pull",
                    called=called,
                    input=task.input,
                    wrote=(*named(task_writes),),
                    goes_to=tuple(targets),
                    interrupts=tuple(question.value for batch in questions for question in batch),
                    error=errors[-1] if errors and not output else None,
                    done=bool(output) or is_over,
                )
            )
    return events


class Finished:
    """Tasks that wrote their output, by the checkpoint that they started from."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], dict[str, str]] = {}

    def add(self, moment: Moment, task: str, node: str) -> None:
        """Note a task that started from `moment`."""
        self._tasks.setdefault((moment.ns, moment.id), {})[task] = node

    def around(self, moment: Moment) -> bool:
        """True where the node whose graph has the checkpoint is done.

        What has no output there left for the graph around it (`Command.PARENT`).
        """
        if not moment.ns:
            return False
        outer = max(moment.outer.keys() - {moment.ns}, key=len, default="")
        node, _, task = segments(moment.ns)[-1].partition(":")
        tasks = self._tasks.get((outer, moment.outer.get(outer, "")), {})
        return task in tasks or (not task and node in tasks.values())


def prepare(graph: Any, saver: CheckpointStore, saved: CheckpointTuple) -> list[Any]:
    """LangGraph's tasks after a checkpoint (as its `get_state` prepares them)."""
    checkpoint = langgraph("pregel._checkpoint").copy_checkpoint(saved.checkpoint)
    step = int(saved.metadata.get("step", -1)) + 1
    channels, managed = langgraph("pregel._checkpoint").channels_from_checkpoint(
        graph.channels, checkpoint, saver=saver, config=saved.config
    )

    def prepared(nodes: dict[str, Any]) -> list[Any]:
        tasks = langgraph("pregel._algo").prepare_next_tasks(
            checkpoint,
            saved.pending_writes or [],
            nodes,
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

    try:
        return prepared(graph.nodes)
    except Exception:  # noqa: BLE001  # a state that its own model refuses: show it as it is
        plain = {name: node.copy({"mapper": None}) for name, node in graph.nodes.items()}
        return prepared(plain)


def replace_writes(task: Any, values: Any) -> list[tuple[str, Any]]:
    """Return a node's writes as if it had returned `values`: its writers and routes are run."""
    writes: deque[tuple[str, Any]] = task.writes
    writes.clear()
    for writer in task.writers:
        writer.invoke(values, task.config)
    return list(writes) or [("__no_writes__", None)]
