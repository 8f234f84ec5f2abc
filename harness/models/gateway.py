"""The HTTP application that answers chat completions, whoever asks and whatever answers.

    client ──► format ──► layers ──► back end
               chat       cache      an endpoint over HTTP
               messages   budget     the embedded engine
               responses  record     a script
                          compress   a recording

A back end is a function from the body of a chat request to a completion, or to the chunks of one
(:data:`harness.models.Backend`). :func:`harness.models.respond` puts it behind a wire format;
formats other than chat completions register in `harness.wires`. :class:`Gateway` gives every
attempt of a run an address and a key of its own in front of the run's model, whose client holds
cache and budget, so that calls, tokens and money of an agent are known although it imports nothing
of ours. :func:`served` is a back end for any client. The recorder of `harness.record` puts its
layers into the same application.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.core import (
    MAX_BYTES,
    HarnessError,
    LimitReached,
    Unreachable,
    Usage,
    without_thoughts,
)
from harness.models.budget import refuse_unpriced
from harness.models.limits import SampleLimitReached
from harness.models.responding import (
    CHAT,
    HOST,
    Answer,
    body_of,
    chunks_of,
    format_of,
    refuse_strangers,
    respond,
    serving,
)
from harness.models.types import Backend, Body, Layer, Message, Model, Refused, Reply, Sampling
from harness.models.wire import LISTENER, ChunkQueue

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive

    Handler = Callable[[Request], Awaitable[Response]]

Exchange = tuple[list[Message], Reply]
"""The messages of a call, and what it was answered."""
FINAL = {"x-should-retry": "false"}
"""Header that keeps clients from asking again what was refused for good."""
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
_NOT_SAMPLING = frozenset(
    {"model", "messages", "tools", "response_format", "stream", "stream_options", "n",
     "max_completion_tokens"}
)  # fmt: skip
MOST_HELD = 2 * MAX_BYTES
"""Bytes of requests that are answered at one time; what is made of them takes more."""


def application(handle: Handler) -> Starlette:
    """The ASGI application: every request goes to `handle`, which may raise :class:`Refused`."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    async def refused(_: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, Refused) else 400
        text = str(error) if isinstance(error, Refused) else "the request is nested too deeply"
        return await Answer.of_json(CHAT.error(text, status), status).response()

    async def guarded(request: Request) -> Response:
        refuse_strangers(request.headers)
        return await handle(request)

    chat = Route("/v1/chat/completions", guarded, methods=["POST"])
    routes = [chat, Route("/{path:path}", guarded, methods=_METHODS)]
    return Starlette(routes=routes, exception_handlers={Refused: refused, RecursionError: refused})


def served(
    backend: Backend, name: str, loaded: Callable[[], bool] | None = None, **card_fields: Any
) -> Starlette:
    """A back end for any client on this machine, with its card and its health.

    Args:
        backend: answers.
        name: of the model.
        loaded: whether its weights are in memory; None where that is always so.
        facts: what else `/v1/models` says of it.
    """
    card = {"id": name, "object": "model", "created": 0, **card_fields}

    async def handle(request: Request) -> Response:
        path, form = request.url.path, format_of(request.url.path)
        if form is not None and request.method == "POST":
            answer = await respond(form, await body_of(request), backend)
        elif path == "/v1/models":
            answer = Answer.of_json({"object": "list", "data": [card]})
        elif path == "/health":
            answer = Answer.of_json({"status": "ok", "loaded": loaded is None or loaded()})
        else:
            answer = Answer.of_json(CHAT.error(f"nothing answers at {path}", 404), 404)
        return await answer.response()

    return application(handle)


def client_variables(origin: str, key: str | None = None) -> dict[str, str]:
    """The variables that lead the clients of all formats to an address.

    Args:
        origin: the URL in front of `/v1`.
        key: the clients' key; None leaves theirs.
    """
    base = f"{origin}/v1"
    variables = {
        "OPENAI_BASE_URL": base,
        "OPENAI_API_BASE": base,
        "VLLM_BASE_URL": base,
        "ANTHROPIC_BASE_URL": origin,
    }
    if key is not None:
        variables |= dict.fromkeys(("OPENAI_API_KEY", "VLLM_API_KEY", "ANTHROPIC_API_KEY"), key)
    for name in ("NO_PROXY", "no_proxy"):  # a proxy of the environment does not reach loopback
        variables[name] = ",".join(filter(None, (os.environ.get(name), f"{HOST},localhost")))
    return variables


