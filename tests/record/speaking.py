"""Words of a scripted model in each of the three formats, whole or as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.record.provider import DONE, Answer, Json, Provider, Said, Script, Seen

Model = Callable[[Seen], Said]
USED = (100, 7)
"""Tokens of prompt and completion that every answer says it used."""


def speaking(model: Model) -> Script:
    """A script that lets `model` answer requests of any format, and lists it under /v1/models."""

    def script(provider: Provider, seen: Seen) -> Answer:
        number = next(provider.numbers)
        if seen.path == "/v1/models":
            return Answer({"object": "list", "data": [{"id": "scripted", "created": number}]})
        form = {
            "/v1/chat/completions": _chat,
            "/v1/responses": _responses,
            "/v1/messages": _messages,
        }.get(seen.path)
        if form is None:
            return Answer({"error": {"message": f"no {seen.path}"}}, status=404)
        return Answer(form(model(seen), number, bool(seen.body.get("stream")), seen.body))

    return script


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


def _chat(said: Said, number: int, stream: bool, body: Json) -> Json | list[Json]:
    calls: list[Json] = [
        {
            "id": f"call_{number}_{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for at, (name, arguments) in enumerate(said.calls)
    ]
    head = {"id": f"chatcmpl-{number}", "created": 1_700_000_000 + number, "model": "scripted"}
    usage = {
        "prompt_tokens": USED[0],
        "completion_tokens": USED[1],
        "total_tokens": sum(USED),
    }
    finish = "tool_calls" if calls else "stop"
    if not stream:
        message: Json = {"role": "assistant", "content": said.text or None, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": word}) for word in _words(said.text)]
    for at, call in enumerate(calls):
        function = call["function"]
        begun: Json = {"name": function["name"], "arguments": ""}
        events.append(chunk({"tool_calls": [{**call, "index": at, "function": begun}]}))
        for piece in (function["arguments"][:3], function["arguments"][3:]):
            events.append(chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}))
    events.append(chunk({}, finish))
    if "include_usage" in str(body.get("stream_options")):
        events.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
    return [*events, DONE]


def _responses(said: Said, number: int, stream: bool, body: Json) -> Json | list[Json]:
    items: list[Json] = []
    if said.text:
        part: Json = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant",
                      "status": "completed", "content": [part]})  # fmt: skip
    for at, (name, arguments) in enumerate(said.calls):
        items.append({"type": "function_call", "id": f"fc_{number}_{at}", "status": "completed",
                      "call_id": f"call_{number}_{at}", "name": name,
                      "arguments": json.dumps(arguments)})  # fmt: skip
    details = {"input_tokens_details": {"cached_tokens": 0},
               "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    usage = {"input_tokens": USED[0], "output_tokens": USED[1], "total_tokens": sum(USED)} | details
    whole = {"id": f"resp_{number}", "object": "response", "created_at": 1_700_000_000 + number,
             "status": "completed", "model": "scripted", "output": items, "usage": usage,
             "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools", []),
             "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
             "temperature": 1.0, "top_p": 1.0}  # fmt: skip
    if not stream:
        return whole
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for at, item in enumerate(items):
        events += _item_events(at, item)
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": at} for at, event in enumerate(events)]


def _item_events(at: int, item: Json) -> list[Json]:
    where = {"output_index": at, "item_id": item["id"]}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        [part] = item["content"]
        place = {**where, "content_index": 0}
        inner: list[Json] = [
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            *(
                {"type": "response.output_text.delta", **place, "delta": word, "logprobs": []}
                for word in _words(part["text"])
            ),
            {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part},
        ]
        begun["content"] = []
    else:
        text = item["arguments"]
        inner = [
            {"type": "response.function_call_arguments.delta", **where, "delta": text[:4]},
            {"type": "response.function_call_arguments.delta", **where, "delta": text[4:]},
            {"type": "response.function_call_arguments.done", **where, "arguments": text,
             "name": item["name"]},
        ]  # fmt: skip
        begun["arguments"] = ""
    return [
        {"type": "response.output_item.added", "output_index": at, "item": begun},
        *inner,
        {"type": "response.output_item.done", "output_index": at, "item": item},
    ]


def _messages(said: Said, number: int, stream: bool, body: Json) -> Json | list[Json]:
    blocks: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
    for at, (name, arguments) in enumerate(said.calls):
        blocks.append({"type": "tool_use", "id": f"toolu_{number}_{at}", "name": name,
                       "input": arguments})  # fmt: skip
    whole: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant",
                   "model": "scripted", "content": blocks, "stop_sequence": None,
                   "stop_reason": "tool_use" if said.calls else "end_turn",
                   "usage": {"input_tokens": USED[0], "output_tokens": USED[1]}}  # fmt: skip
    if not stream:
        return whole
    begun: Json = {**whole, "content": [], "stop_reason": None,
             "usage": {"input_tokens": USED[0], "output_tokens": 1}}  # fmt: skip
    events: list[Json] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for at, block in enumerate(blocks):
        if block["type"] == "text":
            first: Json = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": word} for word in _words(block["text"])]
        else:
            first = {**block, "input": {}}
            text = json.dumps(block["input"])
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in (text[:3], text[3:])
            ]
        events.append({"type": "content_block_start", "index": at, "content_block": first})
        events += [{"type": "content_block_delta", "index": at, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": at})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": USED[1]}})
    return [*events, {"type": "message_stop"}]
