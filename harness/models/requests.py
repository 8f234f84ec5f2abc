"""What a client may send: bytes, levels of nesting, and the fields that back ends rely on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, cast

from pydantic import BaseModel, ValidationError

from harness.core import MAX_BYTES, first_fault
from harness.models.types import Body, Refused

if TYPE_CHECKING:
    from starlette.requests import Request

MAX_DEPTH = 100
"""Levels of lists and objects in one another."""


class _Message(BaseModel):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Chat(BaseModel):
    messages: list[_Message]
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    stream_options: dict[str, Any] | None = None


async def body_of(request: Request) -> bytes:
    """The body of a request, of which no more than :data:`harness.core.MAX_BYTES` is held.

    A longer one is read to its end nevertheless: a client that sends sees no answer before.

    Raises:
        Refused: if it is longer (HTTP 413).
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            pieces.clear()
    if size > MAX_BYTES:
        raise Refused(413, f"the body has {size:,} bytes, more than {MAX_BYTES >> 20} MiB")
    return b"".join(pieces)


def read_body(content: bytes) -> Body:
    """The JSON object of a request.

    Raises:
        Refused: if it is none, is nested too deeply, or holds what UTF-8 has no form for.
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    try:
        value: Any = json.loads(content, parse_constant=refuse)
        level: list[Any] = [value]
        for _ in range(MAX_DEPTH):
            level = [item for outer in level for item in _held(outer)]
        if any(map(_held, level)):
            raise RecursionError
        if b"\\ud" in content or b"\\uD" in content:  # half a character
            json.dumps(value, ensure_ascii=False).encode()
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, found {value!r:.80}")
    except RecursionError:
        raise Refused(400, f"the body has more than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise Refused(400, f"the body is not JSON: {error}") from error
    return cast("Body", value)


def _held(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("Body", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def checked(request: Body) -> Body:
    """A chat request whose messages and tools are what back ends take them for.

    Raises:
        Refused: if they are not; the field is named.
    """
    try:
        _Chat.model_validate(request, strict=True)
    except ValidationError as error:
        param = str(error.errors()[0]["loc"][0])
        raise Refused(400, first_fault(error), param) from error
    return request
