"""Values of a state as trees of JSON, for a page that shows them and runs nothing of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from typing import Any, cast

from harness.debug.web.pictures import cells, grid, image

DEPTH, ITEMS, TEXT = 12, 500, 20_000
"""Levels, entries of one container, and characters of one text that are shown."""
_ROLES = {"human": "user", "ai": "assistant"}


def tree(value: Any, depth: int = DEPTH) -> dict[str, Any]:
    """One value with a `kind`: text, number, map, list, message, object, image, cells, other, …"""
    if value is None or isinstance(value, (bool, int, float)):
        return {"kind": "number", "value": _number(value)}
    drawn = _drawn(value)
    if drawn is not None:
        return drawn
    if isinstance(value, str):
        return {"kind": "text", "value": value[:TEXT], "size": len(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"kind": "bytes", "size": len(value)}
    if depth <= 0:
        return {"kind": "other", "value": f"{type(value).__name__} …"}
    message = _message(value)
    if message is not None:
        return {**message, "content": tree(message["content"], depth - 1)}
    if isinstance(value, Mapping):
        return _entries("map", cast("Mapping[Any, Any]", value), depth)
    if isinstance(value, (Sequence, Set)):
        items = list(cast("Sequence[Any]", value))
        shown = [tree(one, depth - 1) for one in items[:ITEMS]]
        return {"kind": "list", "size": len(items), "items": shown}
    fields = _fields(value)
    if fields is not None:
        return {**_entries("object", fields, depth), "type": type(value).__name__}
    return {"kind": "other", "value": repr(value)[:TEXT]}


def _drawn(value: Any) -> dict[str, Any] | None:
    """An image or a table of workbook cells."""
    table = cells(value)
    return image(value) if table is None else grid(table)


def editable(value: Any) -> str | None:
    """The JSON text of a value that is JSON and nothing else, else None."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if json.loads(text) == value else None


def _number(value: float | None) -> Any:
    """Numbers that JSON has not, and whole ones that a browser would round, as text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    return value


def _entries(kind: str, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    found = list(value.items())
    shown = [[str(key), tree(one, depth - 1)] for key, one in found[:ITEMS]]
    return {"kind": kind, "size": len(found), "items": shown}


def _fields(value: Any) -> Mapping[str, Any] | None:
    kind = cast("Any", type(value))
    if dataclasses.is_dataclass(kind):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(kind)}
    declared = getattr(kind, "model_fields", None)
    if isinstance(declared, Mapping):
        return {name: getattr(value, name) for name in cast("Mapping[str, Any]", declared)}
    return None


def _message(value: Any) -> dict[str, Any] | None:
    """A chat message, of LangChain, in OpenAI's form, or a step of a trajectory (ATIF)."""
    if isinstance(value, Mapping):
        found = cast("Mapping[str, Any]", value)
        if "step_id" in found:
            return _step(found)
        if not isinstance(found.get("role"), str) or "content" not in found:
            return None
        calls = found.get("tool_calls")
        return _shown_message(found["role"], found["content"], calls, found.get("usage"))
    kind = getattr(value, "type", None)
    if not isinstance(kind, str) or not hasattr(value, "content") or not hasattr(value, "id"):
        return None
    calls, usage = getattr(value, "tool_calls", None), getattr(value, "usage_metadata", None)
    return _shown_message(_ROLES.get(kind, kind), value.content, calls, usage)


def _step(step: Mapping[str, Any]) -> dict[str, Any] | None:
    """A step of a played trajectory, or the result of a tool in it."""
    if "message" not in step:
        return _shown_message("tool", step.get("content"), None, None)
    content, thought = step["message"], step.get("reasoning_content")
    role = {"agent": "assistant"}.get(str(step.get("source")), str(step.get("source")))
    metrics = _mapping(step.get("metrics"))
    tokens = sum(metrics.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
    said = {"reasoning": thought, "message": content} if thought else content
    return _shown_message(role, said, step.get("tool_calls"), {"total_tokens": tokens or None})


def _shown_message(role: str, content: Any, calls: Any, usage: Any) -> dict[str, Any]:
    shown = [_call(one) for one in cast("list[Any]", calls)] if isinstance(calls, list) else []
    tokens = _mapping(usage).get("total_tokens")
    return {"kind": "message", "role": role, "content": content, "calls": shown, "tokens": tokens}


def _call(call: Any) -> dict[str, Any]:
    """A tool call in any of the three forms, its arguments read where they are JSON."""
    found = _mapping(call)
    inner = _mapping(found.get("function", found))
    arguments = inner.get("arguments", inner.get("args"))
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    name = inner.get("name", inner.get("function_name"))
    return {"name": str(name), "arguments": tree(arguments)}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
