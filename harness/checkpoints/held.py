"""Values that a session held in memory beside its store, as a reader of the file finds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

HELD = "held"
"""The kind of what stands for such a value: a token, its type, whether the session has a copy, and
what could be stored of it."""


class Held(NamedTuple):
    """A value that is not stored as it is.

    Attributes:
        type: name of its type.
        copied: whether the session has a copy of it; otherwise it has the object itself.
        in_session: whether this session holds it: another process does not.
        stored: what is stored of it, as kind and bytes; None for nothing.
    """

    type: str
    copied: bool
    in_session: bool
    stored: tuple[str, bytes] | None

    @property
    def blocks(self) -> bool:
        """True where no run can begin at a state that has it."""
        return not (self.copied if self.in_session else self.stored)


class Lost:
    """A stand-in for a value that another process held in memory."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}, held in memory by a session that has ended>"


class StoreSerializer(JsonPlusSerializer):
    """LangGraph's, which also reads what a session could not store as it was."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value, or what could be stored of it."""
        if data[0] != HELD:
            return super().loads_typed(data)
        held = self.peek(data)
        return Lost(held.type) if held.stored is None else super().loads_typed(held.stored)

    def peek(self, data: tuple[str, bytes]) -> Held:
        """A description of a held value."""
        _, kind, copied, stored = ormsgpack.unpackb(data[1])
        return Held(kind, copied, in_session=False, stored=stored and (stored[0], stored[1]))
