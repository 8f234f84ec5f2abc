"""Runs that somebody else starts, a test for one: the session stops in them and lets them go.

Nothing of the run is changed: its thread, its event loop and its checkpoints are its own. So there
is stepping, looking, trying again and serving; branches need a run of the debugger's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.debug import hooks
from harness.debug.controller import FREE, Controller
from harness.debug.gatekeeper import Gatekeeper
from harness.debug.session import Debugger
from harness.debug.types import Stop

if TYPE_CHECKING:
    from harness.checkpoints import CheckpointStore


class Attached(Debugger):
    """Stops in every graph of the process whose node raises, or at a breakpoint.

    Commands come from another thread than those that run the graphs.
    """

    def __init__(self, store: CheckpointStore) -> None:
        """`store` is for the session's own notes; runs go on with their own."""
        super().__init__(None, store)

    def attach(self) -> None:
        """Watch the runs that begin from now on."""
        hooks.install()
        controller = Controller(self.breakpoints)
        controller.release(FREE)
        hooks.set_everywhere(Gatekeeper(controller, None))
        self._controller = controller

    def detach(self) -> None:
        """Let everything go; who waits for a stop is told that it is done."""
        hooks.set_everywhere(None)
        if self._controller is not None:
            self._controller.free()
            self._controller.stops.put(Stop("done"))
