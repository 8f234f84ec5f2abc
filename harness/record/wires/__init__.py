"""The wire formats that agents speak: chat completions, responses, messages."""

from __future__ import annotations

from harness.record.wires.chat import Chat
from harness.record.wires.messages import Messages
from harness.record.wires.responses import Responses
from harness.record.wires.types import Body, Call, Tokens, Turn, Wire

__all__ = ["WIRES", "Body", "Call", "Tokens", "Turn", "Wire", "wire_of"]

CHAT = Chat()
WIRES: tuple[Wire, ...] = (CHAT, Responses(), Messages())


def wire_of(method: str, path: str) -> Wire | None:
    """The format of a request, None for one that is passed through without looking into it."""
    tail = path.rstrip("/")
    if method != "POST":
        return None
    if tail.endswith(CHAT.path):  # servers have it below other paths too
        return CHAT
    return next((wire for wire in WIRES if tail == f"/v1{wire.path}"), None)
