"""Requests and completions on their way: what a client may send, wire formats, answers whole or as
streams, a port.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from harness.core import MAX_BYTES, BadInput, first_fault, listing, mapping
from harness.core.plugins import load, plugins
from harness.models.types import Backend, Body, Limit, Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
EVENTS = "text/event-stream; charset=utf-8"
MAX_DEPTH = 100
"""Levels of lists and objects in one another."""


class Format(Protocol):
    """A wire format, and its translation to and from chat completions."""

    def request(self, body: Body) -> Body:
        """A request of this format as a chat request.

        Raises:
            Refused: if chat completions cannot say it.
        """
        ...

    def whole(self, body: Body, completion: Body) -> Body:
        """A completion as the response to the request `body`."""
        ...

    def events(self, body: Body, chunks: AsyncIterator[Body]) -> AsyncGenerator[Body]:
        """The chunks of a completion as events of this format."""
        ...

    def error(self, message: str, status: int, param: str | None = None) -> Body:
        """An error as clients of this format read it."""
        ...


class ChatFormat:
    """Chat completions as they are."""

    def request(self, body: Body) -> Body:
        """The request itself."""
        return body

    def whole(self, body: Body, completion: Body) -> Body:
        """The completion itself."""
        return completion

    async def events(self, body: Body, chunks: AsyncIterator[Body]) -> AsyncGenerator[Body]:
        """The chunks themselves."""
        async for chunk in chunks:
            yield chunk

    def error(self, message: str, status: int, param: str | None = None) -> Body:
        """An error in the form of the OpenAI API."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": param, "code": None}}


CHAT = ChatFormat()


def format_of(path: str) -> Format | None:
    """The format that a path is asked in; None for a path that answers nothing."""
    tail = path.rstrip("/")
    if tail.endswith("/chat/completions"):  # servers have it below other paths too
        return CHAT
    name = tail.removeprefix("/v1/")
    return load("wires", name) if name in plugins("wires") else None


@dataclass
class Answer:
    """A response before it is sent.

    Attributes:
        status: HTTP status.
        headers: with the content type.
        pieces: the body; of a stream event by event. Close it.
    """

    status: int
    headers: dict[str, str]
    pieces: AsyncGenerator[bytes]

    @classmethod
    def of_json(cls, value: Body, status: int = 200, headers: Mapping[str, str] = {}) -> Answer:
        """A JSON value."""

        async def pieces() -> AsyncGenerator[bytes]:
            yield json.dumps(value, ensure_ascii=False).encode()

        return cls(status, {**headers, "content-type": "application/json"}, pieces())

    async def response(self) -> Response:
        """The response to send; a stream is closed when its client is gone."""
        from starlette.responses import Response, StreamingResponse

        if not self.headers["content-type"].strip().lower().startswith("text/event-stream"):
            content = b"".join([piece async for piece in self.pieces])
            return Response(content, self.status, self.headers)
        pieces = self.pieces

        class Stream(StreamingResponse):
            async def __call__(self, *arguments: Any) -> None:
                try:
                    await super().__call__(*arguments)
                finally:
                    import anyio

                    with anyio.CancelScope(shield=True):
                        await pieces.aclose()

        return Stream(pieces, self.status, self.headers)


class _Message(BaseModel):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Chat(BaseModel):
    messages: list[_Message]
    tools: list[dict[str, Any]] | None = None
    response_format: dict[str, Any] | None = None
    stream_options: dict[str, Any] | None = None
    max_tokens: Limit = None
    max_completion_tokens: Limit = None


