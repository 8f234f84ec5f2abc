"""Tool outputs of a request: found in each format, replaced, and nothing else touched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from harness.record.wires import Body
from harness.trajectories.building import text_of
from harness.trajectories.lenient import listing, mapping, string

Replace = Callable[[str, str], Awaitable[str]]
"""Takes an output's text and the last question before it; gives the text to send."""


async def replaced(wire: str, body: Body, replace: Replace, question: str = "") -> Body:
    """The request with its tool outputs replaced; the same object if none changes.

    The question of an output is the last user message *before* it. A later question does not
    change it, so that what was sent once is sent again as it was.

    Args:
        wire: name of the format.
        body: the request.
        replace: gives the text to send for an output.
        question: the last one of what the upstream keeps, where the request goes on from that.
    """
    name = "input" if wire == "responses" else "messages"
    schema = body.get(name)
    if not isinstance(schema, list):
        return body
    changed = False
    items: list[Any] = []
    for item in listing(schema):
        new = await _item(wire, mapping(item), question, replace) if item else item
        question = _later(mapping(item), question)
        changed = changed or new is not item
        items.append(new)
    return {**body, name: items} if changed else body


def last_question(wire: str, body: Body, question: str = "") -> str:
    """The last user message of a request, else `question`."""
    items = body.get("input" if wire == "responses" else "messages")
    if isinstance(items, str):
        return items
    for item in listing(items):
        question = _later(mapping(item), question)
    return question


def _later(item: Body, question: str) -> str:
    """The question behind an item, before which it was `question`."""
    user_question = _question(item)
    return question or user_question if _results(item) else user_question or question


def _question(item: Body) -> str:
    """The text of a user's message; empty for anything else."""
    if item.get("role") != "user":
        return ""
    content = item.get("content")
    if isinstance(content, list):
        parts = listing(content)
        content = [part for part in parts if mapping(part).get("type") in ("text", "input_text")]
    return text_of(content).strip()


def _results(item: Body) -> bool:
    """Whether a message carries results: text beside them is mostly a client's reminder."""
    content = item.get("content")
    blocks = listing(content) if isinstance(content, list) else []
    return any(mapping(block).get("type") == "tool_result" for block in blocks)


async def _item(wire: str, item: Body, question: str, replace: Replace) -> Body:
    if wire == "chat":
        if item.get("role") not in ("tool", "function"):
            return item
        return await _field(item, "content", question, replace)
    if wire == "responses":
        if not string(item.get("type")).endswith("_call_output"):
            return item
        return await _field(item, "output", question, replace)
    if not _results(item):
        return item
    focus = question or _question(item)
    blocks = [await _block(mapping(block), focus, replace) for block in listing(item["content"])]
    same = all(new is old for new, old in zip(blocks, listing(item["content"]), strict=True))
    return item if same else {**item, "content": blocks}


async def _block(block: Body, question: str, replace: Replace) -> Body:
    if block.get("type") != "tool_result":
        return block
    return await _field(block, "content", question, replace)


async def _field(holder: Body, name: str, question: str, replace: Replace) -> Body:
    """A text, or a list of parts of which those of text are replaced."""
    value = holder.get(name)
    if isinstance(value, str):
        new = await replace(value, question)
        return holder if new == value else {**holder, name: new}
    parts: list[Any] = []
    changed = False
    for raw in listing(value):
        part = mapping(raw)
        text = part.get("text")
        if isinstance(text, str) and (new := await replace(text, question)) != text:
            parts.append({**part, "text": new})
            changed = True
        else:
            parts.append(raw)
    return {**holder, name: parts} if changed else holder
