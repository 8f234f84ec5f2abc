"""OpenAI chat messages, one conversation per JSONL row, as ATIF trajectories and back."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from harness.core import (
    AgentInfo,
    BadInput,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)
from harness.trajectories.text import content_text

_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def from_openai(row: dict[str, Any], where: str, fallback_id: str) -> Trajectory:
    """Convert one row `{messages: [...], id?, tools?, model?, outcome?}`.

    A tool message becomes an observation of the reply before it. What ATIF has no field for
    (a developer role, a content list, arguments that are no JSON object) is kept beside the step.

    Raises:
        BadInput: if the row is of another shape (`where` names it).
    """
    messages: Any = row.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadInput(f"{where}: expected 'messages', a list that is not empty")
    steps: list[Step] = []
    for message in messages:  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):  # pyright: ignore[reportUnknownMemberType]  # raw JSON
            raise BadInput(f"{where}: expected a message with a role, got {message!r:.60}")
        _take(steps, message, where)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    if not steps:
        raise BadInput(f"{where}: only tool messages, no reply that they could belong to")
    facts: dict[str, JsonValue] = {"source": "openai"}
    facts |= {key: row[key] for key in ("task_id", "outcome", "score") if key in row}
    rest = {key: row[key] for key in row if key not in {"messages", "id", "tools", *facts}}
    if rest:
        facts["openai"] = rest
    model = row.get("model")
    return Trajectory(
        trajectory_id=str(row.get("id") or fallback_id),
        agent=AgentInfo(
            name="unknown",
            version="unknown",
            model_name=model if isinstance(model, str) else None,
            tool_definitions=row.get("tools"),
        ),
        steps=tuple(steps),
        extra={"harness": facts},
    )


def _take(steps: list[Step], message: dict[str, Any], where: str) -> None:
    role = message["role"]
    if role in ("tool", "function"):
        _attach(steps, message, where)
        return
    source: Any = _SOURCES.get(role)
    if source is None:
        raise BadInput(f"{where}: unknown role {role!r}; known are {[*_SOURCES, 'tool']}")
    number = len(steps) + 1
    content = message.get("content")
    text = _text(content)
    calls, exact = _calls(message.get("tool_calls"), number)
    kept: dict[str, JsonValue] = {}
    if role == "developer" or not isinstance(content, str) or not exact:
        kept = {key: message[key] for key in message if key != "reasoning_content"}
    reasoning = message.get("reasoning_content") if source == "agent" else None
    steps.append(
        Step(
            step_id=number,
            source=source,
            message=text,
            reasoning_content=reasoning,
            tool_calls=calls if source == "agent" else None,
            extra={"harness": {"openai": kept}} if kept else None,
        )
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[str] = [
        part["text"]
        if isinstance(part, dict) and isinstance(part.get("text"), str)  # pyright: ignore[reportUnknownMemberType]  # raw JSON
        else json.dumps(part, ensure_ascii=False)
        for part in content
    ]
    return "\n".join(parts)


def _calls(raw: Any, number: int) -> tuple[tuple[ToolCall, ...] | None, bool]:
    """Tool calls, and whether :func:`to_openai` writes them again unchanged."""
    found: list[ToolCall] = []
    exact = True
    for index, call in enumerate(raw or []):
        function: dict[str, Any] = call.get("function") or {}
        written = function.get("arguments") or ""
        try:
            arguments: Any = json.loads(written)
        except (json.JSONDecodeError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            arguments = {"arguments": written}
            exact = False
        tool_call = ToolCall(
            tool_call_id=str(call.get("id") or f"call_{number}_{index}"),
            function_name=str(function.get("name")),
            arguments=arguments,  # pyright: ignore[reportUnknownArgumentType]  # pydantic checks it
        )
        exact = exact and _openai_call(tool_call) == call
        found.append(tool_call)
    return tuple(found) or None, exact


def _attach(steps: list[Step], message: dict[str, Any], where: str) -> None:
    if not steps or steps[-1].source != "agent":
        raise BadInput(f"{where}: a tool message needs a reply before it")
    step = steps[-1]
    known = {call.tool_call_id for call in step.tool_calls or ()}
    call_id = message.get("tool_call_id")
    plain = call_id in known and isinstance(message.get("content"), str)
    plain = plain and message.keys() <= {"role", "tool_call_id", "content"}
    result = ObservationResult(
        source_call_id=call_id if call_id in known else None,
        content=_text(message.get("content")),
        extra=None if plain else {"harness": {"openai": message}},
    )
    before = step.observation.results if step.observation else ()
    observed = Observation(results=(*before, result))
    steps[-1] = step.model_copy(update={"observation": observed})


def to_openai(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row; exact messages for a trajectory that :func:`from_openai` made."""
    messages: list[JsonValue] = []
    for step in trajectory.steps:
        message: dict[str, JsonValue] = dict(_kept(step.extra))
        if not message:
            message = {"role": _ROLES[step.source], "content": content_text(step.message)}
            if step.tool_calls:
                message["tool_calls"] = [_openai_call(call) for call in step.tool_calls]
        if step.reasoning_content is not None:
            message["reasoning_content"] = step.reasoning_content
        messages.append(message)
        results = step.observation.results if step.observation else ()
        messages += [_result_message(result) for result in results]
    row: dict[str, JsonValue] = {"id": trajectory.trajectory_id, "messages": messages}
    if trajectory.agent.tool_definitions is not None:
        row["tools"] = list(trajectory.agent.tool_definitions)
    if trajectory.agent.model_name is not None:
        row["model"] = trajectory.agent.model_name
    for key in ("task_id", "outcome", "score"):
        if key in trajectory.harness:
            row[key] = trajectory.harness[key]
    rest = trajectory.harness.get("openai")
    return {**rest, **row} if isinstance(rest, dict) else row


def _openai_call(call: ToolCall) -> dict[str, JsonValue]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function: dict[str, JsonValue] = {"name": call.function_name, "arguments": arguments}
    return {"id": call.tool_call_id, "type": "function", "function": function}


def _result_message(result: ObservationResult) -> dict[str, JsonValue]:
    kept = _kept(result.extra)
    if kept:
        return dict(kept)
    text = content_text(result.content or "")
    if result.source_call_id is None:
        return {"role": "user", "content": text}
    return {"role": "tool", "tool_call_id": result.source_call_id, "content": text}


def _kept(extra: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    own = (extra or {}).get("harness")
    value = own.get("openai") if isinstance(own, dict) else None
    return value if isinstance(value, dict) else {}
