"""The text protocol of Trace2Skill rollouts: `Thought: … Action: {json}` and its end signal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

END_SIGNAL = "ACTION: TASK_COMPLETE"
STOP = "Observation:"


@dataclass(frozen=True)
class Action:
    """A tool call that a reply asked for."""

    id: str
    name: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True)
class Final:
    """The reply that ends the attempt."""

    answer: str


class FormatError(Exception):
    """A reply that is neither an action nor an end; the message goes back to the model."""


def read_text_reply(text: str) -> Action | Final:
    """Read a reply in the text protocol.

    Raises:
        FormatError: if it holds no action and no end signal, or the action is no JSON object
            with a name and arguments.
    """
    if END_SIGNAL in text:
        return Final(text.split(END_SIGNAL)[0].strip())
    _, marker, rest = text.rpartition("Action:")
    if not marker:
        raise FormatError(
            'Your reply has no action. Write `Action:` and then {"name": …, "arguments": …}, or '
            f"end with `{END_SIGNAL}`."
        )
    value = _first_object(rest)
    name, arguments = value.get("name"), value.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise FormatError('The action needs a text "name" and an object "arguments".')
    return Action("text", name, arguments)  # pyright: ignore[reportUnknownArgumentType]  # parsed JSON


def read_arguments(name: str, raw: str) -> dict[str, JsonValue]:
    """The arguments of a native tool call.

    Raises:
        FormatError: if they are no JSON object.
    """
    try:
        value = json.loads(raw or "{}")
    except json.JSONDecodeError as error:
        raise FormatError(f"The arguments of {name!r} are no JSON: {error.msg}.") from error
    if not isinstance(value, dict):
        raise FormatError(f"The arguments of {name!r} must be a JSON object.")
    return value  # pyright: ignore[reportUnknownVariableType]  # parsed JSON


def _first_object(text: str) -> dict[str, Any]:
    start = text.find("{")
    if start < 0:
        raise FormatError("There is no JSON object behind `Action:`.")
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text[start:])
    except json.JSONDecodeError as error:
        raise FormatError(f"The JSON behind `Action:` cannot be read: {error.msg}.") from error
    return value


def fenced(text: str) -> str:
    """An observation in a fence that its own text cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"Observation:\n{fence}\n{text}\n{fence}"
