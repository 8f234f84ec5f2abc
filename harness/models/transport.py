"""HTTP connections to an endpoint, of each event loop its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from harness.models.concurrency import Slots
from harness.models.endpoints import Endpoint
from harness.models.faults import is_broken
from harness.models.wire import Body

if TYPE_CHECKING:
    import openai


class _Open(NamedTuple):
    """A client, and what closes it."""

    client: openai.AsyncOpenAI
    keeper: AsyncGenerator[None]


@dataclass
class _Held:
    """What belongs to one event loop."""

    slots: Slots
    clients: dict[int, _Open] = field(default_factory=dict[int, "_Open"])


class Connections:
    """Clients of the servers of an endpoint, and slots for requests in flight.

    Args:
        endpoint: where requests go.
        concurrency: slots of each event loop, at most.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int) -> None:
        self._endpoint = endpoint
        self._concurrency = concurrency
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()

    @property
    def slots(self) -> Slots:
        """The slots of the running event loop."""
        return self._held().slots

    def resize(self, concurrency: int) -> None:
        """Another number of slots, at once, in every event loop."""
        self._concurrency = concurrency
        for held in self._loops.values():
            held.slots.resize(concurrency)

    async def post(self, index: int, body: Body, timeout_s: float) -> tuple[Any, bytes]:
        """Headers and content of an HTTP 200.

        Args:
            index: of the server.
            body: the request.
            timeout_s: for the whole answer.

        Raises:
            openai.APIError: for anything else.
        """
        if self._endpoint.official and "max_tokens" in body:  # newer models refuse the old name
            body = {**body, "max_completion_tokens": body["max_tokens"]}
            del body["max_tokens"]
        with self._endpoint.sending(index):
            return await self._sent(index, body, timeout_s)

    async def _sent(self, index: int, body: Body, timeout_s: float) -> tuple[Any, bytes]:
        import httpx2
        import openai

        # The client's own limit counts from one byte to the next: a server that sends a byte now
        # and then would hold a request for ever. An app in this process is not hung up on.
        whole_s = timeout_s if self._endpoint.app is None else None
        client = await self._client(index)  # the first time it is slow: imports, certificates
        # Not `chat.completions.create`: it walks through all messages to rename what needs no
        # renaming, which takes a third of the time of a call.
        try:
            async with asyncio.timeout(whole_s):
                raw = await client.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body=body,
                    options={"timeout": timeout_s},
                )
        except openai.APIError:
            raise
        except Exception as error:
            # What the client under `openai` does not translate: garbage in place of HTTP.
            if not (isinstance(error, (TimeoutError, ValueError)) or is_broken(error)):
                raise
            request = httpx2.Request("POST", self._endpoint.urls[index])
            if isinstance(error, TimeoutError):
                raise openai.APITimeoutError(request) from error
            raise openai.APIConnectionError(request=request) from error
        return raw.headers, raw.content

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        held = self._loops.pop(asyncio.get_running_loop(), None)
        for one in held.clients.values() if held else ():
            await one.keeper.aclose()

    def _held(self) -> _Held:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _Held(Slots(self._concurrency))
        return self._loops[loop]

    async def _client(self, index: int) -> openai.AsyncOpenAI:
        clients = self._held().clients
        if index not in clients:
            client = self._endpoint.client(index, self._concurrency)
            clients[index] = _Open(client, _closing(client))
            await anext(clients[index].keeper)
        return clients[index].client


async def _closing(client: openai.AsyncOpenAI) -> AsyncGenerator[None]:
    """Closes a client when it is closed itself: by us, or by the event loop at its end.

    Scripts that never close a model would be told of connections that were left open.
    """
    try:
        yield
    finally:
        await client.close()
