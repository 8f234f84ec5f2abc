"""Requests and what came back, as they lie on disk: without keys, and good for a replay.

Events are appended as they come, each batch in a frame that is synced: a kill loses at most what
arrived during the last sync, and a torn last frame is dropped on opening.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from harness.core import BadInput, decoding, digest, mapping, parse_json
from harness.core.redaction import Redactor
from harness.core.segments import SegmentWriter, only_writer, read_segment

Outcome = Literal["complete", "cut", "left", "unreachable"]
"""How an exchange ended: whole; cut by the upstream; left by the client; never answered."""
Event = dict[str, Any]

FILE = "exchanges.seg"
KEPT_HEADERS = ("content-type", "anthropic-version", "anthropic-beta", "openai-beta")
"""Request headers that are recorded. No other one: keys lie in headers."""


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it is recorded.

    Attributes:
        method: such as `POST`.
        path: behind the base URL's host, such as `/v1/messages`, without keys.
        query: the part behind the question mark, without keys.
        headers: those of :data:`KEPT_HEADERS`.
        body: JSON where it is JSON, else `{"text"}` or `{"base64"}`, or `{"sha256"}` of what is
            compressed, because nobody can see whether a key is in it; None if it is empty.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any

    @property
    def digest(self) -> str:
        """Digest to find the request again: method, path, query and body, never the headers."""
        return digest([self.method, self.path, self.query, self.body])


def read_request(
    method: str,
    path: str,
    query: str,
    headers: Mapping[str, str],
    content: bytes,
    secrets: Redactor,
) -> RecordedRequest:
    """A request without its keys, for the record; the request itself is sent as it came."""
    recorded_headers = {name: headers[name] for name in KEPT_HEADERS if name in headers}
    query = secrets.query(query)  # first: its keys may stand in the others
    body = secrets.clean(json_of(content))
    if body is None and content:
        compressed = headers.get("content-encoding", "identity").lower() != "identity"
        body = {"sha256": sha256(content).hexdigest()} if compressed else pack(content, secrets)
    return RecordedRequest(method, secrets.text(path), query, secrets.clean(recorded_headers), body)


def json_of(content: bytes) -> Any:
    """JSON of a body; None if it is none, or holds numbers that JSON lacks."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        return parse_json(text, refuse)
    except (ValueError, RecursionError):
        return None


def pack(content: bytes, secrets: Redactor) -> dict[str, str]:
    """Bytes as a JSON value: text without keys, or base64 of what is no text."""
    try:
        return {"text": secrets.text(content.decode())}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(secrets.content(content)).decode()}


@dataclass
class Exchange:
    """A recorded exchange.

    Attributes:
        number: in its recording, from 1.
        session: of the command that asked.
        time: seconds since the epoch, when it was asked.
        request: that was sent.
        status: of the response; None if none came.
        headers: of the response that matter to a client.
        data: the response: events of a stream one by one, else one piece.
        outcome: how it ended; None if the recorder was killed before.
        facts: what else was recorded at the end (error, tokens, seconds, compression).
    """

    number: int
    session: str
    time: float
    request: RecordedRequest
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    data: list[bytes] = field(default_factory=list[bytes])
    outcome: Outcome | None = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def good(self) -> bool:
        """True if the answer is whole and no error."""
        return self.outcome == "complete" and self.status is not None and self.status < 400


def gather(events: Iterable[Event]) -> list[Exchange]:
    """The exchanges that a recording's events tell of, in the order they were asked.

    Raises:
        BadInput: if an event is not as we write it.
    """
    by_number: dict[int, Exchange] = {}
    with decoding("a recording"):
        for event in events:
            _take(event, by_number)
    return list(by_number.values())


def _take(event: Event, by_number: dict[int, Exchange]) -> None:
    kind, number = event.get("event"), int(event.get("exchange", 0))
    if kind == "request":
        method, path, query = (str(event[name]) for name in ("method", "path", "query"))
        request = RecordedRequest(method, path, query, _texts(event["headers"]), event["body"])
        session, when = str(event["session"]), float(event["time"])
        datetime.fromtimestamp(when, UTC)  # a time that there is
        by_number[number] = Exchange(number, session, when, request)
    exchange = by_number.get(number)
    if exchange is None:
        return
    if kind == "reply":
        exchange.status, exchange.headers = int(event["status"]), _texts(event["headers"])
    elif kind == "data":
        packed = event["data"]
        binary = "base64" in packed
        data = base64.b64decode(packed["base64"]) if binary else packed["text"].encode()
        exchange.data.append(data)
    elif kind == "end":
        exchange.outcome, exchange.facts = event["outcome"], mapping(event["facts"])


def _texts(value: Any) -> dict[str, str]:
    return {name: str(text) for name, text in mapping(value).items()}


class LogWriter:
    """The one writer of a recording. Close it.

    Events are written by one thread; those that wait while it syncs go into its next frame, so
    that a stream of many small events costs few syncs and never waits for the disk.

    Args:
        folder: of the recording; made if absent.

    Raises:
        BadInput: if another process records into the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._guard = only_writer(folder)
        try:
            self._segment = SegmentWriter(folder / FILE)
        except BaseException:
            self._guard.close()
            raise
        self._waiting: deque[tuple[Event, Future[None]]] = deque()
        self._thread = ThreadPoolExecutor(1, "recording")

    @property
    def dropped_bytes(self) -> int:
        """Bytes of a torn frame that a kill had left."""
        return self._segment.dropped_bytes

    def add(self, event: Event) -> Future[None]:
        """Append an event; the future is done when it is on the disk.

        The future raises BadInput if the disk is full.
        """
        future: Future[None] = Future()
        self._waiting.append((event, future))
        self._thread.submit(self._write)
        return future

    async def put(self, event: Event) -> None:
        """Append an event, and return when it and all before it are on the disk."""
        await asyncio.wrap_future(self.add(event))

    def close(self) -> None:
        """Write what waits, and let another process record."""
        self._thread.shutdown()
        self._segment.close()
        self._guard.close()

    def _write(self) -> None:
        """Write all that waits; what came meanwhile leaves the next calls little to do."""
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not batch:
            return
        problem: Exception | None = None
        try:
            self._segment.append([event for event, _ in batch])
        except Exception as error:  # noqa: BLE001  # handed to those who wait for it
            problem = error
        for _, future in batch:
            # What happened is written also where nobody waits for it any more.
            if not future.set_running_or_notify_cancel():
                continue
            if problem is None:
                future.set_result(None)
            else:
                future.set_exception(problem)


def read_log(folder: Path) -> Iterator[Event]:
    """The events of a recording, in order; a torn end is passed over.

    Raises:
        BadInput: if there is no recording, or it is damaged in the middle.
    """
    path = folder / FILE
    if not path.is_file():
        raise BadInput(
            f"expected a recording (a folder with {FILE}), found none at {str(folder)!r}"
        )
    for batch in read_segment(path):
        yield from cast("list[Event]", batch)
