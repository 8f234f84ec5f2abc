"""`/v1/responses`: OpenAI's format of items, which its servers can also keep (by response id)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.core import count, listing, mapping, string
from harness.models import Piece
from harness.models.responding import CHAT
from harness.record.wires.base import Body, Reading, Rounds, Tokens
from harness.record.wires.translation import (
    Translated,
    Writer,
    chat_message,
    chat_tokens,
    copied,
    image,
    refuse,
    untranslatable,
)
from harness.trajectories.messages import Turn, item_turn

_COPIED = {
    "model": "model", "max_output_tokens": "max_tokens", "temperature": "temperature",
    "top_p": "top_p", "parallel_tool_calls": "parallel_tool_calls", "user": "user",
}  # fmt: skip
_REFUSED = {
    "previous_response_id": "the server would have to remember the conversation: send it whole",
    "conversation": "the server would have to remember the conversation: send it whole",
    "background": "the answer would have to be asked for later",
    "prompt": "a prompt that is kept by the server",
}
_ITEMS = ("message", "reasoning", "function_call", "function_call_output")
_TEXTS = ("input_text", "output_text", "text")
_ECHOED: dict[str, Any] = {
    "instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0,
    "max_output_tokens": None, "reasoning": None, "truncation": "disabled",
}  # fmt: skip
"""Fields that a response repeats from the request, with what they are where it is silent."""
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
_BEGIN = ("response.created", "response.in_progress", "response.queued")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponseWriter(Writer):
    """A chat answer as a response of items."""

    def __init__(self, request: Body) -> None:
        super().__init__(request)
        self._sent = 0

    def begin(self) -> list[Body]:
        """The first events of the stream."""
        begun = self._response("in_progress")
        return self._numbered([{"type": kind, "response": begun} for kind in _BEGIN[:2]])

    def feed(self, chunk: Body) -> list[Body]:
        """The events that a chunk, or a whole completion, becomes."""
        return self._numbered(super().feed(chunk))

    def end(self) -> list[Body]:
        """The last events: open items are closed, and the whole response."""
        closing = self.close()
        response = self._response("incomplete" if self.head.finish in _CUT else "completed")
        ended = {"type": f"response.{response['status']}", "response": response}
        return self._numbered([*closing, ended])

    def write(self, piece: Piece) -> list[Body]:
        """The events that a piece becomes; what it adds is kept for the whole response."""
        if piece.kind == "call":
            self.calls[piece.call] = len(self.blocks)
            return self.open("call", {
                "type": "function_call", "id": self._id("fc"), "status": "in_progress",
                "call_id": piece.id or self._id("call"), "name": piece.text, "arguments": "",
            })  # fmt: skip
        if piece.kind == "arguments":
            index = self.calls[piece.call]
            self.blocks[index]["arguments"] += piece.text
            return [self._event(index, "function_call_arguments.delta", delta=piece.text)]
        if piece.kind == "reasoning":
            item: Body = {
                "type": "reasoning", "id": self._id("rs"), "summary": [],
                "content": [{"type": "reasoning_text", "text": ""}],
            }  # fmt: skip
        else:
            item = {
                "type": "message", "id": self._id("msg"), "status": "in_progress",
                "role": "assistant", "content": [_part("")],
            }  # fmt: skip
        events = self.open(piece.kind, item)
        position, text_only = {"content_index": 0}, piece.kind == "text"
        if events and text_only:
            events.append(self._event(-1, "content_part.added", **position, part=_part("")))
        self.blocks[-1]["content"][0]["text"] += piece.text
        kind = "output_text.delta" if text_only else "reasoning_text.delta"
        logprobs = {"logprobs": list[Any]()} if text_only else {}
        return [*events, self._event(-1, kind, **position, delta=piece.text, **logprobs)]

    def opened(self, index: int, block: Body) -> Body:
        """The event that adds an item."""
        item: Body = {**block, "content": []} if "content" in block else dict(block)
        return {"type": "response.output_item.added", "output_index": index, "item": item}

    def closed(self, index: int, kind: str) -> list[Body]:
        """The events that say that an item is done."""
        item = self.blocks[index]
        if kind == "call":
            fields = {"arguments": item["arguments"], "name": item["name"]}
            events = [self._event(index, "function_call_arguments.done", **fields)]
        else:
            [part] = item["content"]
            fields = {"content_index": 0, "text": part["text"]}
            events = [self._event(index, "reasoning_text.done", **fields)]
            if kind == "text":
                events = [
                    self._event(index, "output_text.done", **fields, logprobs=[]),
                    self._event(index, "content_part.done", content_index=0, part=dict(part)),
                ]
        if "status" in item:
            item["status"] = "completed"
        ended = {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
        return [*events, ended]

    def _id(self, kind: str) -> str:
        return f"{kind}_{self.head.id}_{len(self.blocks)}"

    def _event(self, index: int, kind: str, **values: Any) -> Body:
        """An event about an item; -1 is the last one."""
        index = index % len(self.blocks)
        position = {"output_index": index, "item_id": self.blocks[index]["id"]}
        return {"type": f"response.{kind}", **position, **values}

    def _numbered(self, events: Sequence[Body]) -> list[Body]:
        first, self._sent = self._sent, self._sent + len(events)
        return [{**event, "sequence_number": n} for n, event in enumerate(events, start=first)]

    def _response(self, status: str) -> Body:
        cut, tokens = _CUT.get(self.head.finish or ""), chat_tokens(self.head.usage)
        usage = None
        if tokens is not None:
            usage = {
                "input_tokens": tokens.prompt,
                "input_tokens_details": {"cached_tokens": tokens.cached},
                "output_tokens": tokens.completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens.prompt + tokens.completion,
            }
        return {
            **_ECHOED,
            **{name: self.request[name] for name in _ECHOED if self.request.get(name) is not None},
            "id": f"resp_{self.head.id}",
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": cut} if cut and status == "incomplete" else None,
            "model": self.head.model or self.request.get("model"),
            "output": [dict(item) for item in self.blocks],
            "usage": usage,
        }


def _part(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


class ResponsesRounds(Rounds):
    """Output items: ours are left out, the others and the events counted anew over all legs."""

    ends = ("response",)

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._sequence = 0
        self._items: list[Any] = []
        self._id: Any = None

    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event, with the numbers that it has for the client; the end is held back."""
        if not event:
            return [raw]
        kind = event.get("type")
        if kind in _BEGIN and self.leg > 1:
            return []
        if "response" in event:
            response = self._without_tool(mapping(event["response"]))
            if kind in _ENDS:
                self._items += [item for item in response["output"] if not self._ours(item)]
                self._id = self._id or response.get("id")
                usage = self._count(response.get("usage")) or None
                response |= {"id": self._id, "output": list(self._items), "usage": usage}
                self._end["response"] = {**event, "response": response}
                return []
            event = {**event, "response": response}
        if "output_index" in event:
            number = self._place(count(event["output_index"]), self._ours(event.get("item")))
            if number is None:
                return []
            event = {**event, "output_index": number}
        return [self._numbered(event)]

    def _without_tool(self, response: Body) -> Body:
        """A response whose list of tools and of outputs is a list, the first without ours."""
        tools = map(mapping, listing(response.get("tools")))
        tools = [tool for tool in tools if tool.get("name") != self.tool]
        return {**response, "tools": tools, "output": listing(response.get("output"))}

    def _numbered(self, event: Body) -> Body:
        if "sequence_number" not in event:
            return event
        self._sequence += 1
        return {**event, "sequence_number": self._sequence - 1}

    def _ours(self, item: Any) -> bool:
        call = mapping(item)
        return call.get("type") == "function_call" and call.get("name") == self.tool

    def close(self) -> list[Body | bytes]:
        """The whole response: the last one under the id of the first, with the items of all."""
        return [self._numbered(mapping(event)) for event in super().close()]

    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """The output items, and an item for each result: they go upstream again."""
        tool_results = [
            {"type": "function_call_output", "call_id": id_, "output": text}
            for id_, text in results.items()
        ]
        return [*listing(answer.get("output")), *tool_results]


