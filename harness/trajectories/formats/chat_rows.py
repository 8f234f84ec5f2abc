"""Conversations, one per JSONL row, as ATIF trajectories and back: OpenAI's form and ShareGPT's.

Bare replies to tasks are read too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
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
    listing,
    mapping,
    object_in,
    parse_json,
    string,
)
from harness.trajectories.building import ROLES, Extra, Source, extra_of, facts_of
from harness.trajectories.formats.recorded import parse_code
from harness.trajectories.text import content_text

LABELS = ("task_id", "outcome", "score")
_SOURCES: dict[str, Source] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
}
_SPEAKERS: dict[str, Source] = {
    "system": "system",
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "function_call"), "agent"),
}
_OBSERVATIONS = ("tool", "observation", "function_response", "function")
_USUAL = {"system": "system", "user": "human", "agent": "gpt"}


def from_openai(row: dict[str, Any], where: str, fallback_id: str) -> Trajectory:
    """Convert one row `{messages: [...], id?, tools?, model?, outcome?}`.

    A tool message becomes an observation of the reply before it. What ATIF has no field for
    (a developer role, a content list, arguments that are no JSON object) is kept beside the step.

    Raises:
        BadInput: if the row is of another shape (`where` names it).
    """
    steps: list[Step] = []
    for raw in _listed(row, "messages", where):
        message = mapping(raw)
        role = message.get("role")
        if not isinstance(role, str):
            raise BadInput(f"{where}: expected a message with a role, got {raw!r:.60}")
        if role in _SOURCES:
            steps.append(_step(message, role, len(steps) + 1))
        elif role not in ("tool", "function"):
            raise BadInput(f"{where}: unknown role {role!r}; known are {[*_SOURCES, 'tool']}")
        else:
            _add_result(steps, _result(message, steps), f"{where}: a tool message")
    metadata: Extra = {"source": "openai", **_labels(row)}
    unused = {key: row[key] for key in row if key not in {"messages", "id", "tools", *metadata}}
    if unused:
        metadata["openai"] = unused
    agent = AgentInfo(
        name="unknown",
        version="unknown",
        model_name=string(row.get("model")) or None,
        tool_definitions=row.get("tools"),
    )
    return _trajectory(row, fallback_id, agent, steps, metadata)


def from_sharegpt(row: dict[str, Any], where: str, fallback_id: str) -> Trajectory:
    """Convert one row `{conversations: [{from, value}, ...], system?, tools?, id?, outcome?}`.

    Turns of `function_call` are calls, and the observations behind them are their results in order.
    Rows whose turns are `{role, content}` are OpenAI's under another name. Other columns are kept.

    Raises:
        BadInput: if the row is of another shape (`where` names it).
    """
    turns, system = _listed(row, "conversations", where), string(row.get("system"))
    if "role" in mapping(turns[0]) and "from" not in mapping(turns[0]):
        first = [{"role": "system", "content": system}] if system else []
        moved = {"conversations", "system"} if system else {"conversations"}
        other_columns = {key: row[key] for key in row if key not in moved}
        return from_openai({**other_columns, "messages": [*first, *turns]}, where, fallback_id)
    metadata: Extra = {"source": "sharegpt", **_labels(row)}
    if columns := {key: row[key] for key in row if key not in {"conversations", "id", *metadata}}:
        metadata["sharegpt"] = columns
    steps: list[Step] = []
    if system:
        extra = extra_of({"column": "system"})
        steps.append(Step(step_id=1, source="system", message=system, extra=extra))
    for raw in turns:
        turn = mapping(raw)
        speaker, value = str(turn.get("from")), turn.get("value")
        source = _SPEAKERS.get(speaker)
        if not isinstance(value, str):
            raise BadInput(f"{where}: expected a turn with 'from' and 'value', got {raw!r:.60}")
        usual = speaker == (_USUAL[source] if source else "tool") and turn.keys() == {
            "from",
            "value",
        }
        extra = None if usual else extra_of({"speaker": speaker, "turns": [turn]})
        if speaker == "function_call" and (call := _called(value, steps)) is not None:
            _add_call(steps, call, turn)
        elif source is not None:
            steps.append(Step(step_id=len(steps) + 1, source=source, message=value, extra=extra))
        elif speaker in _OBSERVATIONS:
            answered = steps[-1].observation.results if steps and steps[-1].observation else ()
            calls = (steps[-1].tool_calls if steps else None) or ()
            caller = calls[len(answered)].tool_call_id if len(answered) < len(calls) else None
            result = ObservationResult(source_call_id=caller, content=value, extra=extra)
            _add_result(steps, result, f"{where}: a {speaker!r} turn")
        else:
            speakers = [*_SPEAKERS, *_OBSERVATIONS]
            raise BadInput(f"{where}: unknown speaker {speaker!r}; known are {speakers}")
    agent = AgentInfo(
        name="unknown", version="unknown", tool_definitions=_tool_list(row.get("tools"))
    )
    return _trajectory(row, fallback_id, agent, steps, metadata)


def _called(value: str, steps: Sequence[Step]) -> ToolCall | None:
    """The call that a turn's JSON is; None where it is something else."""
    call = object_in(value)
    if call is None or not isinstance(call.get("name"), str):
        return None
    return ToolCall(
        tool_call_id=f"call_{sum(len(step.tool_calls or ()) for step in steps) + 1}",
        function_name=call["name"],
        arguments=_arguments(call.get("arguments")),
    )


