"""The worker's side of a fleet: dial in, get the work, do what is asked until the driver goes.

python -m harness.fleet.worker    an invitation as JSON on standard input
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

import harness
from harness.core import HarnessError, loops
from harness.fleet.channel import Channel, Gone, Methods
from harness.fleet.types import Invitation

DIAL_S = 30.0


class Entry(Protocol):
    """Makes a worker's methods, for as long as a block runs."""

    def __call__(
        self, channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
    ) -> AbstractAsyncContextManager[Methods]: ...


async def serve(invitation: Invitation, trees: dict[str, Path]) -> None:
    """Work for the driver until it closes the connection, or is gone."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(DIAL_S):
            transport, channel = await loop.create_connection(
                Channel, invitation.host, invitation.port
            )
    except (OSError, TimeoutError):
        return  # the driver is gone: nobody needs this worker
    transport.write(invitation.token.encode())
    with suppress(Gone):
        try:
            work = await channel.ask("hello", {"version": harness.__version__})
            module, _, name = str(work["entry"]).partition(":")
            entry = cast("Entry", getattr(import_module(module), name))
            async with entry(channel, work["spec"], trees) as methods:
                channel.methods = methods
                channel.tell("ready", {"pid": os.getpid()})
                await channel.closed
        except HarnessError as error:
            channel.tell("unable", {"message": str(error)})
    channel.close()
    await channel.closed


def main() -> None:
    """Read the invitation and serve."""
    line = sys.stdin.readline()
    if not line:
        return  # the driver ended before it could invite
    invitation = json.loads(line)
    trees = {name: Path(root) for name, root in invitation.pop("trees").items()}
    loops.run(serve(Invitation(**invitation), trees))


if __name__ == "__main__":
    main()
