"""Rounds of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.record.context.rounds import Rounds
from harness.record.wires import Body
from harness.trajectories.lenient import count, listing, mapping, string

_END = b"[DONE]"


class ChatRounds(Rounds):
    """Chunks: calls of our tool are left out, the others counted anew; one end for all legs."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._head: Body = {}
        self._indexes: dict[int, int | None] = {}
        self._shown = 0
        self._finish: Body | None = None
        self._usage: Body | None = None
        self._done: bytes | None = None
        self._answers: list[Body] = []

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """A chunk, without our calls; its end is held back."""
        if not event:
            self._done = raw if _END in raw else self._done
            return [] if _END in raw else [raw]
        if not self._head:
            names = ("id", "created", "system_fingerprint")
            self._head = {name: event[name] for name in names if name in event}
        event = {**event, **self._head}
        if event.get("usage"):
            self._usage = {**event, "choices": [], "usage": self._count(event["usage"])}
        choices = listing(event.get("choices"))
        if not choices:
            return [] if event.get("usage") else [event]
        choice = mapping(choices[0])
        delta = self._visible(mapping(choice.get("delta")))
        if choice.get("finish_reason"):
            self._finish = {**event, "choices": [{**choice, "delta": {}}]}
            self._finish.pop("usage", None)
        others_than_usage = {
            name: value for name, value in event.items() if name != "usage" or not value
        }
        shown = {
            **others_than_usage,
            "choices": [{**choice, "delta": delta, "finish_reason": None}],
        }
        return [shown] if delta else []

    def _visible(self, delta: Body) -> Body:
        choices: list[Body] = []
        for raw in listing(delta.get("tool_calls")):
            piece = mapping(raw)
            index = count(piece.get("index"))
            if index not in self._indexes:
                ours = mapping(piece.get("function")).get("name") == self.tool
                self._indexes[index] = None if ours else self._shown
                self._shown += not ours
            if (place := self._indexes[index]) is not None:
                choices.append({**piece, "index": place})
        fields = {name: value for name, value in delta.items() if name != "tool_calls"}
        if self.leg > 1:
            fields.pop("role", None)  # clients put texts of one name together: it was said once
            if not fields.get("content"):
                fields.pop("content", None)
        return {**fields, "tool_calls": choices} if choices else fields

    def go_on(self) -> None:
        """The next leg counts its calls from 0 again."""
        super().go_on()
        self._indexes = {}
        self._finish = self._done = None

    def close(self) -> list[Body | bytes]:
        """Finish, usage, `[DONE]`."""
        return [event for event in (self._finish, self._usage, self._done) if event]

    def add(self, answer: Body) -> None:
        """A whole completion."""
        self._answers.append(answer)
        self._usage = self._count(answer.get("usage"))

    def whole(self) -> Body:
        """The last completion, with the texts of all and without our calls."""
        last = self._answers[-1]
        messages = [_message(answer) for answer in self._answers]
        text = "".join(string(message.get("content")) for message in messages)
        message = {**messages[-1], "content": text or messages[-1].get("content")}
        calls = [call for call in listing(message.get("tool_calls")) if not self._ours(call)]
        message.pop("tool_calls", None)
        if calls:
            message["tool_calls"] = calls
        choice = {**mapping(listing(last.get("choices"))[0]), "message": message}
        usage = {"usage": self._usage} if last.get("usage") else {}
        return {**last, "choices": [choice], **usage}

    def _ours(self, call: Any) -> bool:
        return mapping(mapping(call).get("function")).get("name") == self.tool

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The assistant's message and a tool message for each result."""
        fields = ("role", "content", "tool_calls", "reasoning_content")
        message = {name: value for name, value in _message(answer).items() if name in fields}
        if not message.get("tool_calls"):
            message.pop("tool_calls", None)
        tool_results = [
            {"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results.items()
        ]
        return [message, *tool_results]


def _message(answer: Body) -> Body:
    choices = listing(answer.get("choices"))
    return dict(mapping(mapping(choices[0]).get("message"))) if choices else {}
