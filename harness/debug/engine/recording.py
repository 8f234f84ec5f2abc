"""Writes of nodes in a recorded run, served instead of running the nodes again.

A node's writes hold what its models and tools answered, whatever client it used, so a replay makes
no call. A record is found by the place in the graph and the digest of the node's input; equal
inputs at one place are served in the order in which they were recorded.

`add_messages` of LangGraph gives a random id to every message that comes without one. A recorded
write has the message as its node returned it, the state behind it has the message with its id; a
replay that served the first would come to other states. So it serves the second.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from harness.core import HarnessError
from harness.debug.engine.graphs import digest_of, is_graph
from harness.debug.engine.history import (
    ROUTES,
    History,
    outputs,
    replace_writes,
    shown,
    written,
)
from harness.debug.engine.stops import HIDDEN, TaskInfo

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langgraph.checkpoint.serde.base import SerializerProtocol


class LeftRecording(HarnessError):
    """A node asks a model or a tool for what was not recorded (exit code 2)."""

    exit_code = 2


Beyond = Literal["stop", "live"]
"""What to do where the recording has nothing: stand still in front of the node, or run it."""


class Recording:
    """The writes of every finished task of a thread.

    Attributes:
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
        self._entered = set[str]()
        # What each task wrote, and whether its steps inside are on record as well.
        records: defaultdict[tuple[Any, ...], deque[tuple[list[tuple[str, Any]], bool]]]
        self._records = records = defaultdict(deque)
        self._input_ids: dict[str, list[BaseMessage]] = {}
        trail = history.trail()
        ends = {moment.ns: moment for moment in trail}
        complete = {ns for ns, end in ends.items() if not history.tasks(graph, end)}
        behind = {(moment.ns, moment.parent): moment for moment in trail}
        for moment in trail:
            saved = history.load(moment)
            by_task = written(saved)
            after = behind.get((moment.ns, moment.id))
            fresh = {} if after is None else _added(shown(saved), shown(history.load(after)))
            if moment.source == "input" and moment.ns == "" and not self._input_ids:
                self._input_ids = {key: list(messages) for key, messages in fresh.items()}
            for task in history.tasks(graph, moment, saved) if by_task else []:
                writes = [
                    (channel, _with_ids(value, fresh.get(channel)))
                    for channel, value in outputs(by_task.get(task.id, []))
                ]
                if not writes or hasattr(task, "called"):
                    continue
                # Its sub-graph may keep its checkpoints under the task, or under its name.
                inside = str(task.config["configurable"]["checkpoint_ns"])
                by_name = "|".join(part.partition(":")[0] for part in inside.split("|"))
                steps = cast("list[Any]", getattr(task.proc, "steps", None) or [task.proc])
                enter = is_graph(steps[0]) and not complete.isdisjoint((inside, by_name))
                records[self._key(moment.names, task)].append((writes, enter))

    def _key(self, names: tuple[str, ...], task: Any) -> tuple[Any, ...]:
        """A task's place and the digest of its input.

        What LangGraph computes from its limits (`remaining_steps`, say) is no part of the input.
        """
        values: Any = task.input
        if isinstance(values, dict):
            managed = task.config["configurable"]["__pregel_read"].args[2]
            items = cast("dict[str, Any]", values).items()
            values = {key: value for key, value in items if key not in managed}
        return (names, task.name, digest_of(self._serde, values))

    def input_with_ids(self, values: Any) -> Any:
        """The run's input with the ids that its messages got."""
        if not isinstance(values, Mapping):
            return values
        items = cast("Mapping[str, Any]", values).items()
        ids = {key: list(messages) for key, messages in self._input_ids.items()}
        return {key: _with_ids(value, ids.get(key)) for key, value in items}

    def take(self, info: TaskInfo, task: Any) -> list[tuple[str, Any]] | None:
        """The recorded writes of a task, or None to run it.

        A node that is a sub-graph is run and its own nodes are served, so that its states are
        there too; it is served itself if its own steps are not on record to their end.
        """
        key = self._key(info.names, task)
        with self._lock:
            if info.id in self._entered:  # its own `interrupt_before` ended the run inside it
                return None
            records = self._records.get(key)
            if not records:
                self.left_at = self.left_at or info
                return None
            writes, enter = records.popleft()
            if enter:
                self._entered.add(info.id)
                return None
            self.served += 1
        channels = task.config["configurable"]["__pregel_read"].args[1]
        lost = any(name.startswith(ROUTES) and name not in channels for name, _ in writes)
        if not (lost or self._reroute):
            return writes
        state = [write for write in writes if not write[0].startswith(HIDDEN)]
        routed = replace_writes(task, dict(state))
        return state + [write for write in routed if write[0].startswith(HIDDEN)]

    def leaves(self, info: TaskInfo) -> bool:
        """Return whether to stop in front of this task: it is where the recording is left."""
        with self._lock:
            if self._beyond == "live" or self.left_at is None or self.left_at != info:
                return False
            self._beyond = "live"
            return True


def _added(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[BaseMessage]]:
    """By state key, the messages of `after` whose ids `before` does not have, in order."""
    added: dict[str, list[BaseMessage]] = {}
    for key, value in after.items():
        ids = {message.id for message in _messages(before.get(key))}
        if new := [message for message in _messages(value) if message.id not in ids]:
            added[key] = new
    return added


def _messages(value: Any) -> list[BaseMessage]:
    """The messages of a list of nothing else."""
    from langchain_core.messages import BaseMessage

    items = cast("list[Any]", value) if isinstance(value, list) else []
    return items if all(isinstance(item, BaseMessage) for item in items) else []


def _with_ids(value: Any, fresh: list[BaseMessage] | None) -> Any:
    """A written value, its messages without ids replaced by the equal ones of `fresh`.

    What is taken from `fresh` is removed from it.
    """
    if fresh is None:
        return value
    if isinstance(value, list):
        return [_with_id(item, fresh) for item in cast("list[Any]", value)]
    return _with_id(value, fresh)


def _with_id(value: Any, fresh: list[BaseMessage]) -> Any:
    from langchain_core.messages import convert_to_messages

    try:
        (message,) = convert_to_messages([value])
    except (ValueError, TypeError, NotImplementedError):
        return value
    if message.id is None:
        body = message.model_dump(exclude={"id"})
        for number, candidate in enumerate(fresh):
            same = type(candidate).__name__ == type(message).__name__
            if same and candidate.model_dump(exclude={"id"}) == body:
                return fresh.pop(number)
    return value
