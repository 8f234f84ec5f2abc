"""ShareGPT conversations, one per JSONL row, as ATIF trajectories and back."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, ObservationResult, Step, Trajectory
from harness.trajectories.building import Extra, extra_of, facts_of, with_result
from harness.trajectories.formats.openai import LABELS
from harness.trajectories.lenient import mapping
from harness.trajectories.text import content_text

_SOURCES = {
    "system": "system",
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "function_call"), "agent"),
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
    for raw in turns:  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        turn = mapping(raw)
        speaker, value = str(turn.get("from")), turn.get("value")
        source: Any = _SOURCES.get(speaker)
        if not isinstance(value, str):
            raise BadInput(f"{where}: expected a turn with 'from' and 'value', got {raw!r:.60}")
        if source is not None:
            extra = _spoken(speaker, _SPEAKERS[source])
            steps.append(Step(step_id=len(steps) + 1, source=source, message=value, extra=extra))
        elif speaker not in _OBSERVATIONS:
            speakers = [*_SOURCES, *_OBSERVATIONS]
            raise BadInput(f"{where}: unknown speaker {speaker!r}; known are {speakers}")
        elif not steps or steps[-1].source != "agent":
            raise BadInput(f"{where}: a {speaker!r} turn needs a reply before it")
        else:
            result = ObservationResult(content=value, extra=_spoken(speaker, "tool"))
            steps[-1] = with_result(steps[-1], result)
    facts: dict[str, JsonValue] = {"source": "sharegpt"}
    return Trajectory(
        trajectory_id=str(row.get("id") or fallback_id),
        agent=AgentInfo(name="unknown", version="unknown"),
        steps=tuple(steps),
        extra={"harness": facts | {key: row[key] for key in LABELS if key in row}},
    )


def _spoken(speaker: str, usual: str) -> Extra | None:
    return extra_of({} if speaker == usual else {"speaker": speaker})


def to_sharegpt(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row. Tool calls of other agents follow the text as JSON."""
    turns: list[JsonValue] = []

    def turn(extra: Extra | None, usual: str, value: str) -> None:
        speaker = facts_of(extra).get("speaker")
        turns.append({"from": speaker if isinstance(speaker, str) else usual, "value": value})

    for step in trajectory.steps:
        text = content_text(step.message)
        if step.tool_calls and not text:
            calls = ({"name": c.function_name, "arguments": c.arguments} for c in step.tool_calls)
            text = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
        turn(step.extra, _SPEAKERS[step.source], text)
        for result in step.observation.results if step.observation else ():
            turn(result.extra, "tool", content_text(result.content or ""))
    facts = trajectory.harness
    row: dict[str, JsonValue] = {"id": trajectory.trajectory_id, "conversations": turns}
    return row | {key: facts[key] for key in LABELS if key in facts}
