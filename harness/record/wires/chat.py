"""`/v1/chat/completions`: OpenAI's first format, spoken by every server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core import count, listing, mapping
from harness.models import assembled
from harness.record.wires.base import Body, Reading, Rounds, Tokens
from harness.record.wires.translation import chat_tokens
from harness.trajectories.messages import Turn, message_turns

_END = b"[DONE]"
_LIMITS = ("max_completion_tokens", "max_tokens")


class ChatRounds(Rounds):
    """Chunks: calls of our tool are left out, the others counted anew; one end for all legs."""

    ends = ("finish", "usage", "done")

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._names: Body = {}

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """A chunk, or a whole completion, without our calls; its end is held back."""
        if not event:
            if _END not in raw:
                return [raw]
            self._end["done"] = raw
            return []
        if not self._names:
            names = ("id", "created", "system_fingerprint")
            self._names = {name: event[name] for name in names if name in event}
        event = {**event, **self._names}
        usage = event.pop("usage", None)
        if usage:
            self._end["usage"] = {**event, "choices": [], "usage": self._count(usage)}
        choices = listing(event.get("choices"))
        if not choices:
            return [] if usage else [event]
        choice = dict(mapping(choices[0]))
        message = choice.pop("message", None)
        delta = self._visible(mapping(choice.pop("delta", None)) or mapping(message))
        if choice.get("finish_reason"):
            self._end["finish"] = {**event, "choices": [{**choice, "delta": {}}]}
        visible = {**event, "choices": [{**choice, "delta": delta, "finish_reason": None}]}
        return [visible] if delta else []

    def _visible(self, delta: Body) -> Body:
        calls: list[Body] = []
        for number, call in enumerate(map(mapping, listing(delta.get("tool_calls")))):
            hidden = mapping(call.get("function")).get("name") == self.tool
            position = self._place(count(call.get("index", number)), hidden)
            if position is not None:
                calls.append({**call, "index": position})
        fields = {name: value for name, value in delta.items() if name != "tool_calls"}
        if self.leg > 1:
            fields.pop("role", None)  # clients put texts of one name together: it was said once
            if not fields.get("content"):
                fields.pop("content", None)
        return {**fields, "tool_calls": calls} if calls else fields

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The assistant's message and a tool message for each result: they go upstream again."""
        choice = mapping(next(iter(listing(answer.get("choices"))), None))
        fields = ("role", "content", "tool_calls", "reasoning_content")
        spoken = mapping(choice.get("message"))
        message = {name: spoken[name] for name in fields if name in spoken}
        if not message.get("tool_calls"):
            message.pop("tool_calls", None)
        tool_results = [
            {"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results.items()
        ]
        return [message, *tool_results]


class Chat(Reading):
    """The format of chat completions."""

    name = "chat"
    path = "/chat/completions"
    limits = _LIMITS
    rounds = ChatRounds

    def turns(self, body: Body) -> list[Turn]:
        """The conversation of a request."""
        messages = map(mapping, listing(body.get("messages")))
        return [turn for message in messages for turn in message_turns(message)]

    def reply(self, response: Body) -> Turn:
        """The first choice's message."""
        choice = mapping(next(iter(listing(response.get("choices"))), None))
        return message_turns({**mapping(choice.get("message")), "role": "assistant"})[0]

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; None if the server gives none."""
        return chat_tokens(mapping(response.get("usage")))

    def events_of(self, response: Body) -> list[Body]:
        """A whole completion, which stands for its own chunks."""
        return [response]

    def assemble(self, events: Sequence[Body]) -> Body:
        """Chunks as one completion; of several choices, the first."""
        return assembled(events)

    def tool(self, name: str, description: str, parameters: Body) -> Body:
        """A tool as a request offers it."""
        function = {"name": name, "description": description, "parameters": parameters}
        return {"type": "function", "function": function}
