"""Server-sent events: a stream of bytes in pieces, cut where an event ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from harness.core import mapping

_LINE = re.compile(rb"\r\n|\n|\r")
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class Splitter:
    """Takes bytes as they come and gives whole events, their blank line included.

    Attributes:
        rest: what has come of the next event.
    """

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The events that are whole now."""
        self.rest += data
        events: list[bytes] = []
        while end := _END.search(self.rest):
            events.append(self.rest[: end.end()])
            self.rest = self.rest[end.end() :]
        return events


def data_of(event: bytes) -> dict[str, Any]:
    """The JSON object of an event; empty for another one (a comment, `[DONE]`)."""
    lines = _LINE.split(event)  # text has further line ends, which are content here
    pieces = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    try:
        return mapping(json.loads(b"\n".join(pieces).decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return {}


def objects(events: Iterable[bytes]) -> list[dict[str, Any]]:
    """The JSON objects of all events that hold one."""
    return [data for event in events if (data := data_of(event))]


def is_stream(content_type: str) -> bool:
    """Return True if a response is a stream of events."""
    return content_type.partition(";")[0].strip().lower() == "text/event-stream"