def _add_call(steps: list[Step], call: ToolCall, turn: dict[str, Any]) -> None:
    """Put a call beside those that the same reply made, or into a step of its own."""
    metadata = facts_of(steps[-1].extra) if steps else {}
    if not steps or steps[-1].observation or metadata.get("speaker") != "function_call":
        steps.append(Step(step_id=len(steps) + 1, source="agent", message=""))
        metadata = {"speaker": "function_call", "turns": list[JsonValue]()}
    calls = (*(steps[-1].tool_calls or ()), call)
    extra = extra_of({**metadata, "turns": [*listing(metadata["turns"]), turn]})
    steps[-1] = steps[-1].model_copy(update={"tool_calls": calls, "extra": extra})


def _tool_list(tools: Any) -> tuple[Any, ...] | None:
    """The tools of a row, a list or its JSON."""
    if isinstance(tools, str):
        try:
            tools = parse_json(tools)
        except (ValueError, RecursionError):
            return None
    return tuple(listing(tools)) or None


def from_reply(row: dict[str, Any], where: str, fallback_id: str) -> Trajectory:
    """Convert one row `{task, reply}`: a task's id, and what somebody would have an agent reply.

    A Python block of the reply is also given as a call of `python`. Nothing says that it passes.

    Raises:
        BadInput: if the row is of another shape (`where` names it).
    """
    task, reply = row.get("task"), row.get("reply")
    if not (isinstance(task, str) and isinstance(reply, str)):
        raise BadInput(f'{where}: expected {{"task": id, "reply": text}}, got {row!r:.60}')
    calls = parse_code(reply, 1)
    step = Step(step_id=1, source="agent", message=reply, tool_calls=calls)
    metadata: Extra = {"source": "replies", "task_id": task}
    if columns := {key: row[key] for key in row if key not in ("task", "reply", "id")}:
        metadata["replies"] = columns
    agent = AgentInfo(name="unknown", version="unknown")
    return _trajectory(row, fallback_id, agent, [step], metadata)


def _listed(row: dict[str, Any], name: str, where: str) -> list[Any]:
    if not listing(row.get(name)):
        raise BadInput(f"{where}: expected {name!r}, a list that is not empty")
    return listing(row[name])


def _labels(row: dict[str, Any]) -> dict[str, JsonValue]:
    return {key: row[key] for key in LABELS if key in row}


def _trajectory(
    row: dict[str, Any], fallback_id: str, agent: AgentInfo, steps: list[Step], metadata: Extra
) -> Trajectory:
    return Trajectory(
        trajectory_id=str(row.get("id") or fallback_id),
        agent=agent,
        steps=tuple(steps),
        extra={"harness": metadata},
    )


def _add_result(steps: list[Step], result: ObservationResult, turn: str) -> None:
    """Put a result behind those of the reply before it."""
    if not steps or steps[-1].source != "agent":
        raise BadInput(f"{turn} needs a reply before it")
    before = steps[-1].observation.results if steps[-1].observation else ()
    observation = Observation(results=(*before, result))
    steps[-1] = steps[-1].model_copy(update={"observation": observation})


