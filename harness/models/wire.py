"""The body of a chat request, its digest, the bound on what it may use, and how a reply is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from harness.core import BadInput, Unreachable, Usage, canonical_json, digest
from harness.models.budget import Price
from harness.models.types import Body, Message, ModelCall, Reply, Sampling

_FIXED_TOKENS = 256
_TOOLS_TOKENS = 512
_MESSAGE_TOKENS = 16
_IMAGE_TOKENS = 20_000
_MOST_TOKENS = 10**9
"""Of one call; what claims more is no count."""
_RESERVED = ("model", "messages", "tools", "response_format", "stream", "stream_options", "n")


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, JsonValue]] | None,
    sampling: Sampling,
    response_format: Mapping[str, JsonValue] | None,
) -> Body:
    """What is sent to `/chat/completions`; every parameter that is set is in it.

    Raises:
        BadInput: if `sampling.extra` sets what has a parameter of its own, or asks for a stream or
            several choices.
    """
    body: Body = {"model": model, "messages": [dict(message) for message in messages]}
    if tools:
        body["tools"] = [dict(tool) for tool in tools]
    if response_format is not None:
        body["response_format"] = dict(response_format)
    values = sampling.model_dump(mode="json", exclude={"extra", "timeout_s"}, exclude_none=True)
    for name, value in sampling.extra.items():
        if name in _RESERVED or name in values:
            raise BadInput(f"sampling: extra may not set {name!r} (set to {value!r})")
    return body | values | sampling.extra


def request_digest(kind: str, body: Body) -> str:
    """Key of a request in the cache: digest of the endpoint kind and of the whole body.

    Raises:
        BadInput: if the body is not JSON.
    """
    try:
        return digest({"kind": kind, "body": body})
    except (TypeError, ValueError) as error:
        raise BadInput(f"the request cannot be written as JSON: {error}") from error


def completion_limit(body: Body) -> int | None:
    """The bound on completion tokens that a body sets; to some servers -1 is none."""
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    return limit if isinstance(limit, int) and limit > 0 else None


def prompt_bound(body: Body) -> int:
    """Upper bound on the prompt tokens of a request, without a tokenizer.

    A byte-level or byte-fallback tokenizer never makes more tokens than there are bytes; the chat
    template adds a few for each message, and some text of its own.
    """
    images = 0
    total = _FIXED_TOKENS
    for message in body["messages"]:
        content = message.get("content")
        if isinstance(content, list):
            parts = cast("list[Any]", content)
            texts: list[Any] = [
                part for part in parts if not isinstance(part, dict) or "image_url" not in part
            ]
            images += len(parts) - len(texts)
            content = texts
        text = canonical_json({**message, "content": content})
        total += _MESSAGE_TOKENS + len(text.encode())
    for name in ("tools", "response_format"):
        if name in body:
            total += _TOOLS_TOKENS + len(canonical_json(body[name]).encode())
    return total + images * _IMAGE_TOKENS


def read_response(content: bytes, where: str) -> Body:
    """Decode the body of an HTTP 200.

    Raises:
        Unreachable: if it is not a chat completion; the message quotes it.
    """
    try:
        text = content.decode("utf-8-sig")  # of bytes json.loads takes half characters, and UTF-16
        response: Any = json.loads(text)
        finish = response["choices"][0]["finish_reason"]
        message = response["choices"][0]["message"]
        if isinstance(message, dict) and (finish is None or isinstance(finish, str)):
            fields = cast("Body", message)
            calls: list[Any] = fields.get("tool_calls") or []
            thoughts = (fields.get("reasoning_content"), fields.get("reasoning"))
            plain = isinstance(fields.get("content"), str) and not any(thoughts)
            if calls or not plain:
                read_reply("", response, Usage(), cached=False)
            if not all(call["function"]["name"] for call in calls):
                raise ValueError("a tool call without a name")
            if "\\ud" in text or "\\uD" in text:  # half a character has no form in UTF-8
                json.dumps(response, ensure_ascii=False).encode()
            return response
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    from harness.core.redaction import redact

    text = redact(content[:200].decode("utf-8", "replace"))
    raise Unreachable(
        f"{where}: expected a chat completion as JSON, got {text!r} ({len(content)} bytes); is "
        "this the base URL of an OpenAI-compatible server (it often ends in /v1)?"
    )


def usage_of(response: Body, price: Price | None, seconds: float) -> Usage | None:
    """Tokens and money of a response; None if the server reported no usage that can be true."""
    counts: Any = response.get("usage")
    if not isinstance(counts, dict):
        return None

    def count(fields: Any, name: str) -> int:
        """A count; -1 for what is none."""
        value: Any = fields.get(name) if hasattr(fields, "get") else None
        value = 0 if value is None else value
        return value if type(value) is int and 0 <= value <= _MOST_TOKENS else -1

    fields = cast("Body", counts)
    prompt, completion = count(fields, "prompt_tokens"), count(fields, "completion_tokens")
    if min(prompt, completion) < 0 or not prompt + completion:  # no call is free of tokens
        return None
    cached = min(max(0, count(fields.get("prompt_tokens_details"), "cached_tokens")), prompt)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cost_usd=None if price is None else price.cost(prompt, completion, cached),
        seconds=seconds,
    )


def read_reply(call_id: str, response: Body, usage: Usage, *, cached: bool) -> Reply:
    """The reply that a stored or fresh response holds."""
    choice = response["choices"][0]
    message: dict[str, Any] = choice["message"]
    calls = tuple(
        ModelCall(
            id=str(call.get("id") or f"call_{index}"),
            name=str(call["function"]["name"]),
            arguments=str(call["function"].get("arguments") or "{}"),
        )
        for index, call in enumerate(message.get("tool_calls") or [])
        if call.get("function")
    )
    content: Any = message.get("content")
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        content = "".join(str(part.get("text") or "") for part in parts)
    return Reply(
        call_id=call_id,
        text=str(content or ""),
        reasoning=message.get("reasoning_content") or message.get("reasoning") or None,
        tool_calls=calls,
        finish_reason=choice["finish_reason"] or "stop",
        model=str(response.get("model") or ""),
        usage=usage,
        cached=cached,
    )
