"""OpenAI chat messages, one conversation per JSONL row, as ATIF trajectories and back."""

from __future__ import annotations

import json
from typing import Any

from pydantic import JsonValue

from harness.core import AgentInfo, BadInput, ObservationResult, Step, ToolCall, Trajectory
from harness.trajectories.building import extra_of, facts_of, with_result
from harness.trajectories.lenient import listing, mapping
from harness.trajectories.text import content_text

LABELS = ("task_id", "outcome", "score")
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
    for raw in messages:  # pyright: ignore[reportUnknownVariableType]  # raw JSON
        message = mapping(raw)
        role = message.get("role")
        if not isinstance(role, str):
            raise BadInput(f"{where}: expected a message with a role, got {raw!r:.60}")
        if role in _SOURCES:
            steps.append(_step(message, role, len(steps) + 1))
        elif role not in ("tool", "function"):
            raise BadInput(f"{where}: unknown role {role!r}; known are {[*_SOURCES, 'tool']}")
        elif not steps or steps[-1].source != "agent":
            raise BadInput(f"{where}: a tool message needs a reply before it")
        else:
            steps[-1] = with_result(steps[-1], _result(message, steps[-1]))
    facts: dict[str, JsonValue] = {"source": "openai"}
    facts |= {key: row[key] for key in LABELS if key in row}
    unused = {key: row[key] for key in row if key not in {"messages", "id", "tools", *facts}}
    if unused:
        facts["openai"] = unused
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


def _step(message: dict[str, Any], role: str, number: int) -> Step:
    source: Any = _SOURCES[role]
    content, calls = message.get("content"), list[ToolCall]()
    exact = role != "developer" and isinstance(content, str)
    for index, raw in enumerate(listing(message.get("tool_calls"))):
        call = mapping(raw)
        function = mapping(call.get("function"))
        written = function.get("arguments") or ""
        try:
            arguments: Any = json.loads(written)
        except (json.JSONDecodeError, TypeError):
            arguments = None
        tool_call = ToolCall(
            tool_call_id=str(call.get("id") or f"call_{number}_{index}"),
            function_name=str(function.get("name")),
            arguments=mapping(arguments) if isinstance(arguments, dict) else {"arguments": written},
        )
        exact = exact and _openai_call(tool_call) == raw
        calls.append(tool_call)
    original = {key: message[key] for key in message if key != "reasoning_content"}
    agent = source == "agent"
    return Step(
        step_id=number,
        source=source,
        message=_text(content),
        reasoning_content=message.get("reasoning_content") if agent else None,
        tool_calls=tuple(calls) or None if agent else None,
        extra=extra_of({} if exact else {"openai": original}),
    )


def _result(message: dict[str, Any], step: Step) -> ObservationResult:
    call_id, content = message.get("tool_call_id"), message.get("content")
    matched = call_id in {call.tool_call_id for call in step.tool_calls or ()}
    exact = matched and isinstance(content, str)
    exact = exact and message.keys() <= {"role", "tool_call_id", "content"}
    return ObservationResult(
        source_call_id=call_id if matched else None,
        content=_text(content),
        extra=extra_of({} if exact else {"openai": message}),
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts: list[str] = []
    for part in listing(content):
        text = mapping(part).get("text")
        parts.append(text if isinstance(text, str) else json.dumps(part, ensure_ascii=False))
    return "\n".join(parts)


def to_openai(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row; exact messages for a trajectory that :func:`from_openai` made."""
    messages: list[JsonValue] = []
    for step in trajectory.steps:
        message: dict[str, JsonValue] = mapping(facts_of(step.extra).get("openai")).copy()
        if not message:
            message = {"role": _ROLES[step.source], "content": content_text(step.message)}
            if step.tool_calls:
                message["tool_calls"] = [_openai_call(call) for call in step.tool_calls]
        if step.reasoning_content is not None:
            message["reasoning_content"] = step.reasoning_content
        messages.append(message)
        for result in step.observation.results if step.observation else ():
            call_id, text = result.source_call_id, content_text(result.content or "")
            original = facts_of(result.extra).get("openai")
            if isinstance(original, dict):
                messages.append({**original})
            elif call_id is None:
                messages.append({"role": "user", "content": text})
            else:
                messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
    row: dict[str, JsonValue] = {"id": trajectory.trajectory_id, "messages": messages}
    agent, facts = trajectory.agent, trajectory.harness
    if agent.tool_definitions is not None:
        row["tools"] = list(agent.tool_definitions)
    if agent.model_name is not None:
        row["model"] = agent.model_name
    row |= {key: facts[key] for key in LABELS if key in facts}
    return {**mapping(facts.get("openai")), **row}


def _openai_call(call: ToolCall) -> dict[str, JsonValue]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function: dict[str, JsonValue] = {"name": call.function_name, "arguments": arguments}
    return {"id": call.tool_call_id, "type": "function", "function": function}
