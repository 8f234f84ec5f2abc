"""One debugger, many requests: commands one after the other, and a number that tells of changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.core import BadInput, HarnessError
from harness.debug.branches import Branch, listed
from harness.debug.session import Debugger
from harness.debug.sources import Source, node_source, replace_source
from harness.debug.types import Stop, TaskInfo
from harness.debug.web.commands import RUNNING, SETTING
from harness.debug.web.looking import described
from harness.debug.web.plain import tree

LOADING = ("reload", "edit_source")
"""Commands that load the graph's file again."""


class Desk:
    """The session behind the page.

    Args:
        debugger: commanded from one thread of the desk's own.
        title: what is debugged.
        reload: loads the graph anew from its file; None where there is no file.
        read_only: refuse every command.
        root: folder of the graph's file, where nodes may be edited; None for nowhere.
        folders: where workbooks that the state names may lie.
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
    ) -> None:
        self.debugger = debugger
        self.title = title
        self.version = 1
        self.read_only = read_only
        self.folders = (Path.cwd(), *folders)
        self._root = root
        self._reload = reload
        self._thread = ThreadPoolExecutor(1, "debugger")
        self._busy: str | None = None
        self._error: dict[str, str] | None = None
        self._news = asyncio.Event()
        self._lock = threading.Lock()

    async def command(self, name: str, arguments: Mapping[str, Any]) -> None:
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
                await self._written(arguments)
            self._error = None
            loop = asyncio.get_running_loop()
            self._thread.submit(self._run, name, dict(arguments), loop)
        else:
            names = ", ".join(sorted({*RUNNING, *SETTING, *LOADING}))
            raise BadInput(f"expected a command ({names}), found {name!r}")
        self._tell()

    async def wait(self, version: int, timeout_s: float) -> None:
        """Return when the version is no longer this one, or after some seconds."""
        if self.version == version:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), timeout_s)

    def session(self) -> dict[str, Any]:
        """Everything that the page shows besides graph, timeline and states; JSON only."""
        debugger = self.debugger
        stop = debugger.last if self._busy is None else None
        return {
            "version": self.version,
            "title": self.title,
            "busy": self._busy,
            "error": self._error,
            "stop": None if stop is None else _stop(stop),
            "state": self._state(stop),
            "branch": None if debugger.branch is None else debugger.branch.thread,
            "branches": [_branch(one) for one in listed(debugger.store)],
            "breakpoints": [
                {"number": number, **asdict(point)}
                for number, point in debugger.breakpoints.listed().items()
            ],
            "watches": debugger.breakpoints.watches(),
            "read_only": self.read_only,
            "can_reload": self._reload is not None,
            "can_edit": self._may_edit,
        }

    @property
    def _may_edit(self) -> bool:
        return not self.read_only and self._root is not None and self._reload is not None

    def source(self, node: str) -> dict[str, Any]:
        """The source of a node, for the page's editor.

        Raises:
            BadInput: if it has none that may be edited here.
        """
        found = self._source(node)
        name = str(found.file.relative_to(found.file.parent.parent))
        return {"node": node, "file": name, "line": found.line, "text": found.text,
                "digest": found.digest}  # fmt: skip

    def _source(self, node: str) -> Source:
        if self._root is None or not self._may_edit:
            raise BadInput(
                "nodes of this graph are not edited here: it comes from no file of yours"
            )
        return node_source(self.debugger.graph, node, self._root)

    def _edit(self, arguments: Mapping[str, Any]) -> None:
        """Write a node's new source, if the old one is still what the page has shown."""
        found = self._source(str(arguments.get("node")))
        if arguments.get("digest") != found.digest:
            raise BadInput(f"{str(found.file)!r} was changed meanwhile: open the source again")
        text = arguments.get("text")
        if not isinstance(text, str):
            raise BadInput(f"expected the source as 'text', found {text!r}")
        replace_source(found, text)

    async def _written(self, arguments: Mapping[str, Any]) -> None:
        """Write the source before the command is taken; its faults leave all as it was."""
        try:
            await asyncio.to_thread(self._edit, arguments)
        except BaseException:  # a file that is not UTF-8, a function without a source, …
            self._busy = None
            raise

    def usage(self, branch: str) -> dict[str, list[Any]]:
        """Tokens and US dollars (None where unknown) by task id, in a branch."""
        debugger = self.debugger
        found = debugger.meter.tasks(debugger.store, branch)
        return {task: [one.tokens, one.cost_usd] for task, one in found.items()}

    def close(self) -> None:
        """Let the graph end what it is doing, and nothing more."""
        self.debugger.ask_pause()
        self._thread.submit(self.debugger.quit).result()
        self._thread.shutdown()

    def _state(self, stop: Stop | None) -> dict[str, Any]:
        """The state where the run stands, as the current node sees it."""
        if stop is None or self.debugger.branch is None:
            return {}
        return {key: described(value) for key, value in self.debugger.state().items()}

    def _run(self, name: str, arguments: dict[str, Any], loop: asyncio.AbstractEventLoop) -> None:
        error: dict[str, str] | None = None
        try:
            if name in LOADING and self._reload is not None:
                self.debugger.reload(self._reload())
            else:
                RUNNING[name](self.debugger, arguments)
        except HarnessError as found:
            error = {"type": "", "message": str(found)}
        except Exception as found:  # noqa: BLE001  # what a user's file or graph raises is shown on the page
            error = {"type": type(found).__name__, "message": str(found)}
        self._error, self._busy = error, None
        loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self.version += 1
        told, self._news = self._news, asyncio.Event()
        told.set()


def _stop(stop: Stop) -> dict[str, Any]:
    return {
        "reason": stop.reason,
        "ended": stop.ended,
        "task": None if stop.task is None else _task(stop.task),
        "waiting": [_task(one) for one in stop.waiting],
        "running": [_task(one) for one in stop.running],
        "breakpoint": stop.breakpoint,
        "watches": {text: tree(value) for text, value in stop.watches.items()},
        "failure": None if stop.failure is None else asdict(stop.failure),
        "interrupts": {name: tree(value) for name, value in stop.interrupts.items()},
        "values": tree(stop.values),
    }


def _task(task: TaskInfo) -> dict[str, Any]:
    return {
        "id": task.id,
        "node": task.node,
        "where": task.where,
        "ns": task.ns,
        "checkpoint": task.checkpoint,
        "step": task.step,
        "visit": task.visit,
        "depth": task.depth,
    }


def _branch(branch: Branch) -> dict[str, Any]:
    return {
        "thread": branch.thread,
        "name": branch.name,
        "kind": branch.kind,
        "parent": branch.parent,
        "checkpoint": None if branch.point is None else branch.point.checkpoint,
        "left": branch.left,
    }
