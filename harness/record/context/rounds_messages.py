"""Rounds of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping

from harness.record.context.rounds import Rounds
from harness.record.wires import Body
from harness.trajectories.lenient import count, listing, mapping


class MessagesRounds(Rounds):
    """Content blocks: ours are left out, the others counted anew over all legs."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._indexes: dict[int, int | None] = {}
        self._shown = 0
        self._delta: Body | None = None
        self._stop: Body | None = None
        self._answers: list[Body] = []

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event, with the number that its block has for the client; the end is held back."""
        kind = event.get("type")
        if kind == "message_start":
            return [raw] if self.leg == 1 else []
        if kind == "message_delta":
            self._delta = {**event, "usage": self._count(event.get("usage"))}
            return []
        if kind == "message_stop":
            self._stop = event
            return []
        if "index" not in event:
            return [raw]
        index = count(event["index"])
        if kind == "content_block_start":
            block = mapping(event.get("content_block"))
            ours = block.get("type") == "tool_use" and block.get("name") == self.tool
            self._indexes[index] = None if ours else self._shown
            self._shown += not ours
        place = self._indexes.get(index)
        if place is None:
            return []
        return [raw if place == index else {**event, "index": place}]

    def go_on(self) -> None:
        """The next leg counts its blocks from 0 again."""
        super().go_on()
        self._indexes = {}

    def close(self) -> list[Body | bytes]:
        """Why it stopped, with all tokens, and the stop."""
        return [event for event in (self._delta, self._stop) if event]

    def add(self, answer: Body) -> None:
        """A whole message."""
        self._answers.append({**answer, "usage": self._count(answer.get("usage"))})

    def whole(self) -> Body:
        """The last message, with the blocks of all but ours."""
        blocks = [block for answer in self._answers for block in listing(answer.get("content"))]
        shown = [block for block in blocks if mapping(block).get("name") != self.tool]
        return {**self._answers[-1], "content": shown}

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The assistant's message, and a user's with the results."""
        message = {"role": "assistant", "content": answer.get("content")}
        tool_results = [
            {"type": "tool_result", "tool_use_id": id_, "content": text}
            for id_, text in results.items()
        ]
        return [message, {"role": "user", "content": tool_results}] if tool_results else [message]
