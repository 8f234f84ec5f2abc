"""What goes on, for whoever watches: runs, attempts, model calls and tool calls as they happen.

Rooms say what they do with :func:`operation` and :func:`note`; nothing is done, and next to nothing
is spent, unless a watcher is there (:mod:`harness.core.telemetry` has them).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Literal, Protocol

Kind = Literal["run", "invoke_agent", "chat", "execute_tool"]
"""The last three as OpenTelemetry's conventions for generative AI name them."""

_numbers = count(1)


@dataclass(eq=False)
class Operation:
    """Something that begins and ends.

    Attributes:
        kind: what it is.
        name: of the run, the agent, the model or the tool.
        facts: ids, counts and settings; never what was said.
        content: what was said; only watchers that were asked for it look.
        parent: within what it happened.
        seconds: how long it took, once it has ended.
        error: what it ended with, if it failed.
        number: of it alone in this process.
        began_ns: when it began, nanoseconds since the epoch; None if that is when it is told.
        ended_ns: the same of its end.
    """

    kind: Kind
    name: str
    facts: dict[str, Any]
    parent: Operation | None
    content: dict[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0
    error: BaseException | None = None
    number: int = field(default_factory=_numbers.__next__)
    began_ns: int | None = None
    ended_ns: int | None = None

    def add(self, **facts: Any) -> None:
        """Say more about it."""
        self.facts.update(facts)

    def say(self, **content: Any) -> None:
        """Keep what was said in it."""
        self.content.update(content)

    def within(self, kind: Kind) -> Operation | None:
        """The nearest operation of a kind around this one, itself included."""
        found: Operation | None = self
        while found is not None and found.kind != kind:
            found = found.parent
        return found


class Told(Protocol):
    """What a block of work may say of itself."""

    def add(self, **facts: Any) -> None:
        """Ids, counts and settings."""
        ...

    def say(self, **content: Any) -> None:
        """What was said."""
        ...


class Watcher(Protocol):
    """Is told of operations, in the task that they happen in; once it fails, no more.

    Attributes:
        content: whether it looks at what was said.
    """

    @property
    def content(self) -> bool: ...

    def began(self, operation: Operation) -> None:
        """An operation begins."""
        ...

    def ended(self, operation: Operation) -> None:
        """It ended; `seconds` and `error` are set."""
        ...

    def noted(self, name: str, operation: Operation | None, facts: dict[str, Any]) -> None:
        """Something happened at one point of time within an operation."""
        ...


_log = logging.getLogger("harness.signals")


@dataclass(eq=False)
class _Seat:
    """A watcher, and whether it has failed."""

    watcher: Watcher
    failed: bool = False

    def tell(self, say: Callable[[Watcher], None]) -> None:
        """Nothing more once it has failed: a run is worth more than what watches it."""
        if self.failed:
            return
        try:
            say(self.watcher)
        except Exception as error:  # noqa: BLE001  # whatever fails in it
            self.failed = True
            if self in _seats:
                _seats.remove(self)
            name = type(self.watcher).__name__
            _log.warning("%s failed and watches no more: %s: %s", name, type(error).__name__, error)


_seats: list[_Seat] = []
_current: ContextVar[Operation | None] = ContextVar("operation", default=None)


class _Unwatched:
    """Stands for every operation while nobody watches."""

    def __enter__(self) -> _Unwatched:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add(self, **_: Any) -> None:
        pass

    def say(self, **_: Any) -> None:
        pass


class _Watched:
    """An operation as a block."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def __enter__(self) -> Operation:
        self._token = _current.set(self._operation)
        self._watching = tuple(_seats)
        self._started = time.monotonic()
        for seat in self._watching:
            seat.tell(lambda watcher: watcher.began(self._operation))
        return self._operation

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if self._operation.ended_ns is None:
            self._operation.seconds = time.monotonic() - self._started
        self._operation.error = error
        for seat in reversed(self._watching):
            seat.tell(lambda watcher: watcher.ended(self._operation))
        _current.reset(self._token)


_UNWATCHED = _Unwatched()


def watched() -> bool:
    """Whether anybody watches: facts that cost something to find can be left out if not."""
    return bool(_seats)


def content_wanted() -> bool:
    """Whether anybody looks at what was said."""
    return any(seat.watcher.content for seat in _seats)


def current() -> Operation | None:
    """The operation under way; None if there is none, or nobody watched when it began."""
    return _current.get()


def operation(kind: Kind, name: str, **facts: Any) -> AbstractContextManager[Told]:
    """An operation that lasts as long as the block."""
    if not _seats:
        return _UNWATCHED
    return _Watched(Operation(kind, name, facts, _current.get()))


def retold(operation: Operation) -> AbstractContextManager[Operation]:
    """An operation of another process as a block, for those who watch this one.

    Where `ended_ns` is set within the block, `seconds` stays as it is set there, too.
    """
    return _Watched(operation)


def note(name: str, **facts: Any) -> None:
    """Something happened within the operation under way."""
    for seat in tuple(_seats):
        seat.tell(lambda watcher: watcher.noted(name, _current.get(), facts))


@contextmanager
def watching(watcher: Watcher) -> Generator[None]:
    """Tell `watcher` of everything that begins in this process until the block ends."""
    seat = _Seat(watcher)
    _seats.append(seat)
    try:
        yield
    finally:
        if seat in _seats:
            _seats.remove(seat)
