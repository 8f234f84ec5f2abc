"""Official Trace2Skill logs as ATIF trajectories, and back without loss.

System, task and reminder messages become steps; a reply becomes an agent step whose text stays
whole, its `Action:` parsed into a tool call; the observation that follows becomes the step's
observation. What ATIF has no field for lies in `extra.harness.trace2skill`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from harness.core import (
    STREAMED_BYTES,
    AgentInfo,
    BadInput,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    mapping,
    open_foreign,
    read_json,
)
from harness.trajectories.building import ROLES, SOURCES, Extra, extra_of, facts_of
from harness.trajectories.formats.trace2skill_files import (
    LogResult,
    Message,
    OfficialLog,
    OfficialScores,
    dump_jsonl,
    dump_markdown,
    parse_jsonl,
    parse_with_sidecar,
    read_scores,
)
from harness.trajectories.text import content_text, isoformat_or_none

LogFormat = Literal["md", "jsonl"]
SIDECAR_SUFFIX = ".sidecar.json"
EVALUATION = "eval_official_results.json"
_JSONL_OBSERVATION = "Observation: "
_ACTION = re.compile(r"^Action:\s*", re.MULTILINE)
_NAME = re.compile(
    r"(?P<agent>[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*_agent)_(?P<task>.+?)"
    r"(?:_(?P<label>SUCCEED|FAILED))?"
)
_SEED = re.compile(r"seed_(\d+)")
_OUTCOMES = {"SUCCEED": "pass", "FAILED": "fail"}


def is_log(path: Path) -> bool:
    """Return True if a file starts like an official log."""
    with open_foreign(path, STREAMED_BYTES) as handle:
        head = handle.read(200)
    if path.suffix == ".md":
        return head.startswith(b"# Chat History: ")
    return path.suffix == ".jsonl" and b'"type": "session_start"' in head.replace(b'":"', b'": "')


def log_files(path: Path) -> list[Path]:
    """The official logs in a folder and below it, sorted."""
    files = [*path.rglob("*.md"), *path.rglob("*.jsonl")]
    return sorted(file for file in files if file.is_file() and is_log(file))


def read_trace2skill(path: Path) -> Iterator[Trajectory]:
    """Convert one log or a folder of logs, labelled by the evaluation that lies there.

    Raises:
        BadInput: as :func:`read_logs` and :func:`read_scores`.
    """
    folder = path if path.is_dir() else path.parent
    files = (folder / EVALUATION, folder / "outputs" / EVALUATION)
    evaluation = next((file for file in files if file.is_file()), None)
    return read_logs(path, read_scores(evaluation) if evaluation else None)


def read_logs(path: Path, scores: OfficialScores | None = None) -> Iterator[Trajectory]:
    """Convert one log or a folder of logs.

    Args:
        path: log file or folder.
        scores: labels for logs whose names carry none.

    Raises:
        BadInput: if a log is damaged (the file is named).
    """
    folder = path if path.is_dir() else path.parent
    instances = scores.instances if scores else ()
    outcomes = {row.id: "pass" if row.hard_score >= 1 else "fail" for row in instances}
    for file in log_files(path) if path.is_dir() else [path]:
        yield _read_log(file, file.relative_to(folder).as_posix(), outcomes)


def _read_log(file: Path, relative: str, outcomes: dict[str, str]) -> Trajectory:
    try:
        with open_foreign(file) as handle:
            text = handle.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {str(file)!r} as UTF-8 text: {error}") from error
    log_format: LogFormat = "jsonl" if file.suffix == ".jsonl" else "md"
    if log_format == "md":
        beside = file.with_name(file.name + SIDECAR_SUFFIX)
        sidecar = mapping(read_json(beside)) if beside.exists() else None
        log = parse_with_sidecar(text, sidecar, str(file))
    else:
        log = parse_jsonl(text, str(file))
    if not log.messages:
        raise BadInput(f"{file}: a log without messages cannot be a trajectory")
    # Label, task and seed stand in the path.
    metadata: Extra = {"source": "trace2skill", "path": relative}
    name = relative.rsplit(".", 1)[0]
    match, seed = _NAME.fullmatch(name.rsplit("/", 1)[-1]), _SEED.search(name)
    if match is not None:
        name = metadata["task_id"] = match["task"]
        outcome = _OUTCOMES.get(match["label"] or "") or outcomes.get(name)
        metadata |= {"outcome": outcome} if outcome else {}
        if seed is not None:
            metadata["seed"] = int(seed[1])
            name = f"{name}_seed_{seed[1]}"
    return from_log(
        log, name, log_format, metadata, None if _dump(log, log_format) == text else text
    )


def _dump(log: OfficialLog, log_format: LogFormat) -> str:
    return dump_markdown(log) if log_format == "md" else dump_jsonl(log)


def from_log(
    log: OfficialLog,
    trajectory_id: str,
    log_format: LogFormat,
    metadata: dict[str, JsonValue],
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
        text, last = message.content, steps[-1] if steps else None
        if (
            (message.role == "user" and text.startswith("Observation:"))
            and last is not None
            and (last.source == "agent" and last.observation is None)
        ):
            observation = _observation(message, last, log_format)
            steps[-1] = last.model_copy(update={"observation": observation})
            continue
        number, source = len(steps) + 1, SOURCES[message.role]
        time = isoformat_or_none(message.timestamp)
        # A time that is not ISO 8601 has no place in an ATIF step.
        odd: Extra = {} if message.timestamp is None or time else {"timestamp": message.timestamp}
        steps.append(
            Step(
                step_id=number,
                source=source,
                message=text,
                timestamp=time,
                tool_calls=parse_action(text, number) if source == "agent" else None,
                extra=extra_of(odd),
            )
        )
    origin: Extra = {"format": log_format, "timestamp": log.timestamp}
    origin["result"] = log.result.model_dump(exclude_none=True) if log.result else None
    if not log.closed:
        origin["closed"] = False
    if raw is not None:
        origin["raw"] = raw
    return Trajectory(
        trajectory_id=trajectory_id,
        agent=AgentInfo(name=log.agent_name, version="unknown"),
        steps=tuple(steps),
        extra={"harness": {**metadata, "trace2skill": origin}},
    )


def _observation(message: Message, step: Step, log_format: LogFormat) -> Observation:
    """The observation of a step; `verbatim` where writing its text again would differ."""
    text = message.content
    if log_format == "md":
        text = "\n".join(text.split("\n")[2:-1])
    else:
        text = text.removeprefix(_JSONL_OBSERVATION)
    metadata: Extra = {}
    if message.timestamp is not None:
        metadata["timestamp"] = message.timestamp
    if _observation_message(text, log_format) != message.content:
        metadata["verbatim"] = True
        text = message.content
    call = step.tool_calls[0].tool_call_id if step.tool_calls else None
    result = ObservationResult(source_call_id=call, content=text, extra=extra_of(metadata))
    return Observation(results=(result,))


def _observation_message(text: str, log_format: LogFormat) -> str:
    """In Markdown, the fence is longer than any run of three or more backticks in the text."""
    if log_format == "jsonl":
        return _JSONL_OBSERVATION + text
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", text))])
    return f"Observation:\n{fence}\n{text}\n{fence}"


def parse_action(text: str, step_id: int) -> tuple[ToolCall, ...] | None:
    """The last `Action:` of a reply in the text protocol, or None if there is none that parses."""
    for match in reversed(list(_ACTION.finditer(text))):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, match.end())
        except json.JSONDecodeError:
            continue
        name, arguments = mapping(value).get("name"), mapping(value).get("arguments")
        if isinstance(name, str) and isinstance(arguments, dict):
            call_id = f"call_{step_id}"
            arguments = mapping(arguments)
            return (ToolCall(tool_call_id=call_id, function_name=name, arguments=arguments),)
    return None


def to_log(trajectory: Trajectory, log_format: LogFormat | None = None) -> OfficialLog:
    """Convert a trajectory of any origin; exact for one that came from :func:`from_log`.

    Args:
        trajectory: what to write.
        log_format: form of the observations; default: the form it came from, else Markdown.
    """
    origin = _origin(trajectory)
    form = log_format or log_format_of(trajectory)
    messages: list[Message] = []
    for step in trajectory.steps:
        text = content_text(step.message)
        if not origin and not parse_action(text, step.step_id) and "```python" not in text:
            # Replies of other agents: native tool calls in the text protocol.
            for call in step.tool_calls or ():
                action = {"name": call.function_name, "arguments": call.arguments}
                written = f"Action:\n{json.dumps(action, ensure_ascii=False)}"
                text = f"{text}\n\n{written}" if text else written
        time = _text_or_none(facts_of(step.extra).get("timestamp")) or step.timestamp
        messages.append(Message(role=ROLES[step.source], content=text, timestamp=time))
        for result in step.observation.results if step.observation else ():
            metadata, text = facts_of(result.extra), content_text(result.content or "")
            if metadata.get("verbatim") is not True:
                text = _observation_message(text, form)
            time = _text_or_none(metadata.get("timestamp"))
            messages.append(Message(role="user", content=text, timestamp=time))
    times = (step.timestamp for step in trajectory.steps if step.timestamp)
    if origin:
        value = origin.get("result")
        result = None if value is None else LogResult.model_validate(value)
    else:
        turns = sum(step.source == "agent" for step in trajectory.steps)
        finished = trajectory.harness.get("outcome") != "invalid"
        result = LogResult(success=finished, total_turns=turns)
    return OfficialLog(
        agent_name=trajectory.agent.name,
        timestamp=str(origin.get("timestamp") or next(times, datetime(1970, 1, 1).isoformat())),
        messages=tuple(messages),
        result=result,
        closed=origin.get("closed") is not False,
    )


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def render(trajectory: Trajectory, log_format: LogFormat | None = None) -> str:
    """The text of the official log file: byte for byte the one that was imported."""
    form = log_format or log_format_of(trajectory)
    raw = _origin(trajectory).get("raw")
    if isinstance(raw, str) and form == log_format_of(trajectory):
        return raw
    return _dump(to_log(trajectory, form), form)


def log_format_of(trajectory: Trajectory) -> LogFormat:
    """The form that a trajectory was imported from; Markdown for any other origin."""
    return "jsonl" if _origin(trajectory).get("format") == "jsonl" else "md"


def _origin(trajectory: Trajectory) -> dict[str, Any]:
    return mapping(trajectory.harness.get("trace2skill"))
