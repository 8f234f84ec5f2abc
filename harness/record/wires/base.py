"""Shared parts of the wire formats: counts, and several answers seen as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.core import count, listing, mapping
from harness.trajectories.messages import Turn

Body = dict[str, Any]


@dataclass(frozen=True)
class Tokens:
    """Tokens of one reply, as its server counted them; `cached` of the prompt's were cached."""

    prompt: int
    completion: int
    cached: int = 0


def turn_key(turn: Turn) -> tuple[Any, ...]:
    """Return the parts that stay when a client sends a turn again: no reasoning, no spacing."""
    calls = tuple((call.id, call.name) for call in turn.calls)
    return (turn.role, turn.text.strip(), calls, turn.call_id)


class Reading:
    """Reading that formats share.

    Attributes:
        listing: the field of a request that holds the conversation.
    """

    listing = "messages"

    def listed(self, body: Body) -> list[Any]:
        """The conversation of a request as a list, also where it is one text."""
        sent: Any = body.get(self.listing)
        return [{"role": "user", "content": sent}] if isinstance(sent, str) else listing(sent)


class Rounds(ABC):
    """The legs of one exchange, in which the model called our tool, seen as one answer. Use once.

    :meth:`feed` takes the events of every leg; then :meth:`close` says that the leg is the last, or
    :meth:`go_on` that another follows. A whole answer is fed as the events that its format makes of
    it.

    Args:
        tool: name of our tool.

    Attributes:
        leg: number of the leg, from 1.
    """

    ends: tuple[str, ...] = ()
    """What ends a stream, in order: held back until the last leg."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.leg = 1
        self._end: dict[str, Any] = {}
        self._used: dict[str, int] = {}
        self._places: dict[int, int | None] = {}
        self._shown = 0

    @abstractmethod
    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event: what the client gets of it now."""

    @abstractmethod
    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """Return an answer and the results of our tool's calls as the next request has them."""

    def close(self) -> list[Body | bytes]:
        """The stream's last events, held back until now, with the tokens of all legs."""
        return [self._end[name] for name in self.ends if name in self._end]

    def go_on(self) -> None:
        """Another leg follows; it counts its calls and blocks from 0 again."""
        self.leg += 1
        self._places, self._end = {}, {}

    def _place(self, index: int, hidden: bool) -> int | None:
        """The number that the client sees for a call or block of this leg; None for one of ours."""
        if index not in self._places:
            self._places[index] = None if hidden else self._shown
            self._shown += not hidden
        return self._places[index]

    def _count(self, usage: Any) -> Body:
        """Add the tokens of a leg; the sums, in the form of the last leg's usage."""
        last = mapping(usage)
        for name, value in last.items():
            if isinstance(value, int):
                self._used[name] = self._used.get(name, 0) + count(value)
        return {**last, **{name: self._used[name] for name in self._used if name in last}}
