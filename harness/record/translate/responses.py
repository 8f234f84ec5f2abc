"""A request for a response of OpenAI's newer format as one for a chat completion."""

from __future__ import annotations

from typing import Any

from harness.record.translate.chat import (
    Untranslatable,
    content_of,
    copied,
    image,
    refuse,
    streamed,
)
from harness.record.wires import Body
from harness.trajectories.building import text_of
from harness.trajectories.lenient import listing, mapping, string

_SAME = {
    "model": "model", "max_output_tokens": "max_tokens", "temperature": "temperature",
    "top_p": "top_p", "parallel_tool_calls": "parallel_tool_calls", "user": "user",
}  # fmt: skip
_REFUSED = {
    "previous_response_id": "the server would have to remember the conversation: send it whole",
    "conversation": "the server would have to remember the conversation: send it whole",
    "background": "the answer would have to be asked for later",
    "prompt": "a prompt that is kept by the server",
}
_TEXTS = ("input_text", "output_text", "text")


def request(body: Body) -> Body:
    """A request for a response as one for a chat completion.

    Raises:
        Untranslatable: if it needs what chat completions do not have.
    """
    refuse(body, _REFUSED)
    chat = copied(body, _SAME) | streamed(body)
    chat["messages"] = _messages(body)
    tools = [_tool(mapping(tool)) for tool in listing(body.get("tools"))]
    if tools:
        chat["tools"] = tools
        if body.get("tool_choice") is not None:
            chat["tool_choice"] = _choice(body["tool_choice"])
    else:
        chat.pop("parallel_tool_calls", None)
    effort = mapping(body.get("reasoning")).get("effort")
    if effort is not None:
        chat["reasoning_effort"] = effort
    text_format = mapping(mapping(body.get("text")).get("format"))
    if text_format.get("type") == "json_schema":
        schema = {name: value for name, value in text_format.items() if name != "type"}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif text_format.get("type") == "json_object":
        chat["response_format"] = {"type": "json_object"}
    return chat


def _messages(body: Body) -> list[Body]:
    instructions = string(body.get("instructions"))
    messages: list[Body] = [{"role": "system", "content": instructions}] if instructions else []
    items = body.get("input")
    if isinstance(items, str):
        return [*messages, {"role": "user", "content": items}]
    for raw in listing(items):
        item = mapping(raw)
        message = _item(item)
        if message is None:
            continue
        last = messages[-1] if messages else {}
        if message["role"] == "assistant" and last.get("role") == "assistant":
            # Items of one answer: its text and its calls are one message of a chat.
            texts = filter(None, (last["content"], message["content"]))
            calls = [*last.get("tool_calls", []), *message.get("tool_calls", [])]
            messages[-1] = {"role": "assistant", "content": "\n\n".join(texts)}
            messages[-1] |= {"tool_calls": calls} if calls else {}
        else:
            messages.append(message)
    return messages


def _item(item: Body) -> Body | None:
    kind = string(item.get("type")) or "message"
    if kind == "reasoning":
        return None
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": string(item.get("arguments"))}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    if kind == "function_call_output":
        content = _content(item.get("output"))
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
    if kind != "message":
        raise Untranslatable(f"input: an item of type {kind!r}")
    role = string(item.get("role"))
    if role == "assistant":
        return {"role": role, "content": text_of(item.get("content"))}
    return {"role": "system" if role == "developer" else role, "content": _content(item["content"])}


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return content_of([_part(mapping(part)) for part in listing(content)])


def _part(part: Body) -> Body:
    if part.get("type") in _TEXTS:
        return {"type": "text", "text": string(part.get("text"))}
    if part.get("type") == "input_image" and part.get("image_url"):
        return image(string(part["image_url"]))
    raise Untranslatable(f"input: a part of type {part.get('type')!r}")


def _tool(tool: Body) -> Body:
    if tool.get("type") != "function":
        raise Untranslatable(f"tools: {tool.get('type')!r} is a tool of OpenAI's servers")
    names = {name: name for name in ("name", "description", "parameters", "strict")}
    return {"type": "function", "function": copied(tool, names)}


def _choice(choice: Any) -> Any:
    if isinstance(choice, str):
        return choice
    tool_choice = mapping(choice)
    if tool_choice.get("type") != "function":
        raise Untranslatable(f"tool_choice: of type {tool_choice.get('type')!r}")
    return {"type": "function", "function": {"name": tool_choice.get("name")}}


def error(message: str, status: int) -> Body:
    """An error as OpenAI's clients read it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
