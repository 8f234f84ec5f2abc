"""Official Trace2Skill logs as ATIF trajectories, and back without loss.

System, task and reminder messages become steps; a reply becomes an agent step whose text stays
whole, its `Action:` parsed into a tool call; the observation that follows becomes the step's
observation. What ATIF has no field for lies in `extra.harness.trace2skill`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue

from harness.core import AgentInfo, Observation, ObservationResult, Step, Trajectory
from harness.trajectories.actions import (
    fence_observation,
    parse_action,
    render_action,
    unfence_observation,
)
from harness.trajectories.official_log import (
    LogResult,
    Message,
    OfficialLog,
    Role,
    dump_jsonl,
    dump_markdown,
)
from harness.trajectories.text import content_text, isoformat_or_none

LogFormat = Literal["md", "jsonl"]
_SOURCES: dict[Role, Literal["system", "user", "agent"]] = {
    "system": "system",
    "user": "user",
    "assistant": "agent",
}
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "agent": "assistant"}
_JSONL_OBSERVATION = "Observation: "


def from_log(
    log: OfficialLog,
    trajectory_id: str,
    log_format: LogFormat,
    facts: dict[str, JsonValue],
    raw: str | None = None,
) -> Trajectory:
    """Convert a log.

    Args:
        log: the parsed log.
        trajectory_id: id of the result.
        log_format: the form the log was read from; export writes the same.
        facts: further `extra.harness` entries (task_id, outcome, seed, ...).
        raw: the file's text, if writing `log` again would give other bytes.
    """
    steps: list[Step] = []
    for message in log.messages:
        if message.role == "user" and steps and steps[-1].source == "agent":
            observed = _observation(message, steps[-1], log_format)
            if observed is not None:
                steps[-1] = steps[-1].model_copy(update={"observation": observed})
                continue
        steps.append(_step(message, len(steps) + 1))
    kept: dict[str, JsonValue] = {"format": log_format, "timestamp": log.timestamp}
    kept["result"] = log.result.model_dump(exclude_none=True) if log.result else None
    if not log.closed:
        kept["closed"] = False
    if raw is not None:
        kept["raw"] = raw
    return Trajectory(
        trajectory_id=trajectory_id,
        agent=AgentInfo(name=log.agent_name, version="unknown"),
        steps=tuple(steps),
        extra={"harness": {**facts, "trace2skill": kept}},
    )


def _step(message: Message, step_id: int) -> Step:
    source = _SOURCES[message.role]
    return Step(
        step_id=step_id,
        source=source,
        message=message.content,
        timestamp=isoformat_or_none(message.timestamp),
        tool_calls=parse_action(message.content, step_id) if source == "agent" else None,
        extra=_odd_time(message),
    )


def _odd_time(message: Message) -> dict[str, JsonValue] | None:
    """A time that is not ISO 8601 has no place in an ATIF step."""
    if message.timestamp is None or isoformat_or_none(message.timestamp):
        return None
    return {"harness": {"timestamp": message.timestamp}}


def _observation(message: Message, step: Step, log_format: LogFormat) -> Observation | None:
    if step.observation is not None or not message.content.startswith("Observation:"):
        return None
    text = _observed_text(message.content, log_format)
    extra: dict[str, JsonValue] = {}
    if message.timestamp is not None:
        extra["timestamp"] = message.timestamp
    if text is None:
        extra["verbatim"] = True
    call = step.tool_calls[0].tool_call_id if step.tool_calls else None
    result = ObservationResult(
        source_call_id=call,
        content=message.content if text is None else text,
        extra={"harness": extra} if extra else None,
    )
    return Observation(results=(result,))


def _observed_text(content: str, log_format: LogFormat) -> str | None:
    if log_format == "md":
        return unfence_observation(content)
    if content.startswith(_JSONL_OBSERVATION):
        return content.removeprefix(_JSONL_OBSERVATION)
    return None


def to_log(trajectory: Trajectory, log_format: LogFormat | None = None) -> OfficialLog:
    """Convert a trajectory of any origin; exact for one that came from :func:`from_log`.

    Args:
        trajectory: what to write.
        log_format: form of the observations; default: the form it came from, else Markdown.
    """
    kept = _kept(trajectory)
    form = log_format or log_format_of(trajectory)
    messages: list[Message] = []
    for step in trajectory.steps:
        text = content_text(step.message)
        if not kept:
            text = _with_calls(text, step)
        messages.append(
            Message(
                role=_ROLES[step.source], content=text, timestamp=_time_of(step, step.timestamp)
            )
        )
        results = step.observation.results if step.observation else ()
        messages += [_message_of(result, form) for result in results]
    return OfficialLog(
        agent_name=trajectory.agent.name,
        timestamp=str(kept.get("timestamp") or _started(trajectory)),
        messages=tuple(messages),
        result=_result_of(trajectory, kept),
        closed=kept.get("closed") is not False,
    )


def render(trajectory: Trajectory, log_format: LogFormat | None = None) -> str:
    """The text of the official log file: byte for byte the one that was imported."""
    form = log_format or log_format_of(trajectory)
    raw = _kept(trajectory).get("raw")
    if isinstance(raw, str) and form == log_format_of(trajectory):
        return raw
    log = to_log(trajectory, form)
    return dump_markdown(log) if form == "md" else dump_jsonl(log)


def log_format_of(trajectory: Trajectory) -> LogFormat:
    """The form that a trajectory was imported from; Markdown for any other origin."""
    return "jsonl" if _kept(trajectory).get("format") == "jsonl" else "md"


def _kept(trajectory: Trajectory) -> dict[str, Any]:
    value = trajectory.harness.get("trace2skill")
    return value if isinstance(value, dict) else {}


def _with_calls(text: str, step: Step) -> str:
    """Replies of other agents: write native tool calls in the text protocol."""
    if not step.tool_calls or parse_action(text, step.step_id) or "```python" in text:
        return text
    actions = [render_action(call.function_name, call.arguments) for call in step.tool_calls]
    return "\n\n".join(part for part in (text, *actions) if part)


def _message_of(result: ObservationResult, form: LogFormat) -> Message:
    extra = (result.extra or {}).get("harness")
    own = extra if isinstance(extra, dict) else {}
    text = content_text(result.content or "")
    if own.get("verbatim") is not True:
        text = fence_observation(text) if form == "md" else _JSONL_OBSERVATION + text
    timestamp = own.get("timestamp")
    return Message(
        role="user", content=text, timestamp=timestamp if isinstance(timestamp, str) else None
    )


def _time_of(step: Step, fallback: str | None) -> str | None:
    extra = (step.extra or {}).get("harness")
    value = extra.get("timestamp") if isinstance(extra, dict) else None
    return value if isinstance(value, str) else fallback


def _started(trajectory: Trajectory) -> str:
    times = [step.timestamp for step in trajectory.steps if step.timestamp]
    return times[0] if times else datetime(1970, 1, 1).isoformat()


def _result_of(trajectory: Trajectory, kept: dict[str, Any]) -> LogResult | None:
    if kept:
        value = kept.get("result")
        return LogResult.model_validate(value) if value is not None else None
    turns = sum(step.source == "agent" for step in trajectory.steps)
    finished = trajectory.harness.get("outcome") != "invalid"
    return LogResult(success=finished, total_turns=turns)
