"""The machine's engine as a back end of the gateway: a chat request in, a completion out.

An engine that dies is started again, and what it was asked is asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
)
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import httpx

from harness.core import BadInput, Unreachable
from harness.core.http import async_http_client
from harness.engines import weights
from harness.engines.embedded.shared import Address, SharedEngine, launch_settings
from harness.engines.embedded.wire import (
    WrittenCalls,
    as_call,
    held_to_calls,
    llama_request,
    refusal,
    required_functions,
)
from harness.models import (
    STREAMED,
    Backend,
    Body,
    Endpoint,
    Layer,
    ModelSpec,
    Refused,
    assembled,
    check_url,
    closed_with_loop,
    layered,
    served,
    waiting,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

T = TypeVar("T")

EMBEDDED_TOKENS = 2048
"""Most tokens of a text that becomes one vector or one score."""
ATTEMPTS = 3
"""Engines that may end while they answer one request, before the request is held to be why."""


def endpoint(spec: ModelSpec, base_url: str | None) -> Endpoint:
    """The endpoint of `local/<name>`: a server of it at `base_url`, else this machine's engine.

    Raises:
        BadInput: if the model is unknown, its weights were not pulled or are not what they must
            be, or the engine's library is not installed.
    """
    if base_url:
        return Endpoint("local", spec.name, check_url(base_url), constrains=True)
    shared = not is_folder(spec.name)
    return Endpoint(
        "local", spec.name, backend=backend(spec.name), streams=shared, constrains=shared,
        slots=launch_settings().slots if shared else 1,
    )  # fmt: skip


def backend(name: str, layer: Layer | None = None) -> Backend:
    """The back end of an embedded model; its engine starts with the first request.

    Args:
        name: model name without `local/`, the path of a GGUF file, or a folder with a vision model
            in OpenVINO form.
        layer: stands in front of it, such as a guard.

    Raises:
        BadInput: as :func:`endpoint`, or if the folder holds no such model.
    """
    if is_folder(name):
        from harness.engines.embedded import vision

        answer = vision.backend(Path(name).expanduser())
    else:
        answer = LocalModel(name).answer
    return answer if layer is None else layered(answer, layer)


def app(name: str, layer: Layer | None = None) -> Starlette:
    """The application that serves an embedded model on a port; arguments as :func:`backend`."""
    answer = backend(name, layer)
    if is_folder(name):
        return served(answer, Path(name).expanduser().name, owned_by="local")
    model = LocalModel(name)
    card_fields = {"owned_by": "embedded", "max_model_len": model.context}
    return served(answer, name, lambda: model.engine.running is not None, **card_fields)


def server(name: str, mode: str) -> tuple[str, str]:
    """Base URL and key of the engine that makes embeddings or ranks texts, started if need be.

    This is the plugin `local` of the group `harness.servers`.

    Args:
        name: name of the model or path of a GGUF file, with `#mean`, `#last` or `#cls` behind it
            where the file does not say how the vectors of tokens make the vector of a text.
        mode: `embedding` or `rerank`.

    Raises:
        BadInput: if the file is not there, or does not load so.
    """
    path, _, pooling = name.partition("#")
    if pooling not in ("", "mean", "last", "cls"):
        raise BadInput(f"expected #mean, #last or #cls behind {path!r}, got {'#' + pooling!r}")
    context = weights.find(path).context if path in weights.KNOWN else EMBEDDED_TOKENS
    launch = launch_settings(mode)
    launch = replace(launch, pooling=pooling, context=min(context, launch.context, EMBEDDED_TOKENS))
    address = SharedEngine(weights.require(path), launch).start()
    return f"{address.url}/v1", address.key


def is_folder(name: str) -> bool:
    """Return True for the name of a folder with a vision model, which runs in this process."""
    return "/" in name and not name.endswith(weights.SUFFIX)


class _EngineLost(Exception):
    """The engine ended before it had answered."""


class LocalModel:
    """A model of this machine, answered by its shared engine.

    Args:
        name: model name without `local/`, or the path of a GGUF file; `+<path>.gguf` behind it is
            a LoRA adapter.

    Attributes:
        engine: which other commands may use at the same time.
        context: tokens of prompt and answer that a request may have.

    Raises:
        BadInput: as :func:`endpoint`.
    """

    def __init__(self, name: str) -> None:
        model, adapter = weights.with_adapter(name)
        path, launch = weights.require(model), launch_settings()
        if adapter:
            launch = replace(launch, lora=str(weights.require(adapter).resolve()))
        self._name = name
        self._digest = "" if name.endswith(weights.SUFFIX) else weights.find(name).sha256
        self.engine = SharedEngine(path, launch)
        self.context = launch.context
        self._address: Address | None = None
        self._lost: Address | None = None
        self._tools: bool | None = None
        self._clients: WeakKeyDictionary[Any, tuple[httpx.AsyncClient, AsyncGenerator[None]]]
        self._clients = WeakKeyDictionary()

    async def answer(self, body: Body) -> Body | AsyncGenerator[Body]:
        """The completion of a chat request, or its chunks.

        The engine is always asked for a stream: it notices only there that its client is gone.

        Raises:
            Refused: for a request that cannot be honoured, or if the engine fails.
        """
        request = llama_request(body, self._name)
        if request.get("tools") and not await self._retried(self._lists_tools):
            raise Refused(
                400,
                f"tools: the chat template of {self._name!r} has no place for tools; hold replies "
                "to a schema instead (`protocol: json`)",
                "tools",
            )
        if functions := required_functions(request):
            return as_call(await self._complete(held_to_calls(request, functions)))
        if body.get("stream"):

            async def begin() -> AsyncGenerator[Body]:
                chunks = self._chunks(request)
                return _resumed(await anext(chunks), chunks)  # a refusal is no broken stream

            return await self._retried(begin)

        return await self._complete(request)

    async def _complete(self, request: Body) -> Body:
        async def ask() -> Body:
            async with aclosing(self._chunks(request | STREAMED)) as chunks:
                completion = assembled([chunk async for chunk in chunks])
            if completion["choices"][0]["finish_reason"] is None:
                raise Refused(500, "embedded engine: the answer broke off")
            return completion

        return await self._retried(ask)

    async def _lists_tools(self) -> bool:
        """Return True if the chat template puts tools before it; llama.cpp drops them if not."""
        if self._tools is None:
            page, _ = await self._sent("GET", "/props")
            self._tools = "tools" in str(page.json().get("chat_template"))
        return self._tools

    async def _retried(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Call `ask` on this engine, or on the next."""
        for _ in range(ATTEMPTS):
            with suppress(_EngineLost):
                return await ask()
        raise Refused(
            500,
            f"the engine of local/{self._name} ended {ATTEMPTS} times before it had answered this "
            f"request; see {str(self.engine.files.log)!r}",
        )

    async def _sent(
        self, method: str, path: str, body: Body | None = None, *, stream: bool = False
    ) -> tuple[httpx.Response, Address]:
        """A response with status 200, and the engine that gave it."""
        try:
            with waiting():  # loading the weights is no work of the attempt that asks first
                self._address = self._address or await asyncio.to_thread(
                    self.engine.start, self._lost
                )
        except (BadInput, Unreachable) as error:
            raise Refused(500, str(error)) from error
        address = self._address
        client = await self._client(address.url)
        headers = {"authorization": f"Bearer {address.key}"}
        request = client.build_request(method, address.url + path, json=body, headers=headers)
        with self._watched(address):
            response = await client.send(request, stream=stream)
            if response.status_code == 200:
                return response, address
            await response.aread()
        raise refusal(response)

    @contextmanager
    def _watched(self, address: Address) -> Generator[None]:
        """Around what is read from an engine, which is not asked again once it was lost."""
        try:
            yield
        except httpx.TransportError as error:
            self._lost = address
            if self._address == address:
                self._address = None
            raise _EngineLost from error

    async def _chunks(self, body: Body) -> AsyncGenerator[Body]:
        response, address = await self._sent("POST", "/v1/chat/completions", body, stream=True)
        written = WrittenCalls(body)
        try:
            with self._watched(address):
                async for line in response.aiter_lines():
                    text = line.removeprefix("data: ")
                    if text == line or text == "[DONE]":
                        continue
                    chunk = json.loads(text)
                    if "error" in chunk:
                        raise Refused(500, str(chunk["error"].get("message")))
                    for part in written.feed(self._signed(chunk)):
                        yield part
            for held in written.rest():
                yield held
        finally:
            await response.aclose()

    async def _client(self, url: str) -> httpx.AsyncClient:
        """The client of the running event loop, which closes it when it ends."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=16)
            timeout = httpx.Timeout(None, connect=5)
            client = async_http_client(url, timeout, limits=limits, verify=False)
            keeper = closed_with_loop(client.aclose)
            self._clients[loop] = client, keeper
            await anext(keeper)
        return self._clients[loop][0]

    def _signed(self, reply: Body) -> Body:
        """A reply with our name of the model, and the digest of its weights."""
        reply.pop("timings", None)
        fingerprint = (
            f"gguf-{self._digest[:16]}" if self._digest else reply.get("system_fingerprint")
        )
        return reply | {"model": self._name, "system_fingerprint": fingerprint}


async def _resumed(first: Body, chunks: AsyncGenerator[Body]) -> AsyncGenerator[Body]:
    """A stream whose first chunk was read already."""
    try:
        async with aclosing(chunks):
            yield first
            async for chunk in chunks:
                yield chunk
    except _EngineLost as error:
        raise Refused(500, "the engine ended in the middle of an answer") from error
