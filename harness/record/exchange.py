"""A request and what came back, as they lie on disk: without keys, and good for a replay."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.core import digest
from harness.core.redaction import Redactor
from harness.trajectories.lenient import mapping

Outcome = Literal["complete", "cut", "left", "unreachable"]
"""How an exchange ended: whole; cut by the upstream; left by the client; never answered."""
Event = dict[str, Any]

KEPT_HEADERS = ("content-type", "anthropic-version", "anthropic-beta", "openai-beta")
"""Request headers that are recorded. No other one: keys lie in headers."""


@dataclass(frozen=True)
class Asked:
    """A request as it is recorded.

    Attributes:
        method: such as `POST`.
        path: behind the base URL's host, such as `/v1/messages`.
        query: the part behind the question mark.
        headers: those of :data:`KEPT_HEADERS`.
        body: JSON where it is JSON, else `{"text"}` or `{"base64"}`; None if it is empty.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any

    @property
    def digest(self) -> str:
        """What finds the request again: method, path, query and body, never the headers."""
        return digest([self.method, self.path, self.query, self.body])


def read_request(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    content: bytes,
    secrets: Redactor,
) -> Asked:
    """A request without its keys."""
    kept_headers = {name: headers[name] for name in KEPT_HEADERS if name in headers}
    body = secrets.clean(json_of(content))
    if body is None and content:
        body = pack(content, secrets)
    return Asked(method, path, secrets.text(query), secrets.clean(kept_headers), body)


def json_of(content: bytes) -> Any:
    """JSON of a body; None if it is none, or holds numbers that JSON lacks."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def pack(content: bytes, secrets: Redactor) -> dict[str, str]:
    """Bytes as a JSON value: text without keys, or base64 of what is no text."""
    try:
        return {"text": secrets.text(content.decode())}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def unpack(value: Mapping[str, str]) -> bytes:
    """What :func:`pack` packed."""
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return value.get("text", "").encode()


@dataclass
class Exchange:
    """A recorded exchange.

    Attributes:
        number: in its recording, from 1.
        session: of the command that asked.
        time: seconds since the epoch, when it was asked.
        asked: the request.
        status: of the response; None if none came.
        headers: of the response that matter to a client.
        data: the response: events of a stream one by one, else one piece.
        outcome: how it ended; None if the recorder was killed before.
        facts: what else was recorded at the end (error, tokens, seconds, compression).
    """

    number: int
    session: str
    time: float
    asked: Asked
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    data: list[bytes] = field(default_factory=list[bytes])
    outcome: Outcome | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def good(self) -> bool:
        """Whether the answer is whole and no error."""
        return self.outcome == "complete" and self.status is not None and self.status < 400


def gather(events: Iterable[Event]) -> list[Exchange]:
    """The exchanges that a recording's events tell of, in the order they were asked."""
    by_number: dict[int, Exchange] = {}
    for event in events:
        kind = event.get("event")
        if kind == "request":
            request = Asked(**{name: event[name] for name in Asked.__annotations__})
            number = event["exchange"]
            by_number[number] = Exchange(number, event["session"], event["time"], request)
            continue
        exchange = by_number.get(event.get("exchange", 0))
        if exchange is None:
            continue
        if kind == "reply":
            exchange.status, exchange.headers = event["status"], mapping(event["headers"])
        elif kind == "data":
            exchange.data.append(unpack(event["data"]))
        elif kind == "end":
            exchange.outcome, exchange.facts = event["outcome"], mapping(event["facts"])
    return list(by_number.values())
