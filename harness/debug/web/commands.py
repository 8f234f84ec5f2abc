"""The commands of the page: names and JSON arguments in, the debugger's methods called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from harness.core import BadInput
from harness.debug.forks import Point
from harness.debug.session import Debugger
from harness.debug.types import Breakpoint

Arguments = Mapping[str, Any]
Running = Callable[[Debugger, Arguments], Any]


def _text(arguments: Arguments, name: str, default: str | None = None) -> str:
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise BadInput(f"expected a text as {name!r}, found {value!r}")
    return value


def _number(arguments: Arguments, name: str, default: int) -> int:
    value = arguments.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadInput(f"expected a whole number as {name!r}, found {value!r}")
    return value


def _point(arguments: Arguments) -> Point:
    task = arguments.get("task")
    if task is not None and not isinstance(task, str):
        raise BadInput(f"expected a task id as 'task', found {task!r}")
    return Point(_text(arguments, "ns", ""), _text(arguments, "checkpoint"), task)


def _values(arguments: Arguments, *, needed: bool = True) -> dict[str, Any] | None:
    values = arguments.get("values")
    if values is None and not needed:
        return None
    if not isinstance(values, dict):
        raise BadInput(f"expected an object of state keys as 'values', found {values!r}")
    return cast("dict[str, Any]", values)


def _maybe(arguments: Arguments, name: str) -> str | None:
    return _text(arguments, name) if arguments.get(name) else None


def _fork(debugger: Debugger, arguments: Arguments) -> Any:
    return debugger.fork(
        _point(arguments),
        of=_maybe(arguments, "of"),
        name=_maybe(arguments, "name"),
        values=_values(arguments, needed=False),
    )


def _edit_output(debugger: Debugger, arguments: Arguments) -> Any:
    return debugger.edit_output(
        _point(arguments),
        _values(arguments),
        of=_maybe(arguments, "of"),
        name=_maybe(arguments, "name"),
    )


def _replay(debugger: Debugger, arguments: Arguments) -> Any:
    beyond = _text(arguments, "beyond", "stop")
    if beyond not in ("stop", "live"):
        raise BadInput(f"expected 'stop' or 'live' as 'beyond', found {beyond!r}")
    return debugger.replay(_maybe(arguments, "of"), beyond=beyond)


RUNNING: Mapping[str, Running] = {
    "start": lambda d, a: d.start(a.get("input"), thread=_text(a, "thread", "main")),
    "resume": lambda d, a: d.resume(_maybe(a, "thread")),
    "step": lambda d, _: d.step(),
    "into": lambda d, _: d.step_into(),
    "out": lambda d, _: d.step_out(),
    "continue": lambda d, _: d.go(),
    "until": lambda d, a: d.until(_text(a, "node")),
    "answer": lambda d, a: d.answer(a.get("value")),
    "retry": lambda d, _: d.retry(),
    "live": lambda d, _: d.live(),
    "serve": lambda d, a: d.serve(_values(a)),
    "edit": lambda d, a: d.edit(_values(a) or {}, name=_maybe(a, "name")),
    "edit_output": _edit_output,
    "fork": _fork,
    "rewind": lambda d, a: d.rewind(_number(a, "steps", 1)),
    "replay": _replay,
}
"""Commands that let the graph run: one at a time."""


def _add(debugger: Debugger, arguments: Arguments) -> Any:
    visit = arguments.get("visit")
    number = None if visit is None else _number(arguments, "visit", 1)
    point = Breakpoint(_text(arguments, "node"), number, _maybe(arguments, "condition"))
    return debugger.breakpoints.add(point)


SETTING: Mapping[str, Running] = {
    "break": _add,
    "unbreak": lambda d, a: d.breakpoints.remove(_number(a, "number", 0)),
    "watch": lambda d, a: d.breakpoints.watch(_text(a, "expression")),
    "unwatch": lambda d, a: d.breakpoints.unwatch(_text(a, "expression")),
    "pause": lambda d, _: d.ask_pause(),
}
"""Commands that may come while the graph runs."""
