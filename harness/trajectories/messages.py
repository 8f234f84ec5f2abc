"""Messages in the forms that programs write them, read into one: the turns of a conversation.

Read are messages of OpenAI's chat completions, content blocks of Anthropic's messages, items of
OpenAI's responses, parts of the OpenTelemetry GenAI conventions, and messages of LangChain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from harness.core import listing, mapping, string
from harness.trajectories.lenient import load

Role = Literal["system", "user", "assistant", "tool"]

NAMED_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip
# Kinds of a response's items that call a tool, and where their arguments stand.
ITEM_CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
}
# Kinds of items that answer a call.
ITEM_RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


@dataclass(frozen=True)
class Call:
    """A tool call; `arguments` are as the model wrote them: JSON text, or a value."""

    id: str
    name: str
    arguments: Any

    @property
    def json(self) -> str:
        """The arguments as JSON text."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments or {}, ensure_ascii=False)


@dataclass(frozen=True)
class Turn:
    """Turn of one speaker, whatever form it came in.

    Attributes:
        role: who speaks; `tool` is the result of a call.
        content: a text, or blocks.
        reasoning: what a reasoning model shows of its thoughts.
        calls: of an assistant.
        call_id: the call that a result answers.
    """

    role: Role
    content: Any = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""

    @cached_property
    def text(self) -> str:
        """The text of the content; blocks of other kinds stand as `[kind]`."""
        return text_of(self.content)


def message_turns(message: dict[str, Any], role: Role = "user") -> list[Turn]:
    """The turns of one message; results of tools that stand in it are turns of their own.

    Args:
        message: of a chat, with content blocks, or with parts.
        role: of a message that names none that is known.
    """
    role = NAMED_ROLES.get(string(message.get("role")) or string(message.get("type")), role)
    content: Any = message.get("parts", message.get("content"))
    if role == "tool" and "parts" not in message:
        call_id = string(message.get("tool_call_id")) or string(message.get("name"))
        return [Turn("tool", _result(message), call_id=call_id)]
    calls: list[Call] = []
    results: list[Turn] = []
    thoughts = [string(message.get("reasoning_content")) or string(message.get("reasoning"))]
    if isinstance(content, list):
        blocks = listing(content)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        content = []
        for raw in blocks:
            block = mapping(raw)
            kind, text = block.get("type"), block.get("text", block.get("content"))
            if kind in ("tool_use", "tool_call"):
                calls.append(_call(block))
            elif kind in ("tool_result", "tool_call_response"):
                call_id = string(block.get("tool_use_id")) or string(block.get("id"))
                results.append(Turn("tool", _result(block), call_id=call_id))
            elif kind in ("thinking", "reasoning"):
                thoughts.append(string(block.get(kind)) or string(text))
            elif kind != "redacted_thinking":
                content.append({**block, "text": text} if isinstance(text, str) else raw)
    calls += [_call(mapping(call)) for call in listing(message.get("tool_calls"))]
    if string(message.get("refusal")) and not text_of(content):
        content = message["refusal"]
    thought = "\n\n".join(filter(None, thoughts))
    turn = Turn(role, "" if content is None else content, thought, tuple(calls))
    if role == "assistant":
        return [turn, *results]
    return [*results, turn] if content or not results else results


def item_turn(item: dict[str, Any]) -> Turn | None:
    """An item of a response as a turn; None for one that is no part of what is said."""
    kind = string(item.get("type")) or "message"
    call_id = string(item.get("call_id")) or string(item.get("id"))
    if kind == "message":
        refusals = (mapping(part).get("refusal") for part in listing(item.get("content")))
        refusal = "".join(string(text) for text in refusals)
        role = NAMED_ROLES.get(string(item.get("role")), "user")
        return Turn(role, refusal or item.get("content"))
    if kind == "reasoning":
        parts = listing(item.get("summary")) or item.get("content")
        return Turn("assistant", reasoning=text_of(parts))
    if kind in ITEM_RESULTS:
        return Turn("tool", _result({"content": item.get("output")}), call_id=call_id)
    if kind in ITEM_CALLS:
        name = string(item.get("name")) or kind.removesuffix("_call")
        return Turn("assistant", calls=(Call(call_id, name, item.get(ITEM_CALLS[kind])),))
    return None if kind == "item_reference" else Turn("assistant", f"[{kind}]")


def _call(raw: dict[str, Any]) -> Call:
    """A call: its name and arguments stand in it, or under `function` or `custom`."""
    function = mapping(raw.get("function")) or mapping(raw.get("custom")) or raw
    name = string(function.get("name")) or string(raw.get("function"))
    arguments = (function[key] for key in ("arguments", "args", "input") if key in function)
    return Call(string(raw.get("id")), name, next(arguments, None))


def _result(block: dict[str, Any]) -> Any:
    """The content of a tool's result: a text, or blocks; another value as JSON text."""
    value = block.get("response", block.get("result", block.get("content")))
    value = mapping(value).get("content", value)
    if value is None or isinstance(value, str):
        return value or ""
    blocks = [mapping(part) for part in listing(value)]
    if isinstance(value, list) and all("type" in part or "text" in part for part in blocks):
        return blocks
    return json.dumps(value, ensure_ascii=False)


def arguments_of(raw: Any) -> dict[str, Any]:
    """Arguments of a call as an object: from an object, from JSON text, else under `input`."""
    value = load(raw.encode("utf-8", "replace")) if isinstance(raw, str) else raw
    if isinstance(value, dict):
        return mapping(value)
    return {} if raw is None else {"input": raw}


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or blocks; other blocks become `[kind]`."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for raw in listing(content):
        block = {"text": raw} if isinstance(raw, str) else mapping(raw)
        text = block.get("text")
        kind = string(block.get("type")) or "unknown"
        texts.append(text if isinstance(text, str) else f"[{kind}]")
    return "\n\n".join(texts)
