"""Which exchanges belong together: a request that begins as an earlier one did goes on with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.record.exchange import Exchange, json_of
from harness.record.sse import is_stream, objects
from harness.record.wires import Body, Turn, Wire, wire_of
from harness.trajectories.lenient import mapping, string


@dataclass(frozen=True)
class Spoken:
    """An exchange as conversation.

    Attributes:
        turns: of the request.
        reply: of the model; None where none came.
        answer: the whole response.
    """

    exchange: Exchange
    wire: Wire
    turns: list[Turn]
    reply: Turn | None
    answer: Body


@dataclass
class Conversation:
    """One session of an agent, as its requests show it.

    Attributes:
        moves: turns in order; those that the model answered here come with their exchange.
        spoken: its exchanges in order.
    """

    moves: list[tuple[Turn, Spoken | None]] = field(
        default_factory=list[tuple[Turn, "Spoken | None"]]
    )
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    asked: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    ids: set[str] = field(default_factory=set[str])

    def fits(self, turn: Spoken) -> int:
        """How well a request goes on with this conversation: 0 if not, else higher is better."""
        earlier = _earlier(turn)
        if earlier:
            return 1 if earlier in self.ids else 0
        keys = [turn.key for turn in turn.turns]
        length = len(self.asked)
        last = self.spoken[-1].reply
        if keys[:length] != self.asked or (len(keys) == length and last is not None):
            return 0
        agrees = last is not None and len(keys) > length and keys[length] == last.key
        return 2 * length + agrees + 1

    def take(self, turn: Spoken) -> None:
        """Go on with an exchange."""
        fresh = turn.turns if _earlier(turn) else turn.turns[len(self.asked) :]
        answered = bool(self.spoken) and self.spoken[-1].reply is not None
        if answered and fresh and fresh[0].role == "assistant":
            fresh = fresh[1:]  # the reply that is here already, as the client gave it back
        self.moves += [(turn, None) for turn in fresh]
        if turn.reply is not None:
            self.moves.append((turn.reply, turn))
        self.spoken.append(turn)
        if not _earlier(turn):
            self.asked = [turn.key for turn in turn.turns]
        self.ids.add(string(turn.answer.get("id")))


def conversations(exchanges: Iterable[Exchange]) -> list[Conversation]:
    """The conversations of a session, in the order in which they began."""
    conversations_so_far: list[Conversation] = []
    for exchange in exchanges:
        turn = speak(exchange)
        if turn is None:
            continue
        fits = [conversation.fits(turn) for conversation in conversations_so_far]
        best = max(fits, default=0)
        if not best:
            conversations_so_far.append(Conversation())
        chosen = conversations_so_far[fits.index(best)] if best else conversations_so_far[-1]
        chosen.take(turn)
    return conversations_so_far


def speak(exchange: Exchange) -> Spoken | None:
    """An exchange of a known format; None for another one."""
    wire = wire_of(exchange.asked.method, exchange.asked.path)
    body = mapping(exchange.asked.body)
    if wire is None or not body:
        return None
    answer: Body = {}
    if exchange.status is not None and exchange.status < 400:
        if is_stream(exchange.headers.get("content-type", "")):
            answer = wire.assemble(objects(exchange.data))
        else:
            answer = mapping(json_of(b"".join(exchange.data)))
    reply = wire.reply(answer) if answer else None
    if reply is not None and not (reply.text or reply.reasoning or reply.calls):
        reply = None if exchange.outcome != "complete" else reply
    return Spoken(exchange, wire, wire.turns(body), reply, answer)


def _earlier(turn: Spoken) -> str:
    """The response that a request names as the one it goes on from."""
    return string(mapping(turn.exchange.asked.body).get("previous_response_id"))
