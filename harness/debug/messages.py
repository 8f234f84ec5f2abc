"""Ids that LangGraph's message reducer made up, put back where a replay needs them.

`add_messages` gives a random id to every message that comes without one. A recorded write has the
message as its node returned it, the state behind it has the message with its id; a replay that
served the first would come to other states. So it serves the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard, cast

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


def added(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[BaseMessage]]:
    """By state key, the messages of `after` whose ids `before` does not have, in order."""
    found: dict[str, list[BaseMessage]] = {}
    for key, value in after.items():
        if not _are_messages(value):
            continue
        old = before.get(key)
        known = {message.id for message in old} if _are_messages(old) else set[str | None]()
        new = [message for message in value if message.id not in known]
        if new:
            found[key] = new
    return found


def with_ids(value: Any, fresh: list[BaseMessage]) -> Any:
    """A written value, its messages without ids replaced by the equal ones of `fresh`.

    What is taken from `fresh` is removed from it.
    """
    if isinstance(value, list):
        return [_with_id(item, fresh) for item in cast("list[Any]", value)]
    return _with_id(value, fresh)


def input_with_ids(values: Any, fresh: Mapping[str, list[BaseMessage]]) -> Any:
    """A graph's input with the ids that its messages got."""
    if not isinstance(values, Mapping):
        return values
    given = cast("Mapping[str, Any]", values)
    return {
        key: with_ids(value, list(fresh[key])) if key in fresh else value
        for key, value in given.items()
    }


def _with_id(item: Any, fresh: list[BaseMessage]) -> Any:
    from langchain_core.messages import convert_to_messages

    try:
        (message,) = convert_to_messages([item])
    except (ValueError, TypeError, NotImplementedError):
        return item
    if message.id is not None:
        return item
    for number, candidate in enumerate(fresh):
        if _body(candidate) == _body(message):
            return fresh.pop(number)
    return item


def _body(message: BaseMessage) -> tuple[str, dict[str, Any]]:
    return type(message).__name__, message.model_dump(exclude={"id"})


def _are_messages(value: Any) -> TypeGuard[list[BaseMessage]]:
    from langchain_core.messages import BaseMessage

    items = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, BaseMessage) for item in items)
