"""The terminal debugger at the node of a graph that fails in a test (`pytest --harness-debug`).

The run is the test's own and waits inside the node: look at the state and the local variables, run
the node again, serve its output, step on. `continue` lets the exception be raised. Exceptions
that the test expects stop as well; `quit` ends the debugger for the remaining tests.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.debug import Attached, Stop


class Stops:
    """Opens the terminal at every stop of the tests' graphs."""

    def __init__(self, plugins: pytest.PytestPluginManager) -> None:
        self._plugins = plugins
        self._over = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch the graphs of one test."""
        if self._over:
            return (yield)
        from harness.checkpoints import open_store
        from harness.debug import Attached

        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="harness-debug-"))
            store = stack.enter_context(open_store(Path(folder) / "notes.sqlite"))
            session = Attached(store)
            session.attach()
            watcher = threading.Thread(target=self._watch, args=(session, item.nodeid))
            watcher.start()
            stack.callback(watcher.join)
            stack.callback(session.detach)
            return (yield)

    def _watch(self, session: Attached, test: str) -> None:
        capture: Any = self._plugins.getplugin("capturemanager")
        try:
            stop = session.wait()
            while not self._over and not stop.ended:
                capture.suspend_global_capture(in_=True)
                try:
                    stop = self._talk(session, stop, test)
                finally:
                    capture.resume_global_capture()
        finally:
            session.detach()  # whatever happens here, the test does not wait forever

    def _talk(self, session: Attached, stop: Stop, test: str) -> Stop:
        """Commands until the test or the input has ended; the last stop."""
        from harness.core import cache_root, prompted
        from harness.debug.terminal import PROMPT, Terminal

        reporter: Any = self._plugins.getplugin("terminalreporter")
        terminal = Terminal(session, reporter.write_line)
        reporter.write_line(f"\nharness debug: {test}")
        terminal.show(stop)
        with prompted(PROMPT, terminal.complete, cache_root() / "debug_history") as lines:
            for line in lines:
                terminal.do(line)
                stop = session.last or stop
                if terminal.ended or stop.ended:
                    break
        self._over = not stop.ended
        return stop
