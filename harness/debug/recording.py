"""What nodes wrote in a recorded run, served instead of running them again.

A node's writes hold what its models and tools answered, whatever client it used, so a replay makes
no call. A record is found by the place in the graph and the digest of the node's input; equal
inputs at one place are served in the order in which they were recorded.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from harness.core import HarnessError
from harness.debug.graphs import is_subgraph_node
from harness.debug.history import History, outputs, replace_writes, shown, written
from harness.debug.messages import added, with_ids
from harness.debug.types import TaskInfo

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol

Beyond = Literal["stop", "live"]
"""What to do where the recording has nothing: stand still in front of the node, or run it."""

_ROUTES = ("branch:", "join:")

Key = tuple[tuple[str, ...], str, str]


class LeftRecording(HarnessError):
    """A node asks a model or a tool for what was not recorded (exit code 2)."""

    exit_code = 2


def own_input(task: Any) -> Any:
    """A task's input without what LangGraph computes from its limits (`remaining_steps`, say)."""
    given = task.input
    if not isinstance(given, dict):
        return given
    managed = task.config["configurable"]["__pregel_read"].args[2]
    values = cast("dict[str, Any]", given)
    return {key: value for key, value in values.items() if key not in managed}


class Record(NamedTuple):
    """What a task wrote, and whether its steps inside are on record as well."""

    writes: list[tuple[str, Any]]
    enter: bool


def _homes(own: str) -> set[str]:
    """Where a task's sub-graph may keep its checkpoints: under the task, or under its name."""
    return {own, "|".join(part.partition(":")[0] for part in own.split("|"))}


def digest_of(serde: SerializerProtocol, value: Any) -> str:
    """Digest of a value by its serialised bytes; by its `repr` if it cannot be serialised."""
    try:
        kind, data = serde.dumps_typed(value)
    except Exception:  # noqa: BLE001  # a user's type may fail to serialise in any way
        kind, data = "repr", repr(value).encode()
    return hashlib.blake2b(data, digest_size=16, person=kind.encode()[:16]).hexdigest()


class Recording:
    """The writes of every finished task of a thread.

    Attributes:
        input_ids: messages of the input, with the ids that they got, by state key.
        served: how many nodes were not run.
        left_at: the first node that was not recorded, and the input that it had there.
    """

    def __init__(
        self,
        graph: Any,
        history: History,
        serde: SerializerProtocol,
        beyond: Beyond = "stop",
        *,
        reroute: bool = False,
    ) -> None:
        """Read the records of `history`, a run of `graph`.

        With `reroute`, edges and conditions decide anew where to go; otherwise only where a
        recorded way does not exist in the graph any more.
        """
        self._reroute = reroute
        self.served = 0
        self.left_at: TaskInfo | None = None
        self._beyond = beyond
        self._serde = serde
        self._lock = threading.Lock()
        self._records: dict[Key, deque[Record]] = {}
        trail = history.trail()
        ends = {moment.ns: moment for moment in trail}
        complete = {ns for ns, end in ends.items() if not history.tasks(graph, end)}
        behind = {(moment.ns, moment.parent): moment for moment in trail}
        self.input_ids: dict[str, list[BaseMessage]] = {}
        for moment in trail:
            saved = history.load(moment)
            by_task = written(saved)
            after = behind.get((moment.ns, moment.id))
            fresh = added(shown(saved), shown(history.load(after))) if after is not None else {}
            if moment.source == "input" and moment.ns == "" and not self.input_ids:
                self.input_ids = {key: list(value) for key, value in fresh.items()}
            for task in history.tasks(graph, moment, saved) if by_task else []:
                writes = [
                    (channel, with_ids(value, fresh[channel]) if channel in fresh else value)
                    for channel, value in outputs(by_task.get(task.id, []))
                ]
                if writes:
                    key = (moment.names, task.name, digest_of(serde, own_input(task)))
                    inside = task.config["configurable"]["checkpoint_ns"]
                    enter = is_subgraph_node(task) and not complete.isdisjoint(_homes(inside))
                    self._records.setdefault(key, deque()).append(Record(writes, enter))

    def take(self, info: TaskInfo, task: Any) -> list[tuple[str, Any]] | None:
        """The recorded writes of a task, or None to run it.

        A node that is a sub-graph is run and its own nodes are served, so that its states are
        there too; it is served itself if its own steps are not on record to their end.
        """
        key = (info.names, info.node, digest_of(self._serde, own_input(task)))
        with self._lock:
            records = self._records.get(key)
            if not records:
                self._miss(info)
                return None
            record = records.popleft()
            if record.enter:
                return None
            self.served += 1
        return self._routed(task, record.writes)

    def _routed(self, task: Any, writes: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        channels = task.config["configurable"]["__pregel_read"].args[1]
        lost = any(name.startswith(_ROUTES) and name not in channels for name, _ in writes)
        if not (lost or self._reroute):
            return writes
        state = [write for write in writes if not write[0].startswith((*_ROUTES, "__"))]
        again = replace_writes(task, dict(state))
        return state + [write for write in again if write[0].startswith((*_ROUTES, "__"))]

    def leaves(self, info: TaskInfo) -> bool:
        """Whether to stand still in front of this task: it is where the recording is left."""
        with self._lock:
            if self._beyond == "live" or self.left_at is None or self.left_at != info:
                return False
            self._beyond = "live"
            return True

    def _miss(self, info: TaskInfo) -> None:
        if self.left_at is None:
            self.left_at = info
