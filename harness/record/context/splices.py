"""Hidden rounds put back where they were: the upstream sees its own conversation again.

The client never saw a call of our tool. When it sends the conversation again, the assistant's
turn is replaced by what the upstream said and was told, so that the prefix stays the same and the
model still has what it asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from harness.core import digest, listing, mapping, string
from harness.record.wires import Body, Wire, turn_key
from harness.trajectories.messages import Turn

KEPT = 10_000
"""Hidden rounds that are remembered."""


class Splices:
    """Insertions in place of turns, by all that was said before and the turn itself."""

    def __init__(self) -> None:
        self._hidden: OrderedDict[str, list[Body]] = OrderedDict()
        self._kept_upstream: OrderedDict[str, tuple[str, list[Body]]] = OrderedDict()

    def remember(self, wire: Wire, request: Body, reply: Turn, items: list[Body]) -> None:
        """After a client's `request` it was shown `reply`; the upstream knows `items`."""
        prefixes = [prefix for prefix, _ in _segments(wire, request)]
        self._hidden[_next(prefixes[-1] if prefixes else "", [reply])] = items
        if len(self._hidden) > KEPT:
            self._hidden.popitem(last=False)

    def owe(self, client_id: str, real: str, items: list[Body]) -> None:
        """A response that the upstream keeps: the id that the client has of it, the real one of
        its last leg, and results that a request has to bring which goes on from it."""
        self._kept_upstream[client_id] = (real, items)
        if len(self._kept_upstream) > KEPT:
            self._kept_upstream.popitem(last=False)

    def apply(self, wire: Wire, body: Body, items: list[Any]) -> Body:
        """The request with hidden rounds in their places.

        Args:
            wire: the format.
            body: the request as the client made it.
            items: its conversation, item for item, with its outputs shortened.
        """
        real, owed = self._kept_upstream.get(string(body.get("previous_response_id")), ("", []))
        sent = {**body, "previous_response_id": real} if real else body
        spliced, remaining, hides = list[Any](owed), items, bool(owed)
        for prefix, segment in _segments(wire, body):
            matched, remaining = remaining[: len(segment)], remaining[len(segment) :]
            spliced += self._hidden.get(prefix, matched)
            hides = hides or prefix in self._hidden
        if hides and wire.name == "messages":
            spliced = _merged(spliced)
        return sent if spliced == wire.listed(body) else {**sent, wire.listing: spliced}


def _segments(wire: Wire, body: Body) -> Iterator[tuple[str, list[Any]]]:
    """The listing in pieces, an assistant's turn in one; each with the digest of all up to it."""
    name, prefix = wire.listing, ""
    run: list[Any] = []
    for item in [*wire.listed(body), None]:
        joined = [*run, item]
        if item is not None and run and wire.name == "responses":
            turns = wire.turns({name: joined})
            if not turns or [turn.role for turn in turns] == ["assistant"]:
                run = joined
                continue
        if run:
            prefix = _next(prefix, wire.turns({name: run}))
            yield prefix, run
        run = [] if item is None else [item]


def _next(prefix: str, turns: Sequence[Turn]) -> str:
    return digest([prefix, [list(turn_key(turn)) for turn in turns]])


def _merged(items: Sequence[Any]) -> list[Any]:
    """Messages, those of one role in a row put together: results must follow their calls."""
    merged: list[Any] = []
    for item in items:
        last, message = mapping(merged[-1]) if merged else {}, mapping(item)
        if last.get("role") != "user" or message.get("role") != "user":
            merged.append(item)
            continue
        merged[-1] = {**last, "content": [*_blocks(last), *_blocks(message)]}
    return merged


def _blocks(message: Body) -> list[Any]:
    content: Any = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)
