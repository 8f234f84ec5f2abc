"""Messages in the forms that tracing tools record them in, read into one form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.core import digest
from harness.trajectories.building import arguments_of, text_of
from harness.trajectories.lenient import listing, load, mapping, string

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip
_CLASSES = {"HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system"}


@dataclass(frozen=True)
class Call:
    """A tool call of a message."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Said:
    """One message.

    Attributes:
        role: system, user, assistant or tool.
        text: what was said.
        thought: the model's reasoning.
        calls: tool calls.
        results: (call id, text) of tool results.
    """

    role: str
    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[tuple[str, str], ...] = field(default=())

    @property
    def key(self) -> str:
        """What tells this message from others, whatever ids its calls have."""
        calls = [(call.name, call.arguments) for call in self.calls]
        return digest([self.role, self.text, calls, [text for _, text in self.results]])

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its calls and results."""
        return (*(call.id for call in self.calls), *(one for one, _ in self.results))


def unpacked(value: Any) -> Any:
    """A value that may have been written out as JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        found = load(value.encode("utf-8", "replace"))
        return value if found is None else found
    return value


def messages_of(raw: Any, role: str) -> list[Said]:
    """The messages of a span's input or output.

    Args:
        raw: a text, a message, a list of them, or an object that holds one of these.
        role: of a bare text: `user` for an input, `assistant` for an output.
    """
    value = unpacked(raw)
    if isinstance(value, str):
        return [Said(role, value)] if value.strip() else []
    if isinstance(value, list):
        return [said for one in listing(value) for said in messages_of(one, role)]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    found = mapping(value)
    if _is_message(found):
        said = _said(found, role)
        return [said] if said is not None else []
    for key in ("messages", "generations", "choices", "message", "output", "input", "kwargs"):
        if found.get(key) is not None:
            return messages_of(found[key], role)
    text = found.get("text") or found.get("content") or found.get("question")
    return [Said(role, text)] if isinstance(text, str) and text.strip() else []


def _is_message(found: dict[str, Any]) -> bool:
    if "role" in found or "parts" in found or found.get("type") in _ROLES:
        return True
    return "lc" in found and "kwargs" in found


def _said(found: dict[str, Any], role: str) -> Said | None:
    """One message of OpenTelemetry, of OpenAI or Anthropic, or of LangChain."""
    named = string(found.get("role")) or string(found.get("type"))
    inner = mapping(found.get("kwargs")) or mapping(found.get("data"))
    if inner:
        kind = string((listing(found.get("id")) or [""])[-1])
        named = string(inner.get("type")) or _CLASSES.get(kind.removesuffix("Chunk"), named)
        named = "tool" if kind.startswith("ToolMessage") else named
        found = inner
    role = _ROLES.get(named, role)
    if "parts" in found:
        return _of_blocks(role, listing(found["parts"]))
    content = unpacked(found.get("content")) if role != "tool" else found.get("content")
    blocks = listing(content) if isinstance(content, list) else [content]
    if role == "tool":
        result = content if isinstance(content, str) else text_of(content)
        return Said(role, results=((string(found.get("tool_call_id")), result),))
    said = _of_blocks(role, blocks)
    calls = [_call(mapping(one)) for one in listing(found.get("tool_calls"))]
    thought = string(found.get("reasoning_content")) or said.thought
    return Said(said.role, said.text, thought, (*said.calls, *calls), said.results)


def _of_blocks(role: str, blocks: list[Any]) -> Said:
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
            given = block.get("response", block.get("result", block.get("content")))
            name = string(block.get("id")) or string(block.get("tool_use_id"))
            results.append((name, given if isinstance(given, str) else _shown(given)))
        elif kind in ("reasoning", "thinking"):
            thoughts.append(string(block.get("thinking")) or text)
        elif text:
            texts.append(text)
    role = "tool" if results and role != "assistant" and not texts else role
    return Said(role, "\n\n".join(texts), "\n\n".join(thoughts), tuple(calls), tuple(results))


def _shown(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(mapping(value[0]).get("text"), str):
        return text_of(value)
    return "" if value is None else _json(value)


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _call(raw: dict[str, Any]) -> Call:
    function = mapping(raw.get("function")) or raw
    given = next((function[k] for k in ("arguments", "args", "input") if k in function), None)
    return Call(string(raw.get("id")), string(function.get("name")), arguments_of(given))
