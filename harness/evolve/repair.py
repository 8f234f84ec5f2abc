"""JSON as language models write it: fenced, with stray escapes and commas, sometimes cut off.

Every repair is syntactic; no value is invented. What cannot be read is a `ValueError` whose
message a model can act on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)\n?```", re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CLOSING_QUOTE = re.compile(r"\\[\u201c\u201d]")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_DOUBLE_BRACE = re.compile(r"\{(\s*)\{(.*?)\}(\s*)\}", re.DOTALL)


def parse_object(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON object in a model's reply, and the names of the repairs that it needed.

    Raises:
        ValueError: if no JSON object can be read; the message says where it broke.
    """
    candidate = _candidate(text)
    repairs: list[str] = []
    first: json.JSONDecodeError | None = None
    for name, repair in (("", None), *_REPAIRS):
        if repair is not None:
            changed = repair(candidate)
            if changed == candidate:
                continue
            candidate = changed
            repairs.append(name)
        try:
            value = json.loads(candidate, strict=False)
        except json.JSONDecodeError as error:
            first = first or error
            continue
        if not isinstance(value, dict):
            raise ValueError(f"expected one JSON object, got {type(value).__name__}")
        return value, tuple(repairs)  # pyright: ignore[reportUnknownVariableType]  # json is untyped
    reason = f"{first.msg} at line {first.lineno}" if first else "empty"
    raise ValueError(f"expected one JSON object: {reason}; the reply began {text[:60]!r}")


def _candidate(text: str) -> str:
    fenced = [block for block in _FENCE.findall(text) if block.lstrip().startswith("{")]
    body = text.strip()
    if fenced and not body.startswith("{"):
        # A fence inside a JSON string would cut the object short: take the whole span instead.
        body = max((*fenced, body[body.find("{") : body.rfind("}") + 1]), key=len)
    start, end = body.find("{"), body.rfind("}")
    return body[start : end + 1] if 0 <= start < end else ""


def _unwrap_braces(text: str) -> str:
    """`{ { ... } }` in a list of objects: the outer pair says nothing."""
    return _DOUBLE_BRACE.sub(r"{\2}", text)


def _close_brackets(text: str) -> str:
    """Close what a cut-off reply left open."""
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
    return text + ('"' if inside else "") + "".join(reversed(stack))


def _straighten_quotes(text: str) -> str:
    return _CLOSING_QUOTE.sub(r'\\"', text)


def _double_backslashes(text: str) -> str:
    return _BAD_ESCAPE.sub(r"\\\\", text)


def _drop_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(r"\1", text)


_REPAIRS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("quotes", _straighten_quotes),
    ("escapes", _double_backslashes),
    ("commas", _drop_trailing_commas),
    ("braces", _unwrap_braces),
    ("brackets", _close_brackets),
)
