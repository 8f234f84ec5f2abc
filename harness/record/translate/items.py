"""A chat answer as a response of items, whole or as a stream of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.record.translate.chat import Head, Piece
from harness.record.wires import Body

_ECHOED: dict[str, Any] = {
    "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
    "max_output_tokens": None, "reasoning": None, "truncation": "disabled",
}  # fmt: skip
"""Fields that a response repeats from the request, with what they are where it is silent."""
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Answer:
    """A chat answer as a response, piece by piece. Use once.

    Args:
        asked: the client's request.
    """

    def __init__(self, request: Body) -> None:
        self.head = Head()
        self._asked = request
        self._items: list[Body] = []
        self._calls: dict[int, int] = {}
        self._open: dict[int, str] = {}
        self._sent = 0

    def begin(self) -> list[Body]:
        """The first events of the stream."""
        begun = self._response("in_progress")
        kinds = ("response.created", "response.in_progress")
        return self._numbered([{"type": kind, "response": begun} for kind in kinds])

    def feed(self, event: Body) -> list[Body]:
        """The events that a chunk, or a whole answer, becomes."""
        events = [
            event_of_piece
            for piece in self.head.read(event)
            for event_of_piece in self._piece(piece)
        ]
        return self._numbered(events)

    def end(self) -> list[Body]:
        """The last events."""
        closing = self._close()
        response = self.whole()
        return self._numbered(
            [*closing, {"type": f"response.{response['status']}", "response": response}]
        )

    def whole(self) -> Body:
        """The response, after everything was fed."""
        self._close()
        return self._response("incomplete" if self.head.finish in _CUT else "completed")

    def _piece(self, piece: Piece) -> list[Body]:
        if piece.kind == "call":
            self._calls[piece.call] = len(self._items)
            return self._item("call", {
                "type": "function_call", "id": self._id("fc"), "status": "in_progress",
                "call_id": piece.id or self._id("call"), "name": piece.text, "arguments": "",
            })  # fmt: skip
        if piece.kind == "arguments":
            index = self._calls[piece.call]
            self._items[index]["arguments"] += piece.text
            return [self._event("function_call_arguments.delta", index, delta=piece.text)]
        if piece.kind == "reasoning":
            begun = self._item("reasoning", {
                "type": "reasoning", "id": self._id("rs"), "summary": [],
                "content": [{"type": "reasoning_text", "text": ""}],
            })  # fmt: skip
            self._items[-1]["content"][0]["text"] += piece.text
            return [*begun, self._event("reasoning_text.delta", content_index=0, delta=piece.text)]
        begun = self._item("text", {
            "type": "message", "id": self._id("msg"), "status": "in_progress",
            "role": "assistant", "content": [],
        })  # fmt: skip
        if begun:
            self._items[-1]["content"].append(_part(""))
            begun.append(self._event("content_part.added", content_index=0, part=_part("")))
        self._items[-1]["content"][0]["text"] += piece.text
        delta = self._event("output_text.delta", content_index=0, delta=piece.text, logprobs=[])
        return [*begun, delta]

    def _item(self, kind: str, item: Body) -> list[Body]:
        """The events that open an item, unless it is a text that is open.

        Calls stay open beside each other: their arguments may come in turns.
        """
        kinds = set(self._open.values())
        if kind != "call" and kinds == {kind}:
            return []
        closing = [] if kinds == {"call"} and kind == "call" else self._close()
        index = len(self._items)
        self._open[index] = kind
        self._items.append(item)
        shown: Body = {**item, "content": []} if "content" in item else dict(item)
        return [
            *closing,
            {"type": "response.output_item.added", "output_index": index, "item": shown},
        ]

    def _close(self) -> list[Body]:
        """The events that close the items that are open."""
        events: list[Body] = []
        for index, kind in self._open.items():
            events += self._closed(index, kind)
        self._open.clear()
        return events

    def _closed(self, index: int, kind: str) -> list[Body]:
        events: list[Body] = []
        item = self._items[index]
        if kind == "call":
            facts = {"arguments": item["arguments"], "name": item["name"]}
            events.append(self._event("function_call_arguments.done", index, **facts))
        else:
            [part] = item["content"]
            text_done = {"content_index": 0, "text": part["text"]}
            if kind == "reasoning":
                events.append(self._event("reasoning_text.done", index, **text_done))
            else:
                events.append(self._event("output_text.done", index, **text_done, logprobs=[]))
                events.append(
                    self._event("content_part.done", index, content_index=0, part=dict(part))
                )
        if "status" in item:
            item["status"] = "completed"
        done_item = {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
        return [*events, done_item]

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.head.id}_{len(self._items)}"

    def _event(self, kind: str, index: int = -1, **values: Any) -> Body:
        """An event about an item; without `at`, the last one."""
        index = index % len(self._items)
        place = {"output_index": index, "item_id": self._items[index]["id"]}
        return {"type": f"response.{kind}", **place, **values}

    def _numbered(self, events: Sequence[Body]) -> list[Body]:
        numbered = [
            {**event, "sequence_number": number}
            for number, event in enumerate(events, start=self._sent)
        ]
        self._sent += len(numbered)
        return numbered

    def _response(self, status: str) -> Body:
        sent = {name: self._asked[name] for name in _ECHOED if self._asked.get(name) is not None}
        echoed = _ECHOED | sent
        cut = _CUT.get(self.head.finish or "")
        return {
            **echoed,
            "id": f"resp_{self.head.id}",
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": cut} if cut and status == "incomplete" else None,
            "model": self.head.model or self._asked.get("model"),
            "output": [dict(item) for item in self._items],
            "usage": self._usage(),
        }

    def _usage(self) -> Body | None:
        used = self.head.tokens
        if used is None:
            return None
        return {
            "input_tokens": used.prompt,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.prompt + used.completion,
        }


def _part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
