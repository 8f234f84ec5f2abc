"""Rounds of responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.record.context.rounds import Rounds
from harness.record.context.tool import without
from harness.record.wires import Body
from harness.trajectories.lenient import count, listing, mapping

_BEGIN = ("response.created", "response.in_progress", "response.queued")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesRounds(Rounds):
    """Output items: ours are left out, the others and the events counted anew over all legs."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._indexes: dict[int, int | None] = {}
        self._shown = 0
        self._sequence = 0
        self._items: list[Any] = []
        self._end: Body | None = None
        self._id: Any = None

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event, with the numbers that it has for the client; the end is held back."""
        if not event:
            return [raw]
        kind = event.get("type")
        if kind in _BEGIN and self.leg > 1:
            return []
        if kind in _ENDS:
            self.add(mapping(event.get("response")))
            self._end = {**event, "response": self.whole()}
            return []
        if "output_index" in event:
            index = count(event["output_index"])
            if index not in self._indexes:
                ours = self._ours(event.get("item"))
                self._indexes[index] = None if ours else self._shown
                self._shown += not ours
            place = self._indexes[index]
            if place is None:
                return []
            event = {**event, "output_index": place}
        elif "response" in event:
            response = mapping(event["response"])
            tools = without(response.get("tools"), self.tool)
            event = {**event, "response": {**response, "tools": tools}}
        return [self._numbered(event)]

    def _numbered(self, event: Body) -> Body:
        if "sequence_number" not in event:
            return event
        self._sequence += 1
        return {**event, "sequence_number": self._sequence - 1}

    def _ours(self, item: Any) -> bool:
        return mapping(item).get("type") == "function_call" and mapping(item)["name"] == self.tool

    def go_on(self) -> None:
        """The next leg counts its items from 0 again."""
        super().go_on()
        self._indexes, self._end = {}, None

    def close(self) -> list[Body | bytes]:
        """The whole response."""
        return [self._numbered(self._end)] if self._end else []

    def add(self, answer: Body) -> None:
        """A whole response."""
        self._items += [item for item in listing(answer.get("output")) if not self._ours(item)]
        self._id = self._id or answer.get("id")
        self._last = {**answer, "usage": self._count(answer.get("usage")) or None}

    def whole(self) -> Body:
        """The last response under the id of the first, with the items of all but ours."""
        tools = without(self._last.get("tools"), self.tool)
        return {**self._last, "id": self._id, "output": list(self._items), "tools": tools}

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The output items, and an item for each result."""
        tool_results = [
            {"type": "function_call_output", "call_id": id_, "output": text}
            for id_, text in results.items()
        ]
        return [*listing(answer.get("output")), *tool_results]
