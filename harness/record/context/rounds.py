"""Answers in which the model called our tool: what the client sees of them, and what follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from harness.record.wires import Body
from harness.trajectories.lenient import count, mapping

Counts = dict[str, int]


class Rounds(ABC):
    """The legs of one exchange in one format, seen as one answer. Use once.

    Of each leg either :meth:`feed` takes the events, or :meth:`add` the whole answer; then
    :meth:`close` says that the leg is the last, or :meth:`go_on` that another follows.

    Args:
        tool: name of our tool.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.leg = 1
        self._used: Counts = {}

    @abstractmethod
    def feed(self, event: Body, raw: bytes) -> list[Body | bytes]:
        """An event of the stream: what the client gets of it now."""

    @abstractmethod
    def close(self) -> list[Body | bytes]:
        """The stream's last events, held back until now, with the tokens of all legs."""

    @abstractmethod
    def add(self, answer: Body) -> None:
        """A whole answer."""

    @abstractmethod
    def whole(self) -> Body:
        """All whole answers as one."""

    @abstractmethod
    def hidden(self, answer: Body, results: Mapping[str, str]) -> list[Body]:
        """What an answer and the results of our tool's calls are in the next request."""

    def go_on(self) -> None:
        """Another leg follows."""
        self.leg += 1

    def _count(self, usage: Any) -> Body:
        """Add the tokens of a leg; the sums, in the form of the last leg's usage."""
        last = mapping(usage)
        for name, value in last.items():
            if isinstance(value, int):
                self._used[name] = self._used.get(name, 0) + count(value)
        return {**last, **{name: self._used[name] for name in self._used if name in last}}
