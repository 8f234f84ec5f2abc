"""`/v1/responses`: OpenAI's format of items, which its servers can also keep (by response id)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.record.wires.types import Body, Call, Tokens, Turn, TurnRole, joined
from harness.trajectories.building import text_of
from harness.trajectories.lenient import count, listing, mapping, string

_ROLES: dict[str, TurnRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses:
    """The format of responses."""

    name = "responses"
    path = "/responses"
    listing = "input"
    limits = ("max_output_tokens",)

    def turns(self, body: Body) -> list[Turn]:
        """Instructions and input items; what the server keeps under an earlier id is not here."""
        items_sent = body.get("input")
        items = (
            [{"role": "user", "content": items_sent}]
            if isinstance(items_sent, str)
            else listing(items_sent)
        )
        instructions = string(body.get("instructions"))
        first = [Turn("system", instructions)] if instructions else []
        return [*first, *joined([turn for item in items if (turn := _turn(mapping(item)))])]

    def reply(self, response: Body) -> Turn:
        """All output items as one turn."""
        items = (_turn(mapping(item)) for item in listing(response.get("output")))
        turns = joined([turn for turn in items if turn])
        return turns[0] if turns else Turn("assistant")

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; None if the server gives none."""
        usage = mapping(response.get("usage"))
        if not usage:
            return None
        details = mapping(usage.get("input_tokens_details"))
        return Tokens(
            count(usage.get("input_tokens")),
            count(usage.get("output_tokens")),
            count(details.get("cached_tokens")),
        )

    def assemble(self, events: Sequence[Body]) -> Body:
        """The response of the last event; of a cut stream, the items that were done."""
        begun: Body = {}
        items: list[Any] = []
        for event in events:
            kind = event.get("type")
            if kind in _ENDS:
                return mapping(event.get("response"))
            if kind == "response.created":
                begun = mapping(event.get("response"))
            elif kind == "response.output_item.done":
                items.append(event.get("item"))
        return {**begun, "output": items, "status": "incomplete"}


def _turn(item: Body) -> Turn | None:
    """An item as a turn; None for one that is no part of what is said (a reference)."""
    kind = string(item.get("type")) or "message"
    call_id = string(item.get("call_id")) or string(item.get("id"))
    if kind == "message":
        role = _ROLES.get(string(item.get("role")), "user")
        return Turn(role, _refusal(item) or text_of(item.get("content")))
    if kind == "reasoning":
        parts = [*listing(item.get("summary")), *listing(item.get("content"))]
        return Turn("assistant", reasoning=text_of(parts))
    if kind in _OUTPUTS:
        return Turn("tool", text_of(item.get("output")), call_id=call_id)
    if kind in _CALLS:
        arguments = string(item.get(_CALLS[kind]))
        return Turn("assistant", calls=(Call(call_id, string(item.get("name")), arguments),))
    if kind == "item_reference":
        return None
    return Turn("assistant", f"[{kind}]")


def _refusal(item: Body) -> str:
    return "".join(string(mapping(part).get("refusal")) for part in listing(item.get("content")))
