"""Asking a model for one JSON object, which models write fenced, with stray commas, or cut off.

Every repair of ours is syntactic; no value is invented. What cannot be read is a `ValueError`
whose message a model can act on: the reply is sent back with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from harness.core import BadInput, Usage, first_fault
from harness.models import Message, Model

ValueT = TypeVar("ValueT")
REPAIRS = 2
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)\n?```", re.DOTALL)
_REPAIRS: dict[str, tuple[re.Pattern[str], str]] = {
    "quotes": (re.compile(r"\\[\u201c\u201d]"), r'\\"'),
    "escapes": (re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})'), r"\\\\"),
    "commas": (re.compile(r",(\s*[}\]])"), r"\1"),
    # `{ { ... } }` in a list of objects: the outer pair says nothing.
    "braces": (re.compile(r"\{(\s*)\{(.*?)\}(\s*)\}", re.DOTALL), r"{\2}"),
}


async def ask_json(
    model: Model, prompt: str, read: Callable[[dict[str, Any]], ValueT]
) -> tuple[ValueT | None, str, Usage]:
    """(what `read` made of the reply, "", usage), or (None, why not, usage).

    A reply that is no JSON object, or that `read` refuses with a ValueError, goes back to the
    model with the complaint, at most twice. A rejected request is a failure of this one reply.

    Raises:
        Unreachable: if the endpoint does not answer.
        LimitReached: if the budget cannot hold the call.
    """
    opening: Message = {"role": "user", "content": prompt}
    messages, usage, reason = [opening], Usage(), ""
    for _ in range(1 + REPAIRS):
        try:
            reply = await model.complete(messages)
        except BadInput as error:
            return None, f"the endpoint rejected the request: {error}", usage
        usage += reply.usage
        try:
            if not reply.text.strip():
                raise ValueError(f"empty reply (finish reason {reply.finish_reason!r})")
            return read(parse_object(reply.text)[0]), "", usage
        except ValueError as error:
            reason = complaint(error)
        messages = [
            opening,
            {"role": "assistant", "content": reply.text[-4000:] or "(empty)"},
            {
                "role": "user",
                "content": f"That could not be used: {reason}. "
                "Reply with the corrected JSON object only.",
            },
        ]
    return None, f"unusable after {REPAIRS} repairs: {reason}", usage


def complaint(error: ValueError) -> str:
    """Tell a model why its reply could not be used."""
    return first_fault(error) if isinstance(error, ValidationError) else str(error)


def parse_object(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON object in a model's reply, and the names of the repairs that it needed.

    Raises:
        ValueError: if no JSON object can be read; the message says where it broke.
    """
    body = text.strip()
    fenced = [block for block in _FENCE.findall(text) if block.lstrip().startswith("{")]
    if fenced and not body.startswith("{"):
        # A fence inside a JSON string would cut the object short: take the whole span instead.
        body = max((*fenced, body[body.find("{") : body.rfind("}") + 1]), key=len)
    start, end = body.find("{"), body.rfind("}")
    candidate = body[start : end + 1] if 0 <= start < end else ""
    repairs: list[str] = []
    first: json.JSONDecodeError | None = None
    for name, repaired in _repaired(candidate):
        if name and repaired == candidate:
            continue
        candidate = repaired
        repairs += [name] if name else []
        try:
            value = json.loads(candidate, strict=False)
        except json.JSONDecodeError as error:
            first = first or error
            continue
        if not isinstance(value, dict):
            raise ValueError(f"expected one JSON object, got {type(value).__name__}")
        return cast("dict[str, Any]", value), tuple(repairs)
    reason = f"{first.msg} at line {first.lineno}" if first else "empty"
    raise ValueError(f"expected one JSON object: {reason}; the reply began {text[:60]!r}")


def _repaired(text: str) -> Iterator[tuple[str, str]]:
    """The text as it is, and with one repair after another: (name of the last one, text)."""
    yield "", text
    for name, (pattern, replacement) in _REPAIRS.items():
        text = pattern.sub(replacement, text)
        yield name, text
    # What a cut-off reply left open is closed.
    stack: list[str] = []
    inside = escaped = False
    for char in text:
        if inside:
            inside = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            inside = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]" and stack:
            stack.pop()
    yield "brackets", text + ('"' if inside else "") + "".join(reversed(stack))
