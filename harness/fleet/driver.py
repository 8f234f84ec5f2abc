"""The driver's side of a fleet: workers dial in, get parts of a job, and may die.

Whoever started the workers (:mod:`harness.fleet.types`, :mod:`harness.fleet.actors`), they
connect here and show the token; everything else goes over that connection, so a worker that dies
is noticed at once, by its connection.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
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


class Fleet:
    """The workers that are connected. Made by :func:`open_fleet`."""

    def __init__(self, work: Work, services: Methods) -> None:
        self._work, self._services = work, services
        self._channels: set[Channel] = set()
        self._loads: dict[Channel, int] = {}
        self._standing: dict[str, Any] = {}
        self._changed = asyncio.Condition()
        self._broken: Exception | None = None
        self.arrivals, self.deaths = 0, 0

    async def call(self, method: str, value: Any) -> Any:
        """Ask the least busy worker; another one if it dies before it answers.

        Raises:
            WorkersLost: if :data:`DEATHS` workers died over it.
            Unreachable: if there is no worker and none comes.
        """
        for _ in range(DEATHS):
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
            worker = min(self._loads, key=self._loads.__getitem__)
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

    async def admit(
        self, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Whoever shows the token is a worker, and says `hello` next; others are hung up on."""
        try:
            async with asyncio.timeout(GREETING_S):
                shown = await reader.readexactly(TOKEN_BYTES)
        except (OSError, EOFError):
            shown = b""
        if not hmac.compare_digest(shown, token.encode()):
            writer.close()
            return
        worker = Channel(reader, writer)

        async def hello(value: dict[str, Any]) -> dict[str, Any]:
            if value["version"] != harness.__version__:
                error = BadInput(
                    f"a worker has version {value['version']!r} of the harness, the driver "
                    f"{harness.__version__!r}: install the same on every node"
                )
                await self._break(error)
                raise error
            return {"entry": self._work.entry, "spec": self._work.spec}

        async def ready(_: Any) -> None:
            async with self._changed:
                self.arrivals += 1
                if not worker.closed.done():
                    self._loads[worker] = 0
                    for method, last in self._standing.items():
                        worker.tell(method, last)
                    self._changed.notify_all()

        async def unable(value: dict[str, Any]) -> None:
            await self._break(Unreachable(f"a worker cannot begin: {value['message']}"))

        greeting: Methods = {"hello": hello, "ready": ready, "unable": unable}
        worker.methods = {**greeting, **self._services}
        self._channels.add(worker)
        worker.closed.add_done_callback(lambda _: self._forget(worker))

    def _forget(self, worker: Channel) -> None:
        self.deaths += worker in self._loads
        self._loads.pop(worker, None)
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
        for worker in self._channels:
            worker.close()
        if self._channels:
            await asyncio.wait([worker.closed for worker in self._channels], timeout=GREETING_S)


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
    token, fleet = secrets.token_hex(TOKEN_BYTES // 2), Fleet(work, services)
    try:
        server = await asyncio.start_server(
            partial(fleet.admit, token), executor.host, 0, backlog=512
        )
    except OSError as error:
        raise BadInput(f"the driver cannot listen on {executor.host!r}: {error}") from error
    port = server.sockets[0].getsockname()[1]
    invitation = Invitation(executor.host, port, token)
    placing = asyncio.create_task(fleet.placing(executor, invitation))
    try:
        yield fleet
    finally:
        server.close()
        await fleet.close()
        placing.cancel()
        with suppress(asyncio.CancelledError):
            await placing
