"""Runs, attempts, model calls and tool calls as they happen, for spans, metrics and the log.

Rooms say what they do with :func:`operation` and :func:`note`; nothing is done, and next to nothing
is spent, unless a watcher is there (:mod:`harness.core.telemetry` has them). What is within what
follows OpenTelemetry's context, so that spans of other libraries nest with ours. Metrics and the
log are watchers beside the spans and no span processors: they see what a sampler drops, and work
without OpenTelemetry's SDK.
"""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import PurePath
from types import TracebackType
from typing import Any, Literal, Self

Kind = Literal["run", "invoke_agent", "chat", "execute_tool"]
"""The last three as OpenTelemetry's conventions for generative AI name them."""

_CONTEXT_KEY = "harness-operation"
_numbers = count(1)
_log = logging.getLogger("harness.tracing")


class Block:
    """A block of work that nobody watches: what it says of itself goes nowhere."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def add(self, **attributes: Any) -> None:
        """Ids, counts and settings."""

    def say(self, **content: Any) -> None:
        """Receive the messages of a call."""


class Operation(Block):
    """A block of work that is watched.

    Attributes:
        kind: what it is.
        name: of the run, the agent, the model or the tool.
        attributes: ids, counts and settings; never what was said.
        parent: within what it happened.
        content: what was said; only watchers that were asked for it look.
        seconds: how long it took, once it has ended.
        error: what it ended with, if it failed.
        number: of it alone in this process.
        began_ns: when it began, nanoseconds since the epoch; None if that is when it is entered.
        ended_ns: the same of its end; where it is set within the block, so is `seconds`.
    """

    def __init__(
        self,
        kind: Kind,
        name: str,
        attributes: dict[str, Any],
        parent: Operation | None,
        began_ns: int | None = None,
    ) -> None:
        self.kind, self.name, self.attributes, self.parent = kind, name, attributes, parent
        self.content: dict[str, Any] = {}
        self.number, self.began_ns = next(_numbers), began_ns
        self.seconds = 0.0
        self.error: BaseException | None = None
        self.ended_ns: int | None = None

    def __enter__(self) -> Self:
        from opentelemetry import context

        self._token = context.attach(context.set_value(_CONTEXT_KEY, self))
        self._seats = tuple(_seats)
        self._started = time.monotonic()
        for seat in self._seats:
            seat.tell(lambda watcher: watcher.began(self))
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from opentelemetry import context

        if self.ended_ns is None:
            self.seconds = time.monotonic() - self._started
        self.error = error
        for seat in reversed(self._seats):
            seat.tell(lambda watcher: watcher.ended(self))
        context.detach(self._token)

    def add(self, **attributes: Any) -> None:
        """Add ids, counts and settings."""
        self.attributes.update(attributes)

    def say(self, **content: Any) -> None:
        """Keep what was said in it."""
        self.content.update(content)

    def within(self, kind: Kind) -> Operation | None:
        """The nearest operation of a kind around this one, itself included."""
        operation: Operation | None = self
        while operation is not None and operation.kind != kind:
            operation = operation.parent
        return operation

    @property
    def label(self) -> str:
        """The name without keys; of an agent that is a command, the program alone.

        A command line may hold paths and keys, and a name that differs for everyone groups nothing.
        """
        from harness.core.redaction import redact

        kind, colon, command = self.name.partition(":")
        if self.kind != "invoke_agent" or kind != "cmd" or not colon:
            return redact(self.name)
        try:
            program = next(iter(shlex.split(command)), "")
        except ValueError:  # an open quote
            program = ""
        return f"cmd:{PurePath(program).name}"


class Watcher:
    """Is called with every operation, in the task that it happens in; once it fails, no more.

    Attributes:
        content: whether it looks at what was said.
    """

    content = False

    def began(self, operation: Operation) -> None:
        """An operation begins."""

    def ended(self, operation: Operation) -> None:
        """It ended; `seconds` and `error` are set."""

    def noted(self, name: str, operation: Operation | None, attributes: dict[str, Any]) -> None:
        """An event at one point of time within an operation."""


class _Seat:
    """A watcher, and whether it has failed: a run is worth more than what watches it."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher, self._failed = watcher, False

    def tell(self, say: Callable[[Watcher], None]) -> None:
        if self._failed:
            return
        try:
            say(self.watcher)
        except Exception as error:  # noqa: BLE001  # whatever fails in it
            self._failed = True
            if self in _seats:
                _seats.remove(self)
            name = type(self.watcher).__name__
            _log.warning("%s failed and watches no more: %s: %s", name, type(error).__name__, error)


_seats: list[_Seat] = []
_UNWATCHED = Block()


def watched() -> bool:
    """Return True if anybody watches: facts that cost something to find can be left out if not."""
    return bool(_seats)


def content_wanted() -> bool:
    """Return True if anybody looks at the messages."""
    return any(seat.watcher.content for seat in _seats)


def current() -> Operation | None:
    """The operation under way; None if there is none, or nobody watched when it began."""
    from opentelemetry import context

    operation = context.get_value(_CONTEXT_KEY)
    return operation if isinstance(operation, Operation) else None


def operation(kind: Kind, name: str, **attributes: Any) -> Block:
    """An operation that lasts as long as the block."""
    return Operation(kind, name, attributes, current()) if _seats else _UNWATCHED


def note(name: str, **attributes: Any) -> None:
    """An event within the operation under way."""
    for seat in tuple(_seats):
        seat.tell(lambda watcher: watcher.noted(name, current(), attributes))


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Call `watcher` with everything that begins in this process until the block ends."""
    seat = _Seat(watcher)
    _seats.append(seat)
    try:
        yield
    finally:
        if seat in _seats:
            _seats.remove(seat)
