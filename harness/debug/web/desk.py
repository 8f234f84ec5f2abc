"""One debugger, many requests: commands one after the other, and a number that tells of changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from harness.core import BadInput, HarnessError
from harness.debug.engine.history import Point, listed, shown
from harness.debug.engine.session import Debugger
from harness.debug.engine.sources import Source, node_source, replace_source
from harness.debug.engine.stops import Breakpoint, TaskInfo
from harness.debug.web.values import editable, tree

LOADING = ("reload", "edit_source")
"""Commands that load the graph's file again."""


Arguments = Mapping[str, Any]
Command = Callable[[Debugger, Arguments], Any]
_KINDS = {str: "a text", int: "a whole number", dict: "an object"}
T = TypeVar("T", str, int, dict[str, Any])


def _read(arguments: Arguments, name: str, kind: type[T], default: T | None = None) -> T:
    """A JSON argument of a command; one without a default must be there."""
    value = arguments.get(name, default)
    if type(value) is not kind:  # a truth value is no number
        raise BadInput(f"expected {_KINDS[kind]} as {name!r}, found {value!r}")
    return value


def _text(arguments: Arguments, name: str) -> str | None:
    """A text; None where there is none or an empty one."""
    return _read(arguments, name, str) if arguments.get(name) else None


def _point(arguments: Arguments) -> Point:
    ns, checkpoint = _read(arguments, "ns", str, ""), _read(arguments, "checkpoint", str)
    task = None if arguments.get("task") is None else _read(arguments, "task", str)
    return Point(ns, checkpoint, task)


def _replay(debugger: Debugger, arguments: Arguments) -> Any:
    beyond = _read(arguments, "beyond", str, "stop")
    if beyond not in ("stop", "live"):
        raise BadInput(f"expected 'stop' or 'live' as 'beyond', found {beyond!r}")
    return debugger.replay(_text(arguments, "of"), beyond=beyond)


RUNNING: Mapping[str, Command] = {
    "start": lambda d, a: d.start(a.get("input"), thread=_read(a, "thread", str, "main")),
    "resume": lambda d, a: d.resume(_text(a, "thread")),
    "step": lambda d, _: d.step(),
    "into": lambda d, _: d.step_into(),
    "out": lambda d, _: d.step_out(),
    "continue": lambda d, _: d.go(),
    "until": lambda d, a: d.until(_read(a, "node", str)),
    "answer": lambda d, a: d.answer(a.get("value")),
    "retry": lambda d, _: d.retry(),
    "live": lambda d, _: d.live(),
    "serve": lambda d, a: d.serve(_read(a, "values", dict)),
    "edit": lambda d, a: d.edit(_read(a, "values", dict), name=_text(a, "name")),
    "edit_output": lambda d, a: d.edit_output(
        _point(a), a.get("values"), of=_text(a, "of"), name=_text(a, "name")
    ),
    "fork": lambda d, a: d.fork(
        _point(a),
        of=_text(a, "of"),
        name=_text(a, "name"),
        values=None if a.get("values") is None else _read(a, "values", dict),
    ),
    "rewind": lambda d, a: d.rewind(_read(a, "steps", int, 1)),
    "replay": _replay,
}
"""Commands that let the graph run: one at a time."""
SETTING: Mapping[str, Command] = {
    "break": lambda d, a: d.stop_at(
        Breakpoint(
            _read(a, "node", str),
            None if a.get("visit") is None else _read(a, "visit", int),
            _text(a, "condition"),
        )
    ),
    "unbreak": lambda d, a: d.breakpoints.remove(_read(a, "number", int, 0)),
    "watch": lambda d, a: d.breakpoints.watch(_read(a, "expression", str)),
    "unwatch": lambda d, a: d.breakpoints.unwatch(_read(a, "expression", str)),
    "pause": lambda d, _: d.ask_pause(),
}
"""Commands that may come while the graph runs."""


