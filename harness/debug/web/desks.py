"""Which session a request is about: the debugger's own, or a finished item's, opened when asked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.debug.session import Debugger
from harness.debug.web.desk import Desk

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore
    from harness.debug.web.browse.library import Library

MOST = 6
"""Finished items that are kept open; the one that was asked for longest ago makes room."""


class Desks:
    """The sessions behind one page.

    Args:
        main: what is debugged; None where finished work is only looked at, read-only.
        library: where finished items lie.
    """

    def __init__(self, main: Desk | None, library: Library) -> None:
        self.main = main
        self._library = library
        self._open: OrderedDict[tuple[str, ...], tuple[Desk, ExitStack]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, query: Mapping[str, str]) -> Desk:
        """The session that an address names by `run` or `evolution`, and `item`; else the main one.

        Raises:
            BadInput: if there is no such item, or nothing is debugged.
        """
        subject = tuple(query.get(name, "") for name in ("run", "evolution", "item"))
        if not any(subject):
            if self.main is None:
                raise BadInput("no graph is debugged here: open a sample, then its graph view")
            return self.main
        with self._lock:
            if subject not in self._open:
                self._open[subject] = self._opened(*subject)
                while len(self._open) > MOST:
                    self._open.popitem(last=False)[1][1].close()
            self._open.move_to_end(subject)
            return self._open[subject][0]

    def close(self) -> None:
        """End all sessions."""
        if self.main is not None:
            self.main.close()
        while self._open:
            self._open.popitem()[1][1].close()

    def _opened(self, run: str, evolution: str, item: str) -> tuple[Desk, ExitStack]:
        from harness.checkpoints import open_store

        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="harness-view-")))
            kept = folder / "checkpoints.sqlite"
            if evolution and not item:
                self._copy_state(evolution, kept)
            store = stack.enter_context(open_store(kept))
            if run:
                debugger = self._item(run, item, store, folder / "work")
            elif item:
                debugger = self._played(evolution, item, store)
            else:
                debugger = self._evolution(store)
            title = " of ".join(part for part in (item, run or evolution) if part not in ("", "."))
            looking = self.main is None or not (run and item)
            desk = Desk(debugger, title or "evolution", read_only=looking)
            stack.callback(desk.close)
            return desk, stack.pop_all()
        raise AssertionError("an exit stack does not hide exceptions")

    def _item(self, run: str, item: str, store: CheckpointStore, folder: Path) -> Debugger:
        """A finished item on its recorded answers, run to its end."""
        from harness.debug.attempts import Settings, find_item, open_item

        found = find_item(self._library.place(run, "eval").path, item)
        opened = open_item(found, store, folder, Settings())
        debugger = Debugger(
            opened.graph,
            store,
            context=opened.context,
            stop_on_exception=False,
            beyond=None if self.main is None else opened.beyond,
            meter=opened.meter,
        )
        debugger.start(opened.start, thread=item, hold=False)
        return debugger

    def _played(self, evolution: str, item: str, store: CheckpointStore) -> Debugger:
        """A trajectory that an evolution read, played back message by message."""
        from harness.debug.postmortem import START, trajectory_graph

        debugger = Debugger(trajectory_graph(self._library.taught(evolution, item)), store)
        debugger.start(dict[str, Any](START), thread=item, hold=False)
        return debugger

    def _copy_state(self, evolution: str, path: Path) -> None:
        from harness.debug.evolutions import copy_state

        copy_state(self._library.place(evolution, "evolution").path, path)

    def _evolution(self, store: CheckpointStore) -> Debugger:
        """An evolution's own graph with the state that it left."""
        from harness.core import assets

        thread = next(iter(store.threads()), None)
        if thread is None:
            raise BadInput("this evolution left no graph state")
        debugger = Debugger(assets.load_graph("trace2skill"), store)
        debugger.open(thread)
        return debugger
