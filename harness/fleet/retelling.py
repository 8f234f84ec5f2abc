"""What workers do, for those who watch the driver: as if it were done there.

A worker's operations (:mod:`harness.fleet.telling`) are told again within the operation in which
the driver handed out the part of the job that they belong to, each in a context of its own: what a
watcher sets as an operation begins, it finds as it ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from harness.core import tracing
from harness.core.tracing import Operation
from harness.fleet.channel import Channel, Gone, Methods
from harness.models import Reply


class WorkerError(Exception):
    """What an operation of a worker ended with: of its own class there is the name alone."""


@dataclass(frozen=True)
class _Around:
    """What a worker's operation is within.

    Attributes:
        context: of the driver.
        began_ns: nothing within it began before.
    """

    context: Context
    began_ns: int


@dataclass(frozen=True)
class _Open(_Around):
    """An operation of a worker that has not ended."""

    operation: Operation
    block: AbstractContextManager[Operation]


class Retelling:
    """Tells those who watch the driver what its workers do.

    Args:
        wanted: whether anybody watches; else workers are given no numbers and tell nothing.
    """

    def __init__(self, *, wanted: bool) -> None:
        self.wanted = wanted
        self._parts: dict[int, _Around] = {}
        self._numbers = count(1)

    @contextmanager
    def part(self) -> Generator[int | None]:
        """A part of the job that is handed out within the operation under way.

        Yields:
            Its number, for :func:`harness.fleet.telling.part` in the worker.
        """
        if not self.wanted:
            yield None
            return
        number = next(self._numbers)
        self._parts[number] = _Around(copy_context(), time.time_ns())
        try:
            yield number
        finally:
            del self._parts[number]

    def of(self, worker: Channel) -> Retold:
        """What one worker tells."""
        return Retold(self._parts, worker)


class Retold:
    """What one worker tells; what it leaves open when it dies has failed."""

    def __init__(self, parts: dict[int, _Around], worker: Channel) -> None:
        self._parts = parts
        self._open: dict[int, _Open] = {}
        worker.closed.add_done_callback(lambda _: self._lost())

    def methods(self) -> Methods:
        """What the worker may tell."""
        return {
            "began": self._began, "ended": self._ended,
            "noted": self._noted, "warned": self._warned,
        }  # fmt: skip

    def context(self, place: dict[str, Any]) -> Context | None:
        """A context at a place of the worker's (:func:`harness.fleet.telling.place`).

        None if nobody watches, or the driver has given the part up.
        """
        around = self._around(place)
        return None if around is None else around.context.copy()

    def _around(self, place: dict[str, Any]) -> _Around | None:
        return self._open.get(place["within"]) or self._parts.get(place["part"])

    async def _began(self, value: dict[str, Any]) -> None:
        around = self._around(value)
        if around is None:
            return
        context = around.context.copy()
        # By its own clock, which may be another machine's: but not before what it is part of, and
        # not in the future.
        began_ns = min(max(int(value["at"]), around.began_ns), time.time_ns())
        operation = Operation(
            value["kind"], value["name"], value["facts"],
            context.run(tracing.current), began_ns=began_ns,
        )  # fmt: skip
        block = operation
        context.run(block.__enter__)
        self._open[value["number"]] = _Open(context, began_ns, operation, block)

    async def _ended(self, value: dict[str, Any]) -> None:
        told = self._open.pop(value["number"], None)
        if told is None:
            return
        operation = told.operation
        operation.add(**value["facts"])
        operation.say(**{key: _said(key, one) for key, one in value["content"].items()})
        operation.seconds = value["seconds"]
        operation.ended_ns = min(max(int(value["at"]), told.began_ns), time.time_ns())
        _end(told, None if value["error"] is None else _error(value["error"])())

    async def _noted(self, value: dict[str, Any]) -> None:
        context = self.context(value)
        if context is not None:
            context.run(tracing.note, value["name"], **value["facts"])

    async def _warned(self, value: dict[str, Any]) -> None:
        logging.getLogger(value["logger"]).log(value["level"], "%s", value["message"])

    def _lost(self) -> None:
        for number in sorted(self._open, reverse=True):  # what is within another ends first
            _end(self._open.pop(number), Gone("the worker died"))


def _end(told: _Open, error: Exception | None) -> None:
    kind = None if error is None else type(error)
    told.context.run(told.block.__exit__, kind, error, None)


def _said(key: str, value: Any) -> Any:
    return Reply.model_validate(value) if key == "reply" else value


@lru_cache(maxsize=256)
def _error(name: str) -> type[WorkerError]:
    """A class of that name, which is all that watchers tell of an error."""
    return type(name.rpartition(".")[2], (WorkerError,), {"__qualname__": name})