class Responses(Reading, Translated):
    """The format of responses."""

    name = "responses"
    path = "/responses"
    listing = "input"
    limits = ("max_output_tokens",)
    rounds = ResponsesRounds
    writer = ResponseWriter

    def turns(self, body: Body) -> list[Turn]:
        """Instructions and input items; what the server keeps under an earlier id is not here."""
        instructions = string(body.get("instructions"))
        first = [Turn("system", instructions)] if instructions else []
        return [*first, *_joined(self.listed(body))]

    def reply(self, response: Body) -> Turn:
        """All output items as one turn."""
        return next(iter(_joined(listing(response.get("output")))), Turn("assistant"))

    def tokens(self, response: Body) -> Tokens | None:
        """The `usage` of a response; None if the server gives none."""
        usage = mapping(response.get("usage"))
        if not usage:
            return None
        cached = count(mapping(usage.get("input_tokens_details")).get("cached_tokens"))
        return Tokens(count(usage.get("input_tokens")), count(usage.get("output_tokens")), cached)

    def events_of(self, response: Body) -> list[Body]:
        """A whole response as the event that ends a stream."""
        return [{"type": "response.completed", "response": response}]

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

    def tool(self, name: str, description: str, parameters: Body) -> Body:
        """A tool as a request offers it."""
        function = {"name": name, "description": description, "parameters": parameters}
        return {"type": "function", **function, "strict": True}

    def error(self, message: str, status: int, param: str | None = None) -> Body:
        """An error as OpenAI's clients read it."""
        return CHAT.error(message, status)

    def request(self, body: Body) -> Body:
        """A request for a response as one for a chat completion.

        Raises:
            Refused: if it needs what chat completions do not have.
        """
        refuse(body, _REFUSED)
        items = [mapping(item) for item in self.listed(body)]
        for item in items:
            if (string(item.get("type")) or "message") not in _ITEMS:
                raise untranslatable(f"input: an item of type {item['type']!r}")
        # Thoughts are not sent: alone, they would be an empty message of the assistant.
        without_thoughts = {
            **body,
            "input": [item for item in items if item.get("type") != "reasoning"],
        }
        chat = copied(body, _COPIED)
        chat["messages"] = [chat_message(turn, _chat_part) for turn in self.turns(without_thoughts)]
        tools = [_chat_tool(mapping(tool)) for tool in listing(body.get("tools"))]
        choice = body.get("tool_choice")
        if not tools:
            chat.pop("parallel_tool_calls", None)
        else:
            chat["tools"] = tools
            if isinstance(choice, str):
                chat["tool_choice"] = choice
            elif choice is not None:
                if mapping(choice).get("type") != "function":
                    raise untranslatable(f"tool_choice: of type {mapping(choice).get('type')!r}")
                function = {"name": mapping(choice).get("name")}
                chat["tool_choice"] = {"type": "function", "function": function}
        effort = mapping(body.get("reasoning")).get("effort")
        if effort is not None:
            chat["reasoning_effort"] = effort
        text_format = dict(mapping(mapping(body.get("text")).get("format")))
        kind = text_format.pop("type", None)
        if kind == "json_schema":
            chat["response_format"] = {"type": "json_schema", "json_schema": text_format}
        elif kind == "json_object":
            chat["response_format"] = {"type": "json_object"}
        return chat


def _joined(items: list[Any]) -> list[Turn]:
    """The turns of items: neighbouring items of an assistant, its text and its calls, are one."""
    turns: list[Turn] = []
    for item in items:
        turn = item_turn(mapping(item))
        if turn is None:
            continue
        last = turns[-1] if turns else None
        if last is None or last.role != "assistant" or turn.role != "assistant":
            turns.append(turn)
            continue
        turns[-1] = Turn(
            "assistant",
            "\n\n".join(filter(None, (last.text, turn.text))),
            "\n\n".join(filter(None, (last.reasoning, turn.reasoning))),
            (*last.calls, *turn.calls),
        )
    return turns


def _chat_part(part: Body) -> Body:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": string(part.get("text"))}
    if part.get("type") == "input_image" and part.get("image_url"):
        return image(string(part["image_url"]))
    raise untranslatable(f"input: a part of type {part.get('type')!r}")


def _chat_tool(tool: Body) -> Body:
    if tool.get("type") != "function":
        raise untranslatable(f"tools: {tool.get('type')!r} is a tool of OpenAI's servers")
    names = {name: name for name in ("name", "description", "parameters", "strict")}
    return {"type": "function", "function": copied(tool, names)}
