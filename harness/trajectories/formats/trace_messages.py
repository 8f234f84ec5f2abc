"""Objects of a tracing tool's export, and their messages, read into one form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import digest, read_json, read_rows
from harness.trajectories.building import arguments_of, text_of
from harness.trajectories.lenient import listing, load, mapping, string

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system"}
_HOLDERS = ("messages", "generations", "choices", "message", "output", "input", "kwargs")


@dataclass(frozen=True)
class Call:
    """A tool call of a message."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class SpanMessage:
    """One message.

    Attributes:
        role: system, user, assistant or tool.
        text: its text.
        thought: the model's reasoning.
        calls: tool calls.
        results: (call id, text) of tool results.
    """

    role: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """What tells this message from others, whatever ids its calls have."""
        calls = [(call.name, call.arguments) for call in self.calls]
        return digest([self.role, self.text, calls, [text for _, text in self.results]])

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its calls and results."""
        return (*(call.id for call in self.calls), *(call_id for call_id, _ in self.results))


def objects(path: Path, *lists: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, or of every such file in a folder and below it.

    Args:
        path: `.json` or `.jsonl`, or a folder.
        lists: fields of a document under which its objects lie as a list.

    Raises:
        BadInput: if a file cannot be read or is no JSON (file and line are named).
    """
    files = [file for file in path.rglob("*.json*") if file.is_file()] if path.is_dir() else [path]
    for file in sorted(files):
        if file.suffix == ".jsonl":
            rows: Iterator[Any] = (row for _, row in read_rows(file))
        else:
            document = read_json(file)
            rows = iter(listing(document) if isinstance(document, list) else [document])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        for row in map(mapping, rows):
            name = next((name for name in lists if isinstance(row.get(name), list)), None)
            yield from [row] if name is None else map(mapping, listing(row[name]))


def unpacked(value: Any) -> Any:
    """A value that may have been written out as JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        parsed = load(value.encode("utf-8", "replace"))
        return value if parsed is None else parsed
    return value


def messages_of(raw: Any, role: str) -> list[SpanMessage]:
    """The messages of a span's input or output.

    Args:
        raw: a text, a message, a list of them, or an object that holds one of these.
        role: of a bare text: `user` for an input, `assistant` for an output.
    """
    value = unpacked(raw)
    if isinstance(value, list):
        return [message for item in listing(value) for message in messages_of(item, role)]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    held = mapping(value)
    is_message = "role" in held or "parts" in held or string(held.get("type")) in _ROLES
    if is_message or ("lc" in held and "kwargs" in held):
        return [_message(held, role)]
    for key in _HOLDERS:
        if held.get(key) is not None:
            return messages_of(held[key], role)
    text = held.get("text") or held.get("content") or held.get("question") if held else value
    return [SpanMessage(role, text)] if isinstance(text, str) and text.strip() else []


def _message(held: dict[str, Any], role: str) -> SpanMessage:
    """One message of OpenTelemetry, of OpenAI or Anthropic, or of LangChain."""
    name = string(held.get("role")) or string(held.get("type"))
    inner = mapping(held.get("kwargs")) or mapping(held.get("data"))
    if inner:
        kind = string((listing(held.get("id")) or [""])[-1])
        name = string(inner.get("type")) or _CLASSES.get(kind.removesuffix("Chunk"), name)
        name = "tool" if kind.startswith("ToolMessage") else name
        held = inner
    role = _ROLES.get(name, role)
    if "parts" in held:
        return _of_blocks(role, listing(held["parts"]))
    content = held.get("content")
    if role == "tool":
        result = content if isinstance(content, str) else text_of(content)
        return SpanMessage(role, results=((string(held.get("tool_call_id")), result),))
    content = unpacked(content)
    message = _of_blocks(role, listing(content) if isinstance(content, list) else [content])  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    calls = [_call(mapping(call)) for call in listing(held.get("tool_calls"))]
    thought = string(held.get("reasoning_content")) or message.thought
    all_calls = (*message.calls, *calls)
    return SpanMessage(message.role, message.text, thought, all_calls, message.results)


def _of_blocks(role: str, blocks: list[Any]) -> SpanMessage:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Call] = []
    results: list[tuple[str, str]] = []
    for raw in blocks:
        block = mapping(raw)
        kind = string(block.get("type"))
        text = raw if isinstance(raw, str) else string(block.get("content") or block.get("text"))
        if kind in ("tool_call", "tool_use"):
            calls.append(_call(block))
        elif kind in ("tool_call_response", "tool_result"):
            value = block.get("response", block.get("result", block.get("content")))
            if isinstance(mapping(next(iter(listing(value)), None)).get("text"), str):
                value = text_of(value)
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            name = string(block.get("id")) or string(block.get("tool_use_id"))
            results.append((name, "" if value is None else shown))
        elif kind in ("reasoning", "thinking"):
            thoughts.append(string(block.get("thinking")) or text)
        elif text:
            texts.append(text)
    role = "tool" if results and role != "assistant" and not texts else role
    text, thought = "\n\n".join(texts), "\n\n".join(thoughts)
    return SpanMessage(role, text, thought, tuple(calls), tuple(results))


def _call(raw: dict[str, Any]) -> Call:
    function = mapping(raw.get("function")) or raw
    keys = ("arguments", "args", "input")
    arguments = next((function[key] for key in keys if key in function), None)
    return Call(string(raw.get("id")), string(function.get("name")), arguments_of(arguments))
