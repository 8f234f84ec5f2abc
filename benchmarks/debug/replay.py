"""Speed and exactness of the replay of a recorded run.

`python -m benchmarks.debug.replay [--steps 200] [--rounds 3] [--out FILE]`
A run of a graph that appends a message of 1 kB per step is recorded, then replayed with every node
served from its recorded writes. The nodes count their calls. CPU seconds include reading the
recording; states are compared step by step, digest by digest.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reports import option, read_options, report
from harness.checkpoints import open_store
from harness.debug import Debugger, History, digest_of, shown
from tests.checkpoints.graphs import talk


def digests(store: Any, thread: str) -> list[str]:
    """Digest of the state after every step."""
    history = History(store, thread)
    return [digest_of(store.serde, shown(history.load(moment))) for moment in history.trail()]


def main() -> None:
    """Measure and print."""
    options = read_options(__doc__, steps=200, rounds=3, out=option(type=Path))
    cpu: list[float] = []
    wall: list[float] = []
    same: list[bool] = []
    served = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "c.sqlite") as store,
    ):
        debugger = Debugger(
            talk(options.steps).compile(), store, config={"recursion_limit": 100_000}
        )
        debugger.start({"messages": [], "turn": 0}, hold=False)
        recorded = digests(store, "main")
        for _ in range(options.rounds):
            begun, begun_wall = time.process_time(), time.perf_counter()
            stop = debugger.replay("main")
            cpu.append(time.process_time() - begun)
            wall.append(time.perf_counter() - begun_wall)
            assert stop.reason == "done"
            assert debugger.branch is not None
            same.append(digests(store, debugger.branch.thread) == recorded)
            served = debugger.recording.served if debugger.recording is not None else 0
        debugger.quit()
    result = {
        "steps": options.steps,
        "nodes_served": served,
        "nodes_run": options.steps - served,
        "states_identical": all(same),
        "cpu_s_median": round(statistics.median(cpu), 3),
        "wall_s_median": round(statistics.median(wall), 3),
    }
    report(result, options.out)


if __name__ == "__main__":
    main()
