"""Hidden rounds put back where they were: the upstream sees its own conversation again.

The client never saw a call of our tool. When it sends the conversation again, the assistant's
turn is replaced by what the upstream said and was told, so that the prefix stays the same and the
model still has what it asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from harness.core import digest
from harness.record.wires import Body, Turn, Wire
from harness.trajectories.lenient import listing, mapping, string

KEPT = 10_000
"""Hidden rounds that are remembered."""


class Splices:
    """What belongs in the place of which turn; by all that was said before and the turn itself."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, list[Body]] = OrderedDict()
        self._kept_there: OrderedDict[str, tuple[str, list[Body]]] = OrderedDict()

    def remember(self, wire: Wire, request: Body, reply: Turn, items: list[Body]) -> None:
        """After a client's request `asked` it was shown `reply`; the upstream knows `items`."""
        places = [place for place, _ in _segments(wire, request)]
        self._known[_next(places[-1] if places else "", [reply])] = items
        if len(self._known) > KEPT:
            self._known.popitem(last=False)

    def owe(self, shown: str, real: str, items: list[Body]) -> None:
        """A response that the upstream keeps: the id that the client has of it, the real one of
        its last leg, and results that a request has to bring which goes on from it."""
        self._kept_there[shown] = (real, items)
        if len(self._kept_there) > KEPT:
            self._kept_there.popitem(last=False)

    def apply(self, wire: Wire, body: Body, sent: Body) -> Body:
        """`sent` with hidden rounds in their places; the same object if there are none.

        Args:
            wire: the format.
            body: the request as the client made it.
            sent: the same, item for item, with its outputs shortened.
        """
        real, owed = self._kept_there.get(string(body.get("previous_response_id")), ("", []))
        if real:
            sent = {**sent, "previous_response_id": real}
        items, remaining = list[Any](owed), listed_of(wire, sent)
        changed = bool(owed)
        for place, segment in _segments(wire, body):
            matched, remaining = remaining[: len(segment)], remaining[len(segment) :]
            hidden = self._known.get(place)
            changed = changed or hidden is not None
            items += matched if hidden is None else hidden
        if not changed:
            return sent
        return {**sent, wire.listing: _merged(items) if wire.name == "messages" else items}


def listed_of(wire: Wire, body: Body) -> list[Any]:
    """The conversation of a request as a list, also where it is one text."""
    items_sent = body.get(wire.listing)
    return (
        [{"role": "user", "content": items_sent}]
        if isinstance(items_sent, str)
        else listing(items_sent)
    )


def _segments(wire: Wire, body: Body) -> Iterator[tuple[str, list[Any]]]:
    """The listing in pieces, an assistant's turn in one; each with the digest of all up to it."""
    name, place = wire.listing, ""
    listed = listed_of(wire, body)
    run: list[Any] = []
    for item in [*listed, None]:
        joined = [*run, item]
        if item is not None and run and wire.name == "responses":
            turns = wire.turns({name: joined})
            if len(turns) <= 1 and turns == [turn for turn in turns if turn.role == "assistant"]:
                run = joined
                continue
        if run:
            place = _next(place, wire.turns({name: run}))
            yield place, run
        run = [] if item is None else [item]


def _next(place: str, turns: Sequence[Turn]) -> str:
    return digest([place, [list(turn.key) for turn in turns]])


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
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else listing(content)
