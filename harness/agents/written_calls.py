"""Tool calls that a model wrote as the text of its reply.

Small models write a call in whatever form their training showed most, not in that of their chat
template. What is read is a reply that consists of calls and nothing else; a call within prose may
be an example, a plan or a quotation, and stays text.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any, cast

from harness.agents.protocol import Action

CLOSERS = {
    "<tool_call>": "</tool_call>",
    "<tools>": "</tools>",
    "```json": "```",
    "```": "```",
}
"""What may stand around calls; the longer of two openers comes first."""


def written_calls(text: str, names: Container[str] | None = None) -> tuple[Action, ...]:
    """The calls that a text consists of, in its order; none where it is anything else.

    A call is a JSON object of `name` (a string) and `arguments` (an object) and no other field. The
    text is one or several of them, one after the other or in lists, each bare, in a code fence or
    in the tags `<tool_call>` or `<tools>`.

    Args:
        text: a whole reply.
        names: of the tools that may be called; None takes any.
    """
    values: list[Any] = []
    remaining = text.strip()
    try:
        while remaining:
            opener = next(filter(remaining.startswith, CLOSERS), "")
            closer = CLOSERS.get(opener, "")
            remaining = remaining.removeprefix(opener).lstrip()
            while True:
                value, end = _DECODER.raw_decode(remaining)
                values += cast("list[Any]", value) if isinstance(value, list) else [value]
                remaining = remaining[end:].lstrip()
                if remaining.startswith(closer):
                    break
            remaining = remaining.removeprefix(closer).lstrip()
        # What cannot be sent on, such as half a character or a number too large, stays text, too.
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return ()
    calls: list[Action] = []
    for value in values:
        match value:
            case {"name": str(name), "arguments": dict()} if len(value) == 2:
                calls.append(Action("text", name, value["arguments"]))
            case _:
                return ()
    return tuple(calls) if names is None or all(call.name in names for call in calls) else ()


# Small models leave line ends in their strings as they are.
_DECODER = json.JSONDecoder(strict=False)
