"""Tool outputs of a request: found in each format, replaced, and nothing else touched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from harness.core import listing, mapping, string
from harness.record.wires import Body
from harness.trajectories.messages import text_of

Replace = Callable[[str, str], Awaitable[str]]
"""Takes an output's text and the last question before it; gives the text to send."""


async def replaced(items: list[Any], replace: Replace, question: str = "") -> list[Any]:
    """The conversation of a request with its tool outputs replaced.

    The question of an output is the last user message *before* it. A later question does not
    change it, so that what was sent once is sent again as it was.

    Args:
        items: messages or items, of any format.
        replace: gives the text to send for an output.
        question: the last one of what the upstream keeps, where the request goes on from that.
    """
    new_items: list[Any] = []
    for item in items:
        new_items.append(await _replaced(item, question, replace))
        question = question_after(item, question)
    return new_items


def question_after(item: Any, question: str) -> str:
    """The last question behind an item, before which it was `question`."""
    item_question = _question(mapping(item))
    # Text beside results is mostly a client's reminder.
    return question or item_question if _holds_results(mapping(item)) else item_question or question


def _question(item: Body) -> str:
    """The text of a user's message; empty for anything else."""
    if item.get("role") != "user":
        return ""
    content = item.get("content")
    if isinstance(content, list):
        parts = listing(content)  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
        content = [part for part in parts if mapping(part).get("type") in ("text", "input_text")]
    return text_of(content).strip()


def _holds_results(item: Body) -> bool:
    return any(mapping(b).get("type") == "tool_result" for b in listing(item.get("content")))


async def _replaced(item: Any, question: str, replace: Replace) -> Any:
    """A message, item or block with the outputs in it replaced; the same object without one."""
    holder = mapping(item)
    name = "output" if string(holder.get("type")).endswith("_call_output") else "content"
    value = holder.get(name)
    if _holds_results(holder):
        focus = question or _question(holder)
        new: Any = [await _replaced(block, focus, replace) for block in listing(value)]
    elif name == "content" and not (
        holder.get("role") in ("tool", "function") or holder.get("type") == "tool_result"
    ):
        return item
    elif isinstance(value, str):
        new = await replace(value, question)
    else:
        new = []
        for part in listing(value):
            text = mapping(part).get("text")
            shorter = await replace(text, question) if isinstance(text, str) else text
            new.append(part if shorter == text else {**mapping(part), "text": shorter})
        new = new or value
    return item if new == value else {**holder, name: new}
