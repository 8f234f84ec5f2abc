"""Which skills an attempt loaded: from the tool calls of a trajectory, or of a client's output.

Two signs count. A call of a `Skill` tool that names the skill, and a call of any tool whose
arguments name a file of the skill's folder (`short-answers/SKILL.md`): clients that have no such
tool let the model read the file or `cat` it. Text that mentions a skill is no sign.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from harness.core import Trajectory

_CALL_TYPES = frozenset(
    ("tool_use", "tool_call", "function_call", "custom_tool_call", "local_shell_call",
     "command_execution", "mcp_tool_call")
)  # fmt: skip
_FAILED_TYPES = frozenset(("error", "turn.failed"))
_INPUTS = ("input", "arguments", "args", "command", "action", "parameters")


class Call(NamedTuple):
    """A tool call: the tool's name, and its arguments as JSON text."""

    name: str
    arguments: str


class Output(NamedTuple):
    """What a client's output says.

    Attributes:
        events: how many lines are events of a client (JSON objects with a type).
        calls: tool calls among them, in order.
        failure: what an event says that went wrong with the whole session, or "".
    """

    events: int
    calls: tuple[Call, ...]
    failure: str


def calls_of(trajectory: Trajectory) -> tuple[Call, ...]:
    """The tool calls of a trajectory that ended in an observation which is no error."""
    calls: list[Call] = []
    for step in trajectory.steps:
        failed = {
            result.source_call_id
            for result in (step.observation.results if step.observation else ())
            if isinstance(result.content, str) and result.content.startswith("[Error")
        }
        calls += [
            Call(call.function_name, json.dumps(call.arguments, ensure_ascii=False))
            for call in step.tool_calls or ()
            if call.tool_call_id not in failed
        ]
    return tuple(calls)


def read_output(text: str) -> Output:
    """Read what a client printed: JSON lines, such as `claude -p --output-format stream-json
    --verbose` and `codex exec --json` print; or one JSON document of such events."""
    events = [event for event in _events(text) if isinstance(event.get("type"), str)]
    calls = [call for event in events for call in _calls(event)]
    failure = ""
    for event in events:
        if event.get("is_error") is True or event["type"] in _FAILED_TYPES:
            message = event.get("result") or event.get("message") or event.get("error")
            failure = str(message or event["type"])[:300]
            break
    return Output(len(events), tuple(dict.fromkeys(calls)), failure)


def loaded(calls: Sequence[Call], names: Sequence[str]) -> tuple[str, ...]:
    """Those of the skills that the calls loaded, in the order of loading."""
    skills: dict[str, None] = {}
    for call in calls:
        if call.name.lower() in ("skill", "load_skill", "activate_skill", "use_skill"):
            # Skills of a plugin are named `plugin:skill`.
            values = {text.split(":")[-1] for text in _texts(json.loads(call.arguments))}
            skills |= dict.fromkeys(name for name in names if name in values)
        else:
            for name in names:
                if re.search(rf"(?<![\w.-]){re.escape(name)}[/\\]+[\w.]", call.arguments):
                    skills[name] = None
    return tuple(skills)


def matched(text: str, pattern: re.Pattern[str], names: Sequence[str]) -> tuple[str, ...]:
    """Those of the skills that the first group of a pattern of the user's names in a text."""
    groups = (match.group(1) for match in pattern.finditer(text))
    return tuple(dict.fromkeys(name for name in groups if name in names))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip().lstrip("/")
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in (text.strip(), *text.splitlines()):
        if line.lstrip()[:1] not in ("{", "["):
            continue
        try:
            value = json.loads(line)
        except ValueError:
            continue
        rows = cast("list[Any]", value) if isinstance(value, list) else [value]
        yield from (cast("dict[str, Any]", row) for row in rows if isinstance(row, dict))


def _calls(value: Any) -> Iterator[Call]:
    """Every object in an event that is a tool call, however deep."""
    if isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _calls(inner)
    if not isinstance(value, dict):
        return
    item = cast("dict[str, Any]", value)
    if item.get("type") in _CALL_TYPES:
        arguments: Any = next((item[key] for key in _INPUTS if key in item), None)
        try:
            json.loads(arguments)
        except (ValueError, TypeError):  # no JSON text: a command line, or the arguments themselves
            arguments = json.dumps(arguments)
        yield Call(str(item.get("name") or item.get("tool") or item["type"]), arguments)
        return
    for inner in item.values():
        yield from _calls(inner)
