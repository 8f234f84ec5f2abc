"""The worker's side of a fleet: dial in, get the work, do what is asked until the driver goes.

python -m harness.fleet.worker    an invitation as JSON on standard input
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import harness
from harness.core import HarnessError, loops
from harness.fleet.channel import Channel, Gone, Methods
from harness.fleet.types import Invitation

DIAL_S = 30.0


Entry = Callable[[Channel, dict[str, Any], dict[str, Path]], AbstractAsyncContextManager[Methods]]
"""Makes a worker's methods, for as long as a block runs: `(channel, spec, trees)`."""


async def serve(invitation: Invitation, trees: dict[str, Path]) -> None:
    """Work for the driver until it closes the connection, or is gone."""
    try:
        async with asyncio.timeout(DIAL_S):
            reader, writer = await asyncio.open_connection(invitation.host, invitation.port)
    except OSError:
        return  # the driver is gone: nobody needs this worker
    writer.write(invitation.token.encode())
    channel = Channel(reader, writer)
    with suppress(Gone):
        try:
            work = await channel.ask("hello", {"version": harness.__version__})
            entry: Entry = resolve_name(work["entry"])
            async with entry(channel, work["spec"], trees) as methods:
                channel.methods = methods
                channel.tell("ready")
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
