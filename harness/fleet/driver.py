"""The driver's side of a fleet: workers dial in, get parts of a job, and may die.

Whoever started the workers (:mod:`harness.fleet.types`, :mod:`harness.fleet.actors`), they
connect here and show the token; everything else goes over that connection, so a worker that dies
is noticed at once, by its connection.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import harness
from harness.core import BadInput, HarnessError, Unreachable
from harness.fleet.channel import Channel, Gone, Methods
from harness.fleet.types import Executor, Invitation, Work

TOKEN_BYTES = 64
DEATHS = 3
"""Workers that a part may lose before it is given up: it may be what kills them."""
ARRIVAL_S = 120.0
"""Seconds without any worker after which a fleet is given up."""
GREETING_S = 10.0


class WorkersLost(HarnessError):
    """Worker after worker died while it worked on this part."""


class _Reception(Channel):
    """A channel whose other side must show the token first."""

    def __init__(self, token: str, arrived: Callable[[Channel], None]) -> None:
        super().__init__()
        self._token, self._arrived, self._shown = token, arrived, b""
        self._admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        asyncio.get_running_loop().call_later(GREETING_S, self._hang_up)

    def data_received(self, data: bytes) -> None:
        if not self._admitted:
            self._shown += data
            if len(self._shown) < TOKEN_BYTES:
                return
            token, data = self._shown[:TOKEN_BYTES], self._shown[TOKEN_BYTES:]
            if not hmac.compare_digest(token, self._token.encode()):
                self._hang_up()
                return
            self._admitted = True
            self._arrived(self)
        super().data_received(data)

    def _hang_up(self) -> None:
        if not self._admitted and self._transport is not None:
            self._transport.abort()


class Fleet:
    """The workers that are connected. Made by :func:`open_fleet`."""

    def __init__(self, work: Work, services: Methods) -> None:
        self._work, self._services = work, services
        self._loads: dict[Channel, int] = {}
        self._pids: dict[Channel, int] = {}
        self._channels: set[Channel] = set()
        self._standing: dict[str, Any] = {}
        self._changed = asyncio.Condition()
        self._broken: Exception | None = None
        self.arrivals, self.deaths = 0, 0

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that are there, on their machines."""
        return list(self._pids.values())

    async def call(self, method: str, value: Any) -> Any:
        """Ask the least busy worker; another one if it dies before it answers.

        Raises:
            WorkersLost: if :data:`DEATHS` workers died over it.
            Unreachable: if there is no worker and none comes.
        """
        for _ in range(DEATHS):
            worker = await self._free()
            self._loads[worker] += 1
            try:
                return await worker.ask(method, value)
            except Gone:
                self._forget(worker)
            finally:
                if worker in self._loads:
                    self._loads[worker] -= 1
        raise WorkersLost(
            f"{DEATHS} workers died while they worked on it (out of memory, perhaps); --resume "
            "tries it again"
        )

    def tell_all(self, method: str, value: Any) -> None:
        """Tell every worker, and each that comes later the last value of each method."""
        self._standing[method] = value
        for worker in self._loads:
            worker.tell(method, value)

    async def _free(self) -> Channel:
        async with self._changed:
            try:
                async with asyncio.timeout(ARRIVAL_S):
                    await self._changed.wait_for(lambda: self._loads or self._broken)
            except TimeoutError:
                raise Unreachable(
                    f"no worker of the fleet was there for {ARRIVAL_S:.0f} s: are there the "
                    "resources that they ask for, and can they reach the driver?"
                ) from None
            if self._broken is not None:
                raise self._broken
            return min(self._loads, key=self._loads.__getitem__)

    def arrived(self, worker: Channel) -> None:
        """A worker has shown the token; it says `hello` next."""

        async def hello(value: dict[str, Any]) -> dict[str, Any]:
            if value["version"] != harness.__version__:
                error = BadInput(
                    f"a worker has version {value['version']!r} of the harness, the driver "
                    f"{harness.__version__!r}: install the same on every node"
                )
                await self._break(error)
                raise error
            return {"entry": self._work.entry, "spec": self._work.spec}

        async def ready(value: dict[str, Any]) -> None:
            async with self._changed:
                self.arrivals += 1
                if not worker.closed.done():
                    self._loads[worker], self._pids[worker] = 0, value["pid"]
                    for method, last in self._standing.items():
                        worker.tell(method, last)
                    self._changed.notify_all()

        async def unable(value: dict[str, Any]) -> None:
            await self._break(Unreachable(f"a worker cannot begin: {value['message']}"))

        own: Methods = {"hello": hello, "ready": ready, "unable": unable}
        worker.methods = {**own, **self._services}
        self._channels.add(worker)
        worker.closed.add_done_callback(lambda _: self._forget(worker))

    def _forget(self, worker: Channel) -> None:
        self.deaths += worker in self._loads
        self._loads.pop(worker, None)
        self._pids.pop(worker, None)
        self._channels.discard(worker)

    async def _break(self, error: Exception) -> None:
        async with self._changed:
            self._broken = self._broken or error  # what follows from the first error says less
            self._changed.notify_all()

    async def placing(self, executor: Executor, invitation: Invitation) -> None:
        """Keep the workers placed; what goes wrong there breaks the fleet."""
        try:
            await executor.place(self._work, invitation, lambda: self.arrivals)
        except Exception as error:  # noqa: BLE001  # handed to whoever waits for a worker
            await self._break(error)

    async def close(self) -> None:
        """Send the workers home."""
        channels = list(self._channels)
        for worker in channels:
            worker.close()
        if channels:
            await asyncio.wait([worker.closed for worker in channels], timeout=GREETING_S)


@asynccontextmanager
async def open_fleet(executor: Executor, work: Work, services: Methods) -> AsyncGenerator[Fleet]:
    """A fleet for as long as a block runs.

    Args:
        executor: starts the workers.
        work: what they do.
        services: what they may ask the driver for.

    Raises:
        BadInput: if the driver cannot listen, or the workers cannot be started.
    """
    token = secrets.token_hex(TOKEN_BYTES // 2)
    fleet = Fleet(work, services)
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: _Reception(token, fleet.arrived), executor.host, 0, backlog=512
        )
    except OSError as error:
        raise BadInput(f"the driver cannot listen on {executor.host!r}: {error}") from error
    port = server.sockets[0].getsockname()[1]
    placing = loop.create_task(fleet.placing(executor, Invitation(executor.host, port, token)))
    try:
        yield fleet
    finally:
        server.close()
        await fleet.close()
        placing.cancel()
        with suppress(asyncio.CancelledError):
            await placing
