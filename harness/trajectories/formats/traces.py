"""One conversation from the model calls of a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.core import AgentInfo, Trajectory, digest
from harness.core.trajectory import Metrics
from harness.trajectories.building import Builder
from harness.trajectories.lenient import Notes
from harness.trajectories.messages import Turn, arguments_of

# Messages that are compared to find where a shortened conversation goes on.
OVERLAP = 64


@dataclass
class ModelCall:
    """A span of a model call: the turns of its input, and those of its answer."""

    start: str
    prompt: list[Turn]
    answer: list[Turn]
    model: str = ""
    metrics: Metrics | None = None


@dataclass
class ToolRun:
    """A span of a tool: for results that are in no later model call's input."""

    start: str
    name: str
    result: str
    call_id: str = ""


@dataclass
class Trace:
    """Everything that belongs to one conversation.

    Attributes:
        calls: model calls.
        agents: spans around many model calls, with the first input, the last answer and all
            tokens: read where no call has messages.
    """

    name: str = ""
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    agents: list[ModelCall] = field(default_factory=list[ModelCall])
    tools: list[ToolRun] = field(default_factory=list[ToolRun])


def trajectories(traces: Mapping[str, Trace], source: str, file: str) -> Iterator[Trajectory]:
    """Every trace whose spans hold messages, as a trajectory.

    A model call's input is the conversation so far: what stands in it and was said before is
    said once. Its answer is new, however often it was said; a span that was exported twice
    counts once. Calls of a tool whose result is in no model call's input get it from the tool's
    span.

    Args:
        traces: by the id of their conversation.
        source: name of the format.
        file: that was read.
    """
    for name, trace in traces.items():
        conversation = _Conversation()
        calls = sorted(trace.calls or trace.agents, key=lambda call: call.start)
        for call in calls:
            conversation.take(call)
        conversation.take_tools(trace.tools)
        steps = conversation.builder.steps()
        model = next((call.model for call in reversed(calls) if call.model), None)
        if steps:
            metadata = {"source": source, "path": file, **conversation.notes.facts()}
            yield Trajectory(
                session_id=name,
                trajectory_id=name,
                agent=AgentInfo(name=trace.name or source, version="unknown", model_name=model),
                steps=steps,
                extra={"harness": metadata},
            )


class _Conversation:
    def __init__(self) -> None:
        self.notes = Notes()
        self.builder = Builder(self.notes)
        self._history: list[str] = []
        self._open_calls: dict[str, str] = {}
        self._seen: set[tuple[object, ...]] = set()

    def take(self, call: ModelCall) -> None:
        turns = [*call.prompt, *call.answer]
        ids = ((*(tool.id for tool in turn.calls), turn.call_id) for turn in turns)
        span = (len(call.prompt), *map(_key, turns), *ids)
        if span in self._seen:
            return
        self._seen.add(span)
        for turn in self._new(call.prompt):
            self._add(turn, call.start)
        before = len(self.builder.drafts)
        for turn in call.answer:
            self._add(turn, call.start)
        for draft in self.builder.drafts[before:]:
            if draft.source == "agent":
                draft.model, draft.metrics = call.model or None, call.metrics

    def _new(self, turns: list[Turn]) -> list[Turn]:
        """The turns of an input that were not said yet.

        Where the turns begin as the conversation does, or hold its end, since older ones were left
        out, all behind it are new, repeated ones too. Before it stand those that were said, and
        perhaps others: another agent's instructions, or a summary of what was left out.
        """
        history = self._history
        keys = list(map(_key, turns))
        behind = len(history) if keys[: len(history)] == history else _end_in(keys, history)
        unsaid, fresh = Counter(history), list[Turn]()
        for turn, key in zip(turns[:behind], keys, strict=False):
            unsaid[key] -= 1
            if unsaid[key] < 0:
                fresh.append(turn)
        return fresh + ([] if behind is None else turns[behind:])

    def _add(self, turn: Turn, when: str) -> None:
        self._history.append(_key(turn))
        self._open_calls.pop(turn.call_id, None)
        if turn.role in ("system", "user") and not turn.text:
            return
        draft = self.builder.take(turn, when)
        calls = draft.calls[len(draft.calls) - len(turn.calls) :]
        self._open_calls |= {call.tool_call_id: call.function_name for call in calls}

    def take_tools(self, tools: list[ToolRun]) -> None:
        """Results of calls that are in no model call's input: by id, else a tool's last run."""
        for run in sorted(tools, key=lambda run: run.start, reverse=True):
            calls = [call for call, name in self._open_calls.items() if name == run.name]
            match = run.call_id if run.call_id in self._open_calls else (calls or [""])[-1]
            if match and run.result:
                self.builder.result(match, run.result)
                del self._open_calls[match]


def _key(turn: Turn) -> str:
    """Return a key that tells a turn from others, whatever ids its calls have."""
    calls = [(call.name, arguments_of(call.arguments)) for call in turn.calls]
    return digest([turn.role, turn.text, calls])


def _end_in(keys: list[str], history: list[str]) -> int | None:
    """Find the end of `history` in `keys`, by the longest overlap; None without one."""
    best, longest = None, 0
    for end in (end for end, key in enumerate(keys, start=1) if key == history[-1]):
        most, length = min(end, len(history), OVERLAP), 1
        while length < most and keys[end - length - 1] == history[-length - 1]:
            length += 1
        if length >= longest:
            best, longest = end, length
    return best
