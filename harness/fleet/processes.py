"""Workers as processes of this machine."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from harness.core import Unreachable
from harness.fleet.types import Arrivals, Executor, Invitation, Work

HOST = "127.0.0.1"
GOING_S = 5.0
"""Seconds that a worker has to go home by itself."""
VAIN = 5
"""So many workers in a row that end before any has become ready; then no other is started.

Those that became ready do not count: what kills them is a part of the job, which the driver gives
up by itself.
"""


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """So many worker processes on this machine, which read the driver's files where they lie."""

    workers: int
    host: str = HOST
    shares_disk: bool = True

    async def place(self, work: Work, invitation: Invitation, arrivals: Arrivals) -> None:
        """Keep the workers running until it is cancelled; then they end."""
        trees = {name: str(tree.root.absolute()) for name, tree in work.trees.items()}
        line = json.dumps({**asdict(invitation), "trees": trees}) + "\n"
        keepers = [asyncio.create_task(_kept(line.encode(), arrivals)) for _ in range(self.workers)]
        await ended(keepers)


async def ended(keepers: Sequence[asyncio.Task[None]]) -> None:
    """Wait until a keeper fails, then cancel the others; or cancel all when this is cancelled.

    Each is cancelled once: a second time would interrupt it while it sends its worker home.
    """
    try:
        done, _ = await asyncio.wait(keepers, return_when=asyncio.FIRST_EXCEPTION)
        for keeper in done:
            keeper.result()
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.wait(keepers)


async def _kept(line: bytes, arrivals: Arrivals) -> None:
    """Start a worker, and another in its place whenever it dies.

    Raises:
        Unreachable: if workers end before they have become ready, again and again.
    """
    vain = 0
    while vain < VAIN:
        before = arrivals()
        starting = asyncio.ensure_future(_started())
        try:
            worker = await asyncio.shield(starting)
            assert worker.stdin is not None
            with suppress(ConnectionError):
                worker.stdin.write(line)
                worker.stdin.close()
            await worker.wait()
        finally:
            await _gone(await starting)  # cancelling its start would leave it behind
        vain = 0 if arrivals() > before else vain + 1
    raise Unreachable(f"{VAIN} workers in a row ended before they could begin")


async def _started() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness.fleet.worker",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is the driver's: it sends them home
    )  # fmt: skip


async def _gone(worker: asyncio.subprocess.Process) -> None:
    if worker.stdin is not None:
        worker.stdin.close()
    try:
        async with asyncio.timeout(GOING_S):
            await worker.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            worker.kill()
        await worker.wait()
