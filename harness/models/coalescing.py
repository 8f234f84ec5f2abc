"""Askers of one request share its answer while it is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from harness.models.types import Reply

Flights = dict[str, "asyncio.Future[Reply]"]
"""Digest of a request -> its reply to come."""


async def coalesced(
    flights: Flights, call_id: str, answer: Callable[[], Awaitable[Reply]]
) -> Reply:
    """Identical requests under way at one time are sent once.

    Args:
        flights: what is under way in the running event loop.
        call_id: digest of the request.
        answer: sends it, and is called by the first who asks.
    """
    while (pending := flights.get(call_id)) is not None:
        try:
            reply = await asyncio.shield(pending)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not pending.cancelled() or (task is not None and task.cancelling()):
                raise  # we are cancelled ourselves; otherwise the first asker alone was
        else:
            return reply.model_copy(update={"cached": True})
    flight: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    flights[call_id] = flight
    try:
        reply = await answer()
        flight.set_result(reply)
        return reply
    except Exception as error:
        flight.set_exception(error)
        flight.exception()  # it counts as seen, whether or not anyone else waits
        raise
    finally:
        flight.cancel()  # does nothing once there is a result
        del flights[call_id]
