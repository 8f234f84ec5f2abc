"""What a model asks of those who keep its calls and its money: in this process, or in another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from harness.core import Usage
from harness.models.budget import Reservation, Spend
from harness.models.call_db import StoredCall
from harness.models.types import Reply, Role


class Calls(Protocol):
    """The record of calls and cache of requests."""

    async def once(self, call_id: str, answer: Callable[[], Awaitable[Reply]]) -> Reply:
        """What `answer` gives; askers of one request share it while it is under way."""
        ...

    async def find(self, call_id: str) -> StoredCall | None:
        """The stored answer to a request."""
        ...

    async def sent(
        self, call_id: str, role: Role, kind: str, body: dict[str, Any], worst: Spend
    ) -> int:
        """Record that a request is about to be sent; returns the number of the attempt."""
        ...

    async def done(self, attempt: int, response: dict[str, Any], usage: Usage) -> None:
        """Store the response to an attempt; returns once it is on the disk."""
        ...

    async def failed(self, attempt: int, error: str, *, lost: bool) -> None:
        """Record that an attempt brought no response; `lost` if the server may have done it."""
        ...


class Allowance(Protocol):
    """The budget that calls are charged to."""

    @property
    def bounds_tokens(self) -> bool:
        """Whether a call needs a bound on its completion tokens."""
        ...

    async def reserve(self, worst: Spend) -> Reservation:
        """Set `worst` aside.

        Raises:
            LimitReached: if what is spent leaves no room for it.
        """
        ...
