"""What an agent did, read from its text: `Action:` JSON and ```` ```python ```` fences."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from pydantic import JsonValue

from harness.core import ToolCall

_ACTION = re.compile(r"^Action:\s*", re.MULTILINE)
_PYTHON = re.compile(r"^```(?:python|py)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"(`+)")


def parse_action(text: str, step_id: int) -> tuple[ToolCall, ...] | None:
    """The last `Action:` of a reply in the text protocol, or None if there is none that parses."""
    starts = [match.end() for match in _ACTION.finditer(text)]
    for start in reversed(starts):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            continue
        call = _tool_call(value, f"call_{step_id}")
        if call is not None:
            return (call,)
    return None


def _tool_call(value: Any, call_id: str) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    action = cast("dict[str, Any]", value)
    name, arguments = action.get("name"), action.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return ToolCall(tool_call_id=call_id, function_name=name, arguments=arguments)  # pyright: ignore[reportUnknownArgumentType]  # pydantic checks it


def parse_code(text: str, step_id: int) -> tuple[ToolCall, ...] | None:
    """Every Python fence of a reply as a call of `python`, or None if there is none."""
    found = [match[1] for match in _PYTHON.finditer(text)]
    calls = tuple(
        ToolCall(
            tool_call_id=f"call_{step_id}_{number}",
            function_name="python",
            arguments={"code": code},
        )
        for number, code in enumerate(found, start=1)
    )
    return calls or None


def render_action(name: str, arguments: dict[str, JsonValue]) -> str:
    """A call in the text protocol."""
    value = {"name": name, "arguments": arguments}
    return f"Action:\n{json.dumps(value, ensure_ascii=False)}"


def fence_observation(text: str) -> str:
    """An observation message of a Markdown log: the fence is longer than any run of backticks
    that the text holds, if that run has three or more."""
    runs = [len(run) for run in _FENCE.findall(text)]
    fence = "`" * max([3, *(run + 1 for run in runs if run >= 3)])
    return f"Observation:\n{fence}\n{text}\n{fence}"


def unfence_observation(message: str) -> str | None:
    """The text of an observation message, or None if writing it again would differ."""
    lines = message.split("\n")
    if len(lines) < 4 or lines[0] != "Observation:":
        return None
    text = "\n".join(lines[2:-1])
    return text if fence_observation(text) == message else None
