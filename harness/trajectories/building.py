"""Steps of a trajectory, put together from messages, calls and results that come one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from pydantic import JsonValue

from harness.core import Observation, ObservationResult, Step, ToolCall
from harness.core.trajectory import Metrics, SubagentRef
from harness.trajectories.lenient import Notes, listing, load, mapping, string
from harness.trajectories.text import isoformat_or_none

Source = Literal["system", "user", "agent"]


class Draft:
    """A step that is not finished yet.

    Attributes:
        texts: pieces of the message.
        thoughts: pieces of the reasoning.
        closed: whether a result came in, so that the agent's next piece is a new step.
    """

    def __init__(self, source: Source, timestamp: str | None = None) -> None:
        self.source: Source = source
        self.timestamp = timestamp
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[ToolCall] = []
        self.results: list[ObservationResult] = []
        self.model: str | None = None
        self.metrics: Metrics | None = None
        self.extra: dict[str, JsonValue] = {}
        self.closed = False

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
            extra={"harness": self.extra} if self.extra else None,
        )


class Builder:
    """Takes messages in order and matches results to the calls that caused them."""

    def __init__(self, notes: Notes) -> None:
        self.drafts: list[Draft] = []
        self._notes = notes
        self._callers: dict[str, Draft] = {}

    def begin(self, source: Source, timestamp: Any = None, text: str = "") -> Draft:
        """A new step."""
        draft = Draft(source, isoformat_or_none(string(timestamp) or None))
        if text:
            draft.texts.append(text)
        self.drafts.append(draft)
        return draft

    def agent(self, timestamp: Any = None) -> Draft:
        """The agent's open step, or a new one after a message or a result."""
        last = self.drafts[-1] if self.drafts else None
        if last is not None and last.source == "agent" and not last.closed:
            return last
        return self.begin("agent", timestamp)

    def call(self, draft: Draft, call_id: Any, name: Any, arguments: Any) -> None:
        """A tool call of a step; arguments that are no object lie under `input`."""
        used = string(call_id) or f"call_{len(self._callers) + 1}"
        draft.calls.append(
            ToolCall(
                tool_call_id=used,
                function_name=string(name) or "unknown",
                arguments=arguments_of(arguments),
            )
        )
        self._callers[used] = draft

    def result(
        self,
        call_id: Any,
        text: str,
        extra: dict[str, JsonValue] | None = None,
        agents: Sequence[SubagentRef] = (),
    ) -> None:
        """A result, put beside its call; without one, it stands on the last step and is counted."""
        caller = self._callers.get(string(call_id))
        known = string(call_id) if caller is not None else None
        kept = dict(extra or {})
        if caller is None:
            self._notes.add("result without its call")
            caller = self.drafts[-1] if self.drafts else self.begin("user")
            kept["call_id"] = string(call_id)
        caller.results.append(
            ObservationResult(
                source_call_id=known,
                content=text,
                subagent_trajectory_ref=tuple(agents) or None,
                extra={"harness": kept} if kept else None,
            )
        )
        caller.closed = True

    def steps(self) -> tuple[Step, ...]:
        """All steps, numbered from 1."""
        return tuple(draft.step(number) for number, draft in enumerate(self.drafts, start=1))


def arguments_of(raw: Any) -> dict[str, JsonValue]:
    """Arguments of a call as an object: from an object, from JSON text, else under `input`."""
    if isinstance(raw, str):
        parsed = load(raw.encode("utf-8", "replace"))
        if not isinstance(parsed, dict):
            return {"input": raw}
        return cast("dict[str, JsonValue]", parsed)
    if isinstance(raw, dict):
        return cast("dict[str, JsonValue]", raw)
    return {} if raw is None else {"input": raw}


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or blocks; other blocks become `[kind]`."""
    if isinstance(content, str):
        return content
    return "\n\n".join(_block(block) for block in listing(content))


def _block(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    block = mapping(raw)
    text = block.get("text")
    return text if isinstance(text, str) else f"[{string(block.get('type')) or 'unknown'}]"
