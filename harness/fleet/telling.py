"""What a worker does, told to its driver; :mod:`harness.fleet.retelling` tells those who watch it.

Model calls and tool calls are told as they begin and end, and what is noted or warned of in
between. Attempts are not: the driver, which hands them out, has operations of its own for them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel

from harness.core import tracing
from harness.core.tracing import Operation, Watcher
from harness.fleet.channel import Channel

_KINDS = ("chat", "execute_tool")
_PART: ContextVar[int | None] = ContextVar("part of the job", default=None)


@contextmanager
def part(number: int | None) -> Generator[None]:
    """What is done in the block is of the part of the job that has this number at the driver."""
    token = _PART.set(number)
    try:
        yield
    finally:
        _PART.reset(token)


def place() -> dict[str, int | None] | None:
    """Where the caller is: in which part of the job, and within which operation of this process.

    None if nobody watches.
    """
    return _place(tracing.current()) if tracing.watched() else None


def _place(operation: Operation | None) -> dict[str, int | None]:
    return {"part": _PART.get(), "within": None if operation is None else operation.number}


class Teller(Watcher):
    """Tells the driver of operations; from threads, too.

    Args:
        channel: to the driver, of the event loop that is running.
        content: whether somebody there looks at what was said.
    """

    def __init__(self, channel: Channel, *, content: bool) -> None:
        self.content = content
        self._channel, self._loop = channel, asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def began(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind in _KINDS:
            self.tell(
                "began",
                number=operation.number, kind=operation.kind, name=operation.name,
                facts=dict(operation.facts), at=time.time_ns(), **_place(operation.parent),
            )  # fmt: skip

    def ended(self, operation: Operation) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        if operation.kind not in _KINDS:
            return
        said = {key: _plain(value) for key, value in operation.content.items()}
        error = operation.error
        self.tell(
            "ended",
            number=operation.number, facts=dict(operation.facts), seconds=operation.seconds,
            at=time.time_ns(), content=said if self.content else {},
            error=None if error is None else type(error).__qualname__,
        )  # fmt: skip

    def noted(self, name: str, operation: Operation | None, facts: dict[str, Any]) -> None:
        """See :class:`harness.core.tracing.Watcher`."""
        self.tell("noted", name=name, facts=facts, **_place(operation))

    def tell(self, what: str, **value: Any) -> None:
        """Tell it, in the thread that the connection belongs to."""
        if threading.get_ident() == self._thread:
            self._channel.tell(what, value)
        else:
            self._loop.call_soon_threadsafe(self._channel.tell, what, value)


class _Warnings(logging.Handler):
    """What our modules warn of: stands in the driver's log, and on its stderr."""

    def __init__(self, teller: Teller) -> None:
        super().__init__(logging.WARNING)
        self._teller = teller

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(RuntimeError):  # the event loop has ended: nobody is there to be told
            self._teller.tell(
                "warned", logger=record.name, level=record.levelno, message=record.getMessage()
            )


@contextmanager
def telling(channel: Channel, *, content: bool) -> Generator[None]:
    """Tell the driver what this process does, until the block ends.

    Args:
        channel: to the driver.
        content: whether what was said is told, too.
    """
    teller, logger = Teller(channel, content=content), logging.getLogger("harness")
    warnings = _Warnings(teller)
    logger.addHandler(warnings)
    try:
        with tracing.watching(teller):
            yield
    finally:
        logger.removeHandler(warnings)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value
