"""ShareGPT conversations, one per JSONL row, as ATIF trajectories and back."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, Observation, ObservationResult, Step, Trajectory
from harness.trajectories.text import content_text

_SOURCES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "agent",
    "chatgpt": "agent",
    "assistant": "agent",
    "function_call": "agent",
}
_OBSERVATIONS = ("tool", "observation", "function_response", "function")
_SPEAKERS = {"system": "system", "user": "human", "agent": "gpt"}


def from_sharegpt(row: dict[str, Any], where: str, fallback_id: str) -> Trajectory:
    """Convert one row `{conversations: [{from, value}, ...], id?, outcome?}`.

    Raises:
        BadInput: if the row is of another shape (`where` names it).
    """
    turns: Any = row.get("conversations")
    if not isinstance(turns, list) or not turns:
        raise BadInput(f"{where}: expected 'conversations', a list that is not empty")
    steps: list[Step] = []
    for turn in turns:  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        if not isinstance(turn, dict) or not isinstance(turn.get("value"), str):  # pyright: ignore[reportUnknownMemberType]  # raw JSON
            raise BadInput(f"{where}: expected a turn with 'from' and 'value', got {turn!r:.60}")
        _take(steps, str(turn.get("from")), turn["value"], where)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # raw JSON
    facts: dict[str, JsonValue] = {"source": "sharegpt"}
    facts |= {key: row[key] for key in ("task_id", "outcome", "score") if key in row}
    return Trajectory(
        trajectory_id=str(row.get("id") or fallback_id),
        agent=AgentInfo(name="unknown", version="unknown"),
        steps=tuple(steps),
        extra={"harness": facts},
    )


def _take(steps: list[Step], speaker: str, value: str, where: str) -> None:
    if speaker in _OBSERVATIONS:
        if not steps or steps[-1].source != "agent":
            raise BadInput(f"{where}: a {speaker!r} turn needs a reply before it")
        result = ObservationResult(content=value, extra=_spoken(speaker, "tool"))
        before = steps[-1].observation.results if steps[-1].observation else ()
        observed = Observation(results=(*before, result))
        steps[-1] = steps[-1].model_copy(update={"observation": observed})
        return
    source: Any = _SOURCES.get(speaker)
    if source is None:
        raise BadInput(
            f"{where}: unknown speaker {speaker!r}; known are {[*_SOURCES, *_OBSERVATIONS]}"
        )
    steps.append(
        Step(
            step_id=len(steps) + 1,
            source=source,
            message=value,
            extra=_spoken(speaker, _SPEAKERS[source]),
        )
    )


def _spoken(speaker: str, usual: str) -> dict[str, JsonValue] | None:
    return None if speaker == usual else {"harness": {"speaker": speaker}}


def to_sharegpt(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row. Tool calls of other agents follow the text as JSON."""
    turns: list[JsonValue] = []
    for step in trajectory.steps:
        text = content_text(step.message)
        if step.tool_calls and not text:
            calls = [
                {"name": call.function_name, "arguments": call.arguments}
                for call in step.tool_calls
            ]
            text = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
        turns.append({"from": _speaker(step.extra, _SPEAKERS[step.source]), "value": text})
        for result in step.observation.results if step.observation else ():
            value = content_text(result.content or "")
            turns.append({"from": _speaker(result.extra, "tool"), "value": value})
    row: dict[str, JsonValue] = {"id": trajectory.trajectory_id, "conversations": turns}
    for key in ("task_id", "outcome", "score"):
        if key in trajectory.harness:
            row[key] = trajectory.harness[key]
    return row


def _speaker(extra: dict[str, JsonValue] | None, usual: str) -> str:
    own = (extra or {}).get("harness")
    value = own.get("speaker") if isinstance(own, dict) else None
    return value if isinstance(value, str) else usual
