"""Breakpoints, watches and visit counts of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.core import BadInput
from harness.debug.engine.expressions import Expression
from harness.debug.engine.stops import Breakpoint, TaskInfo


class Breakpoints:
    """Where to stop and what to show there."""

    def __init__(self) -> None:
        self._points: dict[int, tuple[Breakpoint, Expression | None]] = {}
        self._watches: dict[str, Expression] = {}
        self._visits: dict[str, dict[str, str]] = {}
        self._next = 1
        self._lock = threading.Lock()

    def add(self, point: Breakpoint) -> int:
        """Add a breakpoint; its number.

        Raises:
            BadInput: if the visit is below 1 or the condition cannot be read.
        """
        if point.visit is not None and point.visit < 1:
            raise BadInput(f"expected a visit from 1, found {point.visit!r}")
        condition = None if point.condition is None else Expression(point.condition)
        number, self._next = self._next, self._next + 1
        self._points[number] = (point, condition)
        return number

    def remove(self, number: int) -> None:
        """Remove a breakpoint.

        Raises:
            BadInput: if there is none of that number.
        """
        if number not in self._points:
            raise BadInput(f"no breakpoint {number}; there are {sorted(self._points) or 'none'}")
        del self._points[number]

    def listed(self) -> dict[int, Breakpoint]:
        """Every breakpoint under its number."""
        return {number: point for number, (point, _) in self._points.items()}

    def watch(self, text: str) -> None:
        """Show the value of an expression at every stop."""
        self._watches[text] = Expression(text)

    def unwatch(self, text: str) -> None:
        """Show it no more."""
        self._watches.pop(text, None)

    def watches(self) -> list[str]:
        """Every watch expression."""
        return list(self._watches)

    def watched(self, names: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Every watch with its value; an error is shown as a text."""
        state: Mapping[str, Any] = names() if self._watches else {}
        values: dict[str, Any] = {}
        for text, watch in self._watches.items():
            try:
                values[text] = watch.value(state)
            except BadInput as error:
                values[text] = f"<{error}>"
        return values

    def count(self, task: TaskInfo) -> TaskInfo:
        """The task with its visit number. A task that comes again keeps its number."""
        with self._lock:
            visits = self._visits.setdefault(task.where, {})
            visits.setdefault(task.own_ns, task.checkpoint)
            return replace(task, visit=list(visits).index(task.own_ns) + 1)

    def keep_visits(self, checkpoints: Iterable[str]) -> None:
        """Forget the visits of tasks that did not start from one of these checkpoints."""
        started = set(checkpoints)
        for where, visits in self._visits.items():
            self._visits[where] = {
                own: checkpoint for own, checkpoint in visits.items() if checkpoint in started
            }

    def visits(self) -> dict[str, int]:
        """How often each node has run, by `outer/inner/node`."""
        return {where: len(tasks) for where, tasks in self._visits.items()}

    def hit(self, task: TaskInfo, names: Callable[[], Mapping[str, Any]]) -> int | None:
        """The number of the first breakpoint that the task meets.

        A condition that fails (a key that is not there yet) does not stop the run.
        """
        for number, (point, condition) in sorted(self._points.items()):
            meant = point.node in ("*", task.node, task.where)
            if not meant or point.visit not in (None, task.visit):
                continue
            try:
                if condition is None or condition.value(names()):
                    return number
            except BadInput:
                continue
        return None