class Desk:
    """The session behind the page.

    Args:
        debugger: commanded from one thread of the desk's own.
        title: what is debugged.
        reload: loads the graph anew from its file; None where there is no file.
        read_only: refuse every command.
        root: folder of the graph's file, where nodes may be edited; None for nowhere.
        folders: where workbooks that the state names may lie.
        notes: what a reader should know, a sentence each.
    """

    def __init__(
        self,
        debugger: Debugger,
        title: str,
        reload: Callable[[], Any] | None = None,
        *,
        read_only: bool = False,
        root: Path | None = None,
        folders: Sequence[Path] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.debugger = debugger
        self.title = title
        self.version = 1
        self.read_only, self.notes = read_only, notes
        self.folders = (Path.cwd(), *folders)
        self._root = None if read_only or reload is None else root
        self._reload = reload
        self._thread = ThreadPoolExecutor(1, "debugger")
        self._busy: str | None = None
        self._error: dict[str, str] | None = None
        self._streamed, debugger.meter.hear = "", self._hear
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._lock = threading.Lock()

    async def command(self, name: str, arguments: Arguments) -> None:
        """Run a command; one that lets the graph run returns at once, its end changes `version`.

        Raises:
            BadInput: if there is no such command, its arguments are not as expected, another
                one still runs, or the session is read-only.
        """
        if self.read_only:
            raise BadInput("this is only to look at: `harness debug` opens it to change it")
        if name in SETTING:
            SETTING[name](self.debugger, arguments)
        elif name in RUNNING or (name in LOADING and self._reload is not None):
            with self._lock:
                if self._busy is not None:
                    raise BadInput(f"{self._busy!r} still runs: pause it first")
                self._busy = name
            if name == "edit_source":
                # Written before the command is taken; its faults leave all as it was.
                try:
                    await asyncio.to_thread(self._edit, arguments)
                except BaseException:  # a file that is not UTF-8, a function without a source, …
                    self._busy = None
                    raise
            self._error, self._streamed, self._loop = None, "", asyncio.get_running_loop()
            self._thread.submit(self._run, name, dict(arguments), self._loop)
        else:
            names = ", ".join(sorted({*RUNNING, *SETTING, *LOADING}))
            raise BadInput(f"expected a command ({names}), found {name!r}")
        self._announce()

    async def wait(self, version: int, heard: str, timeout_s: float) -> None:
        """Return when the version, or the length of what was streamed, is another, or in time."""
        if self.version == version and heard in ("", str(len(self._streamed))):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), timeout_s)

    def session(self) -> dict[str, Any]:
        """Everything that the page shows besides graph, timeline and states; JSON only."""
        debugger = self.debugger
        stop = debugger.last if self._busy is None else None
        state = {} if stop is None or debugger.branch is None else debugger.state()
        return {
            "version": self.version,
            "title": self.title,
            "notes": [*self.notes],
            "busy": self._busy,
            **self.meanwhile(),
            "error": self._error,
            "stop": None
            if stop is None
            else {
                "reason": stop.reason,
                "ended": stop.ended,
                "task": None if stop.task is None else _task(stop.task),
                "waiting": [_task(task) for task in stop.waiting],
                "running": [_task(task) for task in stop.running],
                "breakpoint": stop.breakpoint,
                "sent": None if stop.sent is None else tree(stop.sent),
                "emitted": [tree(value) for value in stop.emitted],
                "watches": {text: tree(value) for text, value in stop.watches.items()},
                "failure": None if stop.failure is None else asdict(stop.failure),
                "interrupts": {name: tree(value) for name, value in stop.interrupts.items()},
                "asked_by": stop.asked_by,
                "asked": sorted(set(stop.asked_by.values())),
                "held": list(stop.held),
                "values": tree(stop.values),
            },
            "state": {key: tree(value) for key, value in state.items()},
            "branch": None if debugger.branch is None else debugger.branch.thread,
            "branches": [
                {
                    "thread": branch.thread,
                    "name": branch.name,
                    "kind": branch.kind,
                    "parent": branch.parent,
                    "checkpoint": branch.point and branch.point.checkpoint,
                    "left": branch.left_at,
                }
                for branch in listed(debugger.store)
            ],
            "breakpoints": [
                {"number": number, **asdict(point)}
                for number, point in debugger.breakpoints.points.items()
            ],
            "watches": [*debugger.breakpoints.watches],
            "read_only": self.read_only,
            "can_reload": self._reload is not None,
            "can_edit": self._root is not None,
        }

    def meanwhile(self) -> dict[str, Any]:
        """Nodes that run, and what models have streamed since the command."""
        running = [task.where for task in self.debugger.innermost()]
        return {"running": running if self._busy else [], "streamed": self._streamed}

    def source(self, node: str) -> dict[str, Any]:
        """The source of a node, for the page's editor.

        Raises:
            BadInput: if it has none that may be edited here.
        """
        source = self._source(node)
        name = source.file.relative_to(source.file.parent.parent)
        return {"node": node, "file": str(name), "line": source.line, "text": source.text,
                "digest": source.digest}  # fmt: skip

    def value(self, key: str, branch: str | None, ns: str, checkpoint: str | None) -> str:
        """One value of the state as JSON text: at a checkpoint, or where the run stands.

        Raises:
            BadInput: if JSON cannot hold it, or there is no such checkpoint.
        """
        if checkpoint is None:
            return editable(self.debugger.state().get(key))
        history = self.debugger.history(branch)
        return editable(shown(history.load(history.find(checkpoint, ns))).get(key))

    def usage(self, branch: str) -> dict[str, list[Any]]:
        """Tokens and US dollars (None where unknown) by task id, in a branch."""
        tasks = self.debugger.meter.tasks(self.debugger.store, branch)
        return {task: [usage.tokens, usage.cost_usd] for task, usage in tasks.items()}

    def close(self) -> None:
        """Let the graph end what it is doing, and nothing more."""
        self.debugger.ask_pause()
        self._thread.submit(self.debugger.quit).result()
        self._thread.shutdown()

    def _source(self, node: str) -> Source:
        if self._root is None:
            raise BadInput(
                "nodes of this graph are not edited here: it comes from no file of yours"
            )
        return node_source(self.debugger.graph, node, self._root)

    def _edit(self, arguments: Arguments) -> None:
        """Write a node's new source, if the old one is still what the page has shown."""
        source, text = self._source(_read(arguments, "node", str)), _read(arguments, "text", str)
        if arguments.get("digest") != source.digest:
            raise BadInput(f"{str(source.file)!r} was changed meanwhile: open the source again")
        replace_source(source, text)

    def _run(self, name: str, arguments: Arguments, loop: asyncio.AbstractEventLoop) -> None:
        error: dict[str, str] | None = None
        try:
            if name in LOADING and self._reload is not None:
                self.debugger.reload(self._reload())
            else:
                RUNNING[name](self.debugger, arguments)
        except Exception as raised:  # noqa: BLE001  # what a user's file or graph raises is shown on the page
            kind = "" if isinstance(raised, HarnessError) else type(raised).__name__
            error = {"type": kind, "message": str(raised)}
        self._error, self._busy = error, None
        loop.call_soon_threadsafe(self._announce)

    def _hear(self, text: str) -> None:
        """Tell the page what a model streams."""
        self._streamed = (self._streamed + text)[-4000:]  # the page shows its end
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _announce(self) -> None:
        self.version += 1
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()


def _task(task: TaskInfo) -> dict[str, Any]:
    names = ("id", "node", "where", "ns", "checkpoint", "step", "visit", "depth")
    return {name: getattr(task, name) for name in names}
