"""The three formats, and which one a request is in."""

from __future__ import annotations

from harness.record.wires.chat import Chat
from harness.record.wires.messages import Messages
from harness.record.wires.responses import Responses

Wire = Chat | Messages | Responses

CHAT = Chat()
MESSAGES = Messages()
RESPONSES = Responses()


def wire_of(method: str, path: str) -> Wire | None:
    """The format of a request, None for one that is passed through without looking into it."""
    tail = path.rstrip("/")
    if method != "POST":
        return None
    if tail.endswith(CHAT.path):  # servers have it below other paths too
        return CHAT
    return {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES}.get(tail)