def refuse_strangers(headers: Mapping[str, str]) -> None:
    """Let a request of a program of this machine through, or of a page that it was sent from.

    A name that was made to point to 127.0.0.1 is none of ours; a page of another origin says so.

    Raises:
        Refused: with HTTP 403.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if urlsplit(f"//{host}").hostname not in (HOST, "localhost"):
        raise Refused(403, f"unknown host {host[:80]!r}: expected {HOST}")
    if origin is not None and origin != f"http://{host}":
        raise Refused(403, f"another page's request is refused, its origin is {origin[:80]!r}")


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
    return [*mapping(value).values(), *listing(value)]


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


async def respond(form: Format, content: bytes, backend: Backend) -> Answer:
    """The answer of a back end to a request of a format; refusals are answers, too.

    Args:
        form: of the request.
        content: of the request.
        backend: is given a chat request.
    """
    try:
        body = read_body(content)
        request = checked(form.request(body))
        answer = await backend(request)
    except Refused as error:
        refusal = form.error(str(error), error.status, error.param)
        return Answer.of_json(refusal, error.status, error.headers)
    if body.get("stream"):
        chunks = chunks_of(request, answer) if isinstance(answer, dict) else answer
        return Answer(200, {"content-type": EVENTS}, _events(form, body, chunks))
    assert isinstance(answer, dict)  # no stream was asked for
    return Answer.of_json(form.whole(body, answer))


async def _events(form: Format, body: Body, chunks: AsyncGenerator[Body]) -> AsyncGenerator[bytes]:
    """Server-sent events, named by the `type` of their objects where they have one."""
    try:
        async with contextlib.aclosing(form.events(body, chunks)) as events:
            async for event in events:
                yield event_bytes(event)
    except Refused as error:
        refusal = form.error(str(error), error.status, error.param)
        error_type = {} if form is CHAT else {"type": "error", "message": str(error)}
        yield event_bytes(error_type | refusal)
        return
    finally:
        await chunks.aclose()
    if form is CHAT:
        yield b"data: [DONE]\n\n"


def event_bytes(value: Body) -> bytes:
    """An event as servers write it; half a character, which UTF-8 lacks, is escaped."""
    kind = value.get("type")
    name = f"event: {kind}\n" if isinstance(kind, str) else ""
    return f"{name}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode(
        errors="backslashreplace"
    )


async def chunks_of(
    request: Body, completion: Body, *, begun: bool = False
) -> AsyncGenerator[Body]:
    """A whole completion as the chunks of a stream; of one that was `begun`, its end."""
    [choice] = completion["choices"]
    shared = {name: completion.get(name) for name in ("id", "created", "model")}
    head = {**shared, "object": "chat.completion.chunk"}
    message = {name: value for name, value in choice["message"].items() if value is not None}
    calls = [
        {"index": index, **call} for index, call in enumerate(message.pop("tool_calls", None) or [])
    ]
    delta = {**message, "role": "assistant"} | ({"tool_calls": calls} if calls else {})
    if not begun:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = choice["finish_reason"] or "stop"
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    options: Any = request.get("stream_options") or {}
    if options.get("include_usage"):
        yield {**head, "choices": [], "usage": completion.get("usage")}


def bind(port: int, host: str = HOST) -> socket.socket:
    """A socket on loopback, or another address; port 0 takes a free one.

    Raises:
        BadInput: if the port is taken or not allowed.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise BadInput(f"cannot listen on {host}:{port}: {error}; choose another --port") from error
    return listener


@contextlib.asynccontextmanager
async def serving(
    app: Any, port: int = 0, grace: int | None = None, host: str = HOST
) -> AsyncGenerator[str]:
    """Serve an ASGI `app` while a block runs; gives its address, `http://127.0.0.1:<port>`.

    Args:
        app: the application.
        port: TCP port; 0 takes a free one.
        grace: seconds that requests under way have when the block ends; None waits for them.
        host: address of this machine to listen on.

    Raises:
        BadInput: if the port cannot be had.
    """
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield  # Ctrl-C belongs to the run or the command that is served

    with bind(port, host) as listener:
        listener.listen(256)
        # Without log_config=None uvicorn sets logging up anew, for the whole process: handlers that
        # others registered are closed, and one of them (absl's) closes its stream with it.
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            lifespan="off",
            timeout_keep_alive=60,  # clients give idle connections up before: no races
            ws="none",  # the app answers the request for one, as it does any other
            timeout_graceful_shutdown=grace,
        )
        server = Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{host}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await running
