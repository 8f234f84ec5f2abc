"""One run of a graph in a thread of its own, with its event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from harness.debug import hooks
from harness.debug.controller import Controller
from harness.debug.failures import describe_failure
from harness.debug.gatekeeper import Gatekeeper
from harness.debug.types import Stop


class Worker:
    """Runs the graph asynchronously, whatever its nodes are; ends with a stop that says how."""

    def __init__(self, controller: Controller, keeper: Gatekeeper) -> None:
        hooks.install()
        self._controller = controller
        self._keeper = keeper
        self._thread: threading.Thread | None = None

    def start(self, graph: Any, start: Any, config: dict[str, Any], context: Any) -> None:
        """Begin. `start` is the input, None to go on, or a `Command`."""
        place = {**config.get("configurable", {}), hooks.KEY: self._keeper}
        whole = {**config, "configurable": place}
        self._thread = threading.Thread(
            target=self._run, args=(graph, start, whole, context), name="harness-debug", daemon=True
        )
        self._thread.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end; whether it came."""
        if self._thread is not None:
            self._thread.join(timeout)
        return not self.alive

    @property
    def alive(self) -> bool:
        """Whether the run goes on."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self, graph: Any, start: Any, config: dict[str, Any], context: Any) -> None:
        try:
            stop = asyncio.run(_invoke(graph, start, config, context))
        except Exception as error:  # noqa: BLE001  # whatever a user's graph raises is shown
            stop = Stop("failed", failure=describe_failure(error))
        self._controller.stops.put(stop)


async def _invoke(graph: Any, start: Any, config: dict[str, Any], context: Any) -> Stop:
    values = await graph.ainvoke(start, config, context=context, durability="sync")
    place = {"thread_id": config["configurable"]["thread_id"]}
    state = await graph.aget_state({"configurable": place})
    if state.interrupts:
        asked = {interrupt.id: interrupt.value for interrupt in state.interrupts}
        return Stop("interrupt", interrupts=asked, values=values)
    return Stop("suspended" if state.next else "done", values=values)