def _step(message: dict[str, Any], role: str, number: int) -> Step:
    source = _SOURCES[role]
    content, calls = message.get("content"), list[ToolCall]()
    exact = role != "developer" and isinstance(content, str)
    exact = exact and message.keys() <= {"role", "content", "tool_calls", "reasoning_content"}
    legacy = mapping(message.get("function_call"))
    written = [*listing(message.get("tool_calls")), *([{"function": legacy}] if legacy else [])]
    for index, raw in enumerate(written):
        call = mapping(raw)
        function = mapping(call.get("function"))
        tool_call = ToolCall(
            tool_call_id=str(call.get("id") or f"call_{number}_{index}"),
            function_name=str(function.get("name")),
            arguments=_arguments(function.get("arguments")),
        )
        exact = exact and _openai_call(tool_call) == raw
        calls.append(tool_call)
    original = {key: message[key] for key in message if key != "reasoning_content"}
    agent = source == "agent"
    thoughts = string(message.get("reasoning_content")) or string(message.get("reasoning"))
    return Step(
        step_id=number,
        source=source,
        message=_text(content),
        reasoning_content=thoughts or None if agent else None,
        tool_calls=tuple(calls) or None if agent else None,
        extra=extra_of({} if exact else {"openai": original}),
    )


def _arguments(written: Any) -> dict[str, Any]:
    """The arguments of a call, an object or its JSON; another value stands under `arguments`."""
    arguments = written
    if isinstance(written, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(written)
    return mapping(arguments) if isinstance(arguments, dict) else {"arguments": written or ""}


def _result(message: dict[str, Any], steps: list[Step]) -> ObservationResult:
    call_id, content = message.get("tool_call_id"), message.get("content")
    calls = (steps[-1].tool_calls if steps else None) or ()
    if call_id is None and message.get("role") == "function":
        matching_ids = (
            call.tool_call_id for call in calls if call.function_name == message.get("name")
        )
        call_id = next(matching_ids, None)
    matched = any(call.tool_call_id == call_id for call in calls)
    exact = matched and isinstance(content, str)
    exact = exact and message.keys() <= {"role", "tool_call_id", "content"}
    exact = exact and message.get("role") == "tool"
    return ObservationResult(
        source_call_id=call_id if matched else None,
        content=_text(content),
        extra=extra_of({} if exact else {"openai": message}),
    )


def _text(content: Any) -> str:
    """The text of a content; parts that are no text stand as their JSON."""
    if isinstance(content, str):
        return content
    texts = [(mapping(part).get("text"), part) for part in listing(content)]
    return "\n".join(
        text if isinstance(text, str) else json.dumps(part, ensure_ascii=False)
        for text, part in texts
    )


def to_openai(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row; exact messages for a trajectory that :func:`from_openai` made."""
    messages: list[JsonValue] = []
    for step in trajectory.steps:
        message: dict[str, JsonValue] = mapping(facts_of(step.extra).get("openai")).copy()
        if not message:
            message = {"role": ROLES[step.source], "content": content_text(step.message)}
            if step.tool_calls:
                message["tool_calls"] = [_openai_call(call) for call in step.tool_calls]
        if step.reasoning_content is not None and "reasoning" not in message:
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
    agent, metadata = trajectory.agent, trajectory.harness
    if agent.tool_definitions is not None:
        row["tools"] = list(agent.tool_definitions)
    if agent.model_name is not None:
        row["model"] = agent.model_name
    return {**mapping(metadata.get("openai")), **row, **_labels(metadata)}


def to_sharegpt(trajectory: Trajectory) -> dict[str, JsonValue]:
    """One JSONL row. Tool calls of other agents follow the text as JSON."""
    turns: list[JsonValue] = []

    def turn(extra: Extra | None, usual: str, value: str) -> None:
        metadata = facts_of(extra)
        speaker = string(metadata.get("speaker")) or usual
        turns.extend(listing(metadata.get("turns")) or [{"from": speaker, "value": value}])

    for step in trajectory.steps:
        if facts_of(step.extra).get("column") != "system":  # stands beside the turns
            text = content_text(step.message)
            if step.tool_calls and not text:
                calls = (
                    {"name": call.function_name, "arguments": call.arguments}
                    for call in step.tool_calls
                )
                text = "\n".join(json.dumps(call, ensure_ascii=False) for call in calls)
            turn(step.extra, _USUAL[step.source], text)
        for result in step.observation.results if step.observation else ():
            turn(result.extra, "tool", content_text(result.content or ""))
    row: dict[str, JsonValue] = {"id": trajectory.trajectory_id, "conversations": turns}
    metadata = trajectory.harness
    return {**mapping(metadata.get("sharegpt")), **row, **_labels(metadata)}


def _openai_call(call: ToolCall) -> dict[str, JsonValue]:
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    function: dict[str, JsonValue] = {"name": call.function_name, "arguments": arguments}
    return {"id": call.tool_call_id, "type": "function", "function": function}
