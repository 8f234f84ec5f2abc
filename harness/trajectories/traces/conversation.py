"""One conversation from the model calls of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, Trajectory
from harness.core.trajectory import Metrics
from harness.trajectories.building import Builder
from harness.trajectories.lenient import Notes
from harness.trajectories.traces.messages import Said

LOOKED_BACK = 64
"""Messages that are compared to find where a shortened conversation goes on."""


@dataclass
class ModelCall:
    """A span of a model call: what it was given, what it answered."""

    start: str
    given: list[Said]
    answered: list[Said]
    model: str = ""
    metrics: Metrics | None = None


@dataclass
class ToolRun:
    """A span of a tool: for results that no later model call was given."""

    start: str
    name: str
    result: str
    call_id: str = ""


@dataclass
class Trace:
    """Everything that belongs to one conversation.

    Attributes:
        calls: model calls.
        whole: spans around many model calls, with the first input, the last answer and all tokens:
            read where no call has messages.
    """

    id: str
    name: str = ""
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    whole: list[ModelCall] = field(default_factory=list[ModelCall])
    tools: list[ToolRun] = field(default_factory=list[ToolRun])
    facts: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def trajectories(traces: Iterable[Trace], source: str, file: str) -> Iterator[Trajectory]:
    """Every trace whose spans hold messages, as a trajectory.

    A model call is given the conversation so far: what stands in its input and was said before is
    said once. What it answers is new, however often it was said; a span that was exported twice
    counts once. Calls of a tool whose result no model call was given get it from the tool's span.
    """
    for trace in traces:
        found = _trajectory(trace, source, file)
        if found is not None:
            yield found


def _trajectory(trace: Trace, source: str, file: str) -> Trajectory | None:
    notes = Notes()
    builder = Builder(notes)
    said: list[str] = []
    open_calls: dict[str, str] = {}
    seen: set[tuple[object, ...]] = set()
    model = ""
    for call in sorted(trace.calls or trace.whole, key=lambda one: one.start):
        span = [*call.given, *call.answered]
        same = (len(call.given), *((one.key, one.ids) for one in span))
        if same in seen:
            continue
        seen.add(same)
        model = call.model or model
        for message in _new(said, call.given):
            _add(builder, message, call.start, open_calls)
        before = len(builder.drafts)
        for message in call.answered:
            _add(builder, message, call.start, open_calls)
            said.append(message.key)
        for draft in builder.drafts[before:]:
            if draft.source == "agent":
                draft.model, draft.metrics = call.model or None, call.metrics
    _from_tools(builder, trace.tools, open_calls)
    steps = builder.steps()
    if not steps:
        return None
    facts: dict[str, JsonValue] = {"source": source, "path": file, **trace.facts}
    return Trajectory(
        session_id=trace.id,
        trajectory_id=trace.id,
        agent=AgentInfo(name=trace.name or source, version="unknown", model_name=model or None),
        steps=steps,
        extra={"harness": {**facts, **notes.facts()}},
    )


def _new(said: list[str], messages: list[Said]) -> list[Said]:
    """The messages that were not said yet; they count as said from now on.

    Where the messages begin as the conversation does, or hold its end, since older ones were left
    out, all behind it are new, repeated ones too. Before it stand those that were said, and perhaps
    others: another agent's instructions, or a summary of what was left out.
    """
    keys = [message.key for message in messages]
    behind = len(said) if keys[: len(said)] == said else _end_in(keys, said)
    known, left = messages[:behind], Counter(said)
    fresh = [one for one in known if not _take(left, one.key)]
    if behind is not None:
        fresh += messages[behind:]
    said.extend(message.key for message in fresh)
    return fresh


def _end_in(keys: list[str], said: list[str]) -> int | None:
    """Where the end of what was said ends in `keys`, by the longest overlap; None without one."""
    best, longest = None, 0
    for at in (at for at, key in enumerate(keys, start=1) if key == said[-1]):
        most, length = min(at, len(said), LOOKED_BACK), 1
        while length < most and keys[at - length - 1] == said[-length - 1]:
            length += 1
        if length >= longest:
            best, longest = at, length
    return best


def _take(left: Counter[str], key: str) -> bool:
    if not left[key]:
        return False
    left[key] -= 1
    return True


def _add(builder: Builder, message: Said, when: str, open_calls: dict[str, str]) -> None:
    for call_id, text in message.results:
        builder.result(call_id, text)
        open_calls.pop(call_id, None)
    if message.role == "assistant":
        draft = builder.begin("agent", when, message.text)
        if message.thought:
            draft.thoughts.append(message.thought)
        for number, call in enumerate(message.calls, start=1):
            used = call.id or f"call_{len(builder.drafts)}_{number}"
            builder.call(draft, used, call.name, call.arguments)
            open_calls[used] = call.name
    elif message.role != "tool" and message.text:
        builder.begin("system" if message.role == "system" else "user", when, message.text)


def _from_tools(builder: Builder, tools: list[ToolRun], open_calls: dict[str, str]) -> None:
    """Results of calls that no model call was given: by id, else the last run of that tool."""
    for run in sorted(tools, key=lambda one: one.start, reverse=True):
        named = [call for call, name in open_calls.items() if name == run.name]
        match = run.call_id if run.call_id in open_calls else (named or [""])[-1]
        if match and run.result:
            builder.result(match, run.result)
            del open_calls[match]


def by_trace(traces: dict[str, Trace], key: str, **more: Any) -> Trace:
    """The trace of that key, made if it is new."""
    return traces.setdefault(key, Trace(id=key, **more))
