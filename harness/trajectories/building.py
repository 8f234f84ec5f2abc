"""Steps of a trajectory, put together from messages, calls and results that come one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from harness.core import Observation, ObservationResult, Step, ToolCall, count, mapping, string
from harness.core.trajectory import FinalMetrics, Metrics, SubagentRef
from harness.trajectories.lenient import Notes
from harness.trajectories.messages import Turn, arguments_of
from harness.trajectories.text import isoformat_or_none

Source = Literal["system", "user", "agent"]
Speaker = Literal["system", "user", "assistant"]
# Roles of messages as ATIF names them.
SOURCES: dict[Speaker, Source] = {"system": "system", "user": "user", "assistant": "agent"}
ROLES: dict[Source, Speaker] = {"system": "system", "user": "user", "agent": "assistant"}
Extra = dict[str, JsonValue]


def extra_of(metadata: Extra) -> Extra | None:
    """`extra` of a step or result that holds our own facts; None if there are none."""
    return {"harness": metadata} if metadata else None


def facts_of(extra: Extra | None) -> Extra:
    """Our own facts in the `extra` of a step or result."""
    return mapping((extra or {}).get("harness"))


def metrics_of(usage: dict[str, Any], read: int = 0, written: int = 0) -> Metrics:
    """Tokens of a call, from `input_tokens` and `output_tokens`.

    ATIF counts cached tokens among the prompt's; `read` from a cache and `written` to it are those
    that a log counts apart.
    """
    return Metrics(
        prompt_tokens=count(usage.get("input_tokens")) + read + written,
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=read,
    )


def final_metrics(metrics: Iterable[Metrics | None]) -> FinalMetrics | None:
    """Sums over calls; None if there are none."""
    rows = [row for row in metrics if row is not None]
    if not rows:
        return None
    return FinalMetrics(
        total_prompt_tokens=sum(row.prompt_tokens or 0 for row in rows),
        total_completion_tokens=sum(row.completion_tokens or 0 for row in rows),
        total_cached_tokens=sum(row.cached_tokens or 0 for row in rows),
    )


@dataclass
class Draft:
    """A step that is not finished yet.

    Attributes:
        texts: pieces of the message.
        thoughts: pieces of the reasoning.
        closed: whether a result came in, so that the agent's next piece is a new step.
    """

    source: Source
    timestamp: str | None = None
    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: list[ObservationResult] = field(default_factory=list[ObservationResult])
    model: str | None = None
    metrics: Metrics | None = None
    extra: Extra = field(default_factory=dict[str, JsonValue])
    closed: bool = False

    def step(self, number: int) -> Step:
        """The step under its number."""
        agent = self.source == "agent"
        return Step(
            step_id=number,
            timestamp=self.timestamp,
            source=self.source,
            model_name=self.model if agent else None,
            message="\n\n".join(self.texts),
            reasoning_content="\n\n".join(self.thoughts) or None if agent else None,
            tool_calls=tuple(self.calls) or None if agent else None,
            observation=Observation(results=tuple(self.results)) if self.results else None,
            metrics=self.metrics if agent else None,
            extra=extra_of(self.extra),
        )


class Builder:
    """Takes messages in order and matches results to the calls that caused them."""

    def __init__(self, notes: Notes) -> None:
        self.drafts: list[Draft] = []
        self._notes = notes
        self._callers: dict[str, Draft] = {}

    def begin(self, source: Source, timestamp: Any = None, text: str = "") -> Draft:
        """A new step."""
        draft = Draft(source, isoformat_or_none(string(timestamp) or None), [text] if text else [])
        self.drafts.append(draft)
        return draft

    def agent(self, timestamp: Any = None) -> Draft:
        """The agent's open step, or a new one after a message or a result."""
        last = self.drafts[-1] if self.drafts else None
        if last is not None and last.source == "agent" and not last.closed:
            return last
        return self.begin("agent", timestamp)

    def take(self, turn: Turn, timestamp: Any = None, draft: Draft | None = None) -> Draft:
        """Add a turn to `draft`, or as a step of its own; a tool's result goes beside its call.

        Returns:
            The step that holds it.
        """
        if turn.role == "tool":
            return self.result(turn.call_id, turn.text)
        draft = draft or self.begin(SOURCES[turn.role], timestamp)
        draft.texts += filter(None, [turn.text])
        draft.thoughts += filter(None, [turn.reasoning])
        for call in turn.calls:
            self.call(draft, call.id, call.name, call.arguments)
        return draft

    def call(self, draft: Draft, call_id: Any, name: Any, arguments: Any) -> None:
        """A tool call of a step; arguments that are no object lie under `input`."""
        unique = string(call_id) or f"call_{len(self._callers) + 1}"
        draft.calls.append(
            ToolCall(
                tool_call_id=unique,
                function_name=string(name) or "unknown",
                arguments=arguments_of(arguments),
            )
        )
        if draft.source == "agent":  # others call nothing
            self._callers[unique] = draft

    def result(
        self,
        call_id: Any,
        text: str,
        extra: Extra | None = None,
        agents: Sequence[SubagentRef] = (),
    ) -> Draft:
        """A result, put beside its call; without one, it stands on the last step and is counted."""
        name = string(call_id)
        caller = self._callers.get(name)
        metadata = dict(extra or {})
        matched = caller is not None
        if caller is None:
            self._notes.add("result without its call")
            caller = self.drafts[-1] if self.drafts else self.begin("user")
            metadata["call_id"] = name
        caller.results.append(
            ObservationResult(
                source_call_id=name if matched else None,
                content=text,
                subagent_trajectory_ref=tuple(agents) or None,
                extra=extra_of(metadata),
            )
        )
        caller.closed = True
        return caller

    def steps(self) -> tuple[Step, ...]:
        """All steps, numbered from 1."""
        return tuple(draft.step(number) for number, draft in enumerate(self.drafts, start=1))