@dataclass
class Account:
    """Account of one attempt: its limits and its use.

    Attributes:
        model: answers.
        seed: of requests that bring none.
        context: in which the attempt runs: whoever watches sees its calls within it.
        usage: sum over its calls.
        exchanges: the messages of every answered call and its reply, in the order of the replies.
        limit: the budget error that a call met, if one did.
        ended: why the attempt says nothing about the agent: it met a limit of its own, or the model
            was not reached the last time it was asked.
        broken: whether its last call was a stream that failed behind its first word, so that no
            other try could take its place.
        refusal: why its last call was refused, by a guard for one; "" if it was answered.
    """

    model: Model
    seed: int | None
    context: Context
    usage: Usage = field(default_factory=Usage)
    exchanges: list[Exchange] = field(default_factory=list[Exchange])
    limit: LimitReached | None = None
    ended: HarnessError | None = None
    broken: bool = False
    refusal: str = ""
    _under_way: set[asyncio.Task[Body]] = field(default_factory=set["asyncio.Task[Body]"])

    def close(self) -> None:
        """Cancel the calls that are under way: nobody waits for them any longer."""
        for completion in self._under_way:
            completion.cancel()

    def _begun(self, body: Body, context: Context) -> asyncio.Task[Body]:
        """A completion that is under way, until the account is closed."""
        completion = asyncio.create_task(self._settled(body), context=context)
        self._under_way.add(completion)
        completion.add_done_callback(self._under_way.discard)
        return completion

    async def answer(self, body: Body, receive: Receive) -> Body | AsyncGenerator[Body]:
        """The completion of a chat request, by the account's model; its chunks if it asks for them.

        Args:
            body: the request.
            receive: gives what else its client sends: that it is gone. A stream that is not read
                is not asked for any longer; what is whole is recorded for the next time.

        Raises:
            Refused: if a limit is reached, or the model does not answer.
        """
        if not body.get("stream"):
            return await _completed(self._begun(body, self.context.copy()))
        chunks = self._chunks(body)
        first, leaving = asyncio.ensure_future(anext(chunks)), asyncio.ensure_future(receive())
        try:
            await asyncio.wait((first, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                raise Refused(499, "the client has gone")
        finally:
            leaving.cancel()
            first.cancel()  # does nothing once it is done

        async def resumed(chunk: Body) -> AsyncGenerator[Body]:
            async with contextlib.aclosing(chunks):
                yield chunk
                async for further in chunks:
                    yield further

        return resumed(first.result())  # a refusal is no broken stream

    async def _chunks(self, body: Body) -> AsyncGenerator[Body]:
        """The chunks of a completion: as they come where the model's server streams, else at once.

        The last of them, which says why the answer ended, comes when the answer is recorded: many
        clients hang up behind it. Whoever hangs up before cancels the call.

        Raises:
            Refused: as :meth:`answer`; after the first chunk, too.
        """
        queue, context = ChunkQueue(), self.context.copy()
        context.run(LISTENER.set, queue)
        completion = self._begun(body, context)
        completion.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (chunk := await queue.get()) is not None:
                yield chunk
            ending = chunks_of(body, await _completed(completion), begun=queue.begun)
        finally:
            completion.cancel()
        async for chunk in ending:
            yield chunk

    async def _settled(self, body: Body) -> Body:
        """A completion, counted. Runs in a copy of the account's context: calls that overlap would
        leave each other's variables in a shared one.
        """
        try:
            reply = await self._complete(body)
        except LimitReached as error:
            self.limit = error
            raise Refused(429, str(error), headers=FINAL) from error
        except SampleLimitReached as error:
            self.ended = error
            raise Refused(429, str(error), headers=FINAL) from error
        except Unreachable as error:
            listener = LISTENER.get()
            self.ended, self.broken = self.ended or error, listener is not None and listener.begun
            raise Refused(502, str(error), headers=FINAL) from error
        except (HarnessError, ValueError, LookupError, TypeError, AttributeError) as error:
            self.refusal = str(error)
            raise Refused(400, f"{type(error).__name__}: {error}") from error
        self.refusal = ""
        if isinstance(self.ended, Unreachable):
            self.ended, self.broken = None, False
        self.usage += reply.usage
        self.exchanges.append((body["messages"], reply))
        return completion_of(reply)

    async def _complete(self, body: Body) -> Reply:
        refuse_unpriced(body)
        parameters = {name: body[name] for name in body if name not in _NOT_SAMPLING}
        parameters = {name: value for name, value in parameters.items() if value is not None}
        if body.get("max_completion_tokens"):
            parameters.setdefault("max_tokens", body["max_completion_tokens"])
        if self.seed is not None:
            parameters.setdefault("seed", self.seed)
        if isinstance(parameters.get("stop"), str):
            parameters["stop"] = (parameters["stop"],)
        fields = Sampling.model_fields.keys() - {"extra", "timeout_s"}
        sampling = Sampling(
            **{name: value for name, value in parameters.items() if name in fields},
            extra={name: value for name, value in parameters.items() if name not in fields},
        )
        return await self.model.complete(
            body["messages"],
            tools=body.get("tools"),
            sampling=sampling,
            response_format=body.get("response_format"),
        )


async def _completed(completion: asyncio.Task[Body]) -> Body:
    """Read the outcome of a call.

    Raises:
        Refused: if it was cancelled with its account.
    """
    try:
        return await completion
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise Refused(499, "the attempt is over", headers=FINAL) from None


class Gateway:
    """The address of one run, with a key for every attempt. Made by :func:`open_gateway`.

    Attributes:
        origin: URL in front of `/v1`.
    """

    def __init__(self, model: Model, layer: Layer | None = None) -> None:
        self._model, self._layer = model, layer
        self._accounts: dict[str, Account] = {}
        self._held = 0
        self.origin = ""

    def open_account(
        self, model: Model | None = None, seed: int | None = None
    ) -> tuple[str, dict[str, str]]:
        """A new key, and the variables that tell an agent where to ask and with what key.

        Args:
            model: answers in place of the run's.
            seed: of requests that bring none.
        """
        key = secrets.token_urlsafe(24)
        layered = model or self._model
        if self._layer is not None:
            layered = self._layer(layered)
        self._accounts[key] = Account(layered, seed, copy_context())
        name = self._model.spec.partition("/")[2]
        return key, {**client_variables(self.origin, key), "OPENAI_MODEL": name}

    def close_account(self, key: str) -> Account:
        """Close the account of an attempt: its key is no longer taken, its calls are cancelled."""
        account = self._accounts.pop(key)
        account.close()
        return account

    async def handle(self, request: Request) -> Response:
        """Answer a request that has the key of an account."""
        form = format_of(request.url.path)
        if form is None or request.method != "POST":
            missing = CHAT.error(f"nothing answers at {request.method} {request.url.path}", 404)
            return await Answer.of_json(missing, 404).response()
        headers = request.headers
        key = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key")
        account = self._accounts.get(key or "")
        if account is None:
            unknown = "unknown key: use OPENAI_API_KEY as the harness set it"
            return await Answer.of_json(form.error(unknown, 401), 401).response()
        size = int(headers.get("content-length") or MAX_BYTES)
        if self._held + size > MOST_HELD and self._held:
            raise Refused(503, "too many long requests at one time: try again")
        self._held += size
        try:
            content, receive = await body_of(request), request.receive
            answer = await respond(form, content, lambda body: account.answer(body, receive))
            return await answer.response()
        finally:
            self._held -= size


@contextlib.asynccontextmanager
async def open_gateway(model: Model, layer: Layer | None = None) -> AsyncGenerator[Gateway]:
    """Serve `model` on a free port of 127.0.0.1 until the block ends.

    Args:
        model: answers.
        layer: stands in front of it, and of the models of single accounts.

    Raises:
        BadInput: if no port can be had.
    """
    gateway = Gateway(model, layer)
    async with serving(application(gateway.handle)) as origin:
        gateway.origin = origin
        yield gateway


def completion_of(reply: Reply) -> Body:
    """A reply as a chat completion, with its text as it came, but where a layer changed it."""
    raw = reply.raw_text if without_thoughts(reply.raw_text or "") == reply.text else None
    message: Body = {"role": "assistant", "content": raw or reply.text}
    if reply.reasoning is not None and not raw:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.tool_calls
        ]
    usage = reply.usage
    return {
        "id": reply.call_id,
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        },
    }
