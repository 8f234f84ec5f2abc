"""What the three wire formats have in common: turns, a whole reply, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

TurnRole = Literal["system", "user", "assistant", "tool"]
Body = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call of the model; `arguments` is the JSON text it wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Turn:
    """A message, whatever format it came in.

    Attributes:
        role: who speaks; `tool` is the result of a call.
        text: its text; what is no text stands as `[kind]`.
        reasoning: what a reasoning model shows of its thoughts.
        calls: of an assistant.
        call_id: of a tool result.
    """

    role: TurnRole
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """What stays the same when a client sends the turn again: no reasoning, no spacing."""
        calls = tuple((call.id, call.name) for call in self.calls)
        return (self.role, self.text.strip(), calls, self.call_id)


@dataclass(frozen=True)
class Tokens:
    """Tokens of one reply, as its server counted them; `cached` of the prompt's were cached."""

    prompt: int
    completion: int
    cached: int = 0


class Wire(Protocol):
    """One wire format."""

    @property
    def name(self) -> str:
        """`chat`, `responses` or `messages`."""
        ...

    @property
    def path(self) -> str:
        """Behind the base URL's `/v1`."""
        ...

    @property
    def listing(self) -> str:
        """The field that holds the conversation."""
        ...

    @property
    def limits(self) -> tuple[str, ...]:
        """Fields that bound the completion; the first is the one to set."""
        ...

    def turns(self, body: Body) -> list[Turn]:
        """The conversation of a request."""
        ...

    def reply(self, response: Body) -> Turn:
        """The assistant's turn of a whole response."""
        ...

    def tokens(self, response: Body) -> Tokens | None:
        """What a whole response says that it used."""
        ...

    def assemble(self, events: Sequence[Body]) -> Body:
        """The whole response that a stream's events make, also where the stream was cut."""
        ...


def joined(turns: Sequence[Turn]) -> list[Turn]:
    """The same turns with neighbouring pieces of one assistant turn put together."""
    joined_turns: list[Turn] = []
    for turn in turns:
        last = joined_turns[-1] if joined_turns else None
        if last is None or turn.role != "assistant" or last.role != "assistant":
            joined_turns.append(turn)
            continue
        joined_turns[-1] = Turn(
            "assistant",
            "\n\n".join(filter(None, (last.text, turn.text))),
            "\n\n".join(filter(None, (last.reasoning, turn.reasoning))),
            (*last.calls, *turn.calls),
        )
    return joined_turns
