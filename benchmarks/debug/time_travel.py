"""Forks from every checkpoint of every graph shape: the debugger's, and LangGraph's beside it.

`python -m benchmarks.debug.time_travel [--out FILE]`
Each shape (`tests/debug/suite.py`) is run once. From every checkpoint, of every graph in it,
a fork is made: by the debugger, and by LangGraph's own `invoke(None, config)` with the
config (id, namespace and checkpoint map, as `get_state` gives them) on a copy of the thread. A fork
is right if it ends in the fresh run's output; it is exact if it also runs what the fresh run did
behind the checkpoint and nothing else (where branches run in parallel: some of it, as finished
neighbours need not run again).
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.debug import Debugger, Moment, Point, with_store
from tests.debug.shapes import Log, Shape
from tests.debug.suite import SHAPES
from tests.debug.test_time_travel import Watched, finish


def upstream(graph: Any, moment: Moment, thread: str, answers: tuple[Any, ...]) -> Any:
    """LangGraph's fork from a checkpoint; its output, or what it raised."""
    from langgraph.types import Command

    later: dict[str, Any] = {"configurable": {"thread_id": thread}}
    checkpoints = {**moment.outer, moment.ns: moment.id}
    point = {"checkpoint_ns": moment.ns, "checkpoint_id": moment.id, "checkpoint_map": checkpoints}
    remaining = list(answers)
    try:
        values = asyncio.run(
            graph.ainvoke(None, {"configurable": {**later["configurable"], **point}})
        )
        while remaining and (interrupts := asyncio.run(graph.aget_state(later)).interrupts):
            if interrupts[0].value == "second?":
                remaining = remaining[-1:]
            values = asyncio.run(graph.ainvoke(Command(resume=remaining.pop(0)), later))
    except Exception as error:  # noqa: BLE001  # whatever it raises is its result
        return f"{type(error).__name__}: {error}"
    return values


def exact(log: Log, replayed: Log, shape: Shape) -> bool:
    """Return True if exactly what follows was run."""
    part = not Counter(log) - Counter(replayed) and bool(log) == bool(replayed)
    return log == replayed if shape.sequential else part


def measure(shape: Shape, folder: Path) -> Counter[str]:
    """Right and exact forks of one shape, of the debugger and of LangGraph."""
    log: Log = []
    graph = shape.build(log)
    counts: Counter[str] = Counter()
    store = Watched(folder / f"{shape.name}.sqlite", log)
    debugger = Debugger(graph, store)
    start: Any = shape.start or {"path": []}
    expected = finish(debugger, debugger.start(start, hold=False), shape.answers)
    full_log = list(log)
    for number, moment in enumerate(debugger.history().trail()):
        replayed = full_log[store.seen[moment.id] :]
        kind = "inner" if moment.ns else "main"
        counts[f"checkpoints {kind}"] += 1
        log.clear()
        stop = debugger.fork(Point(moment.ns, moment.id), of="main", hold=False)
        right = finish(debugger, stop, shape.answers) == expected
        counts[f"ours right {kind}"] += right
        counts[f"ours exact {kind}"] += right and exact(log, replayed, shape)
        debugger.quit()
        store.copy_thread("main", f"copy{number}")
        log.clear()
        right = expected == upstream(
            with_store(graph, store), moment, f"copy{number}", shape.answers
        )
        counts[f"langgraph right {kind}"] += right
        counts[f"langgraph exact {kind}"] += right and exact(log, replayed, shape)
    store.close()
    return counts


@benchmark(out=option(type=Path))
def main(options: Options) -> Result:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        shapes = {shape.name: measure(shape, Path(folder)) for shape in SHAPES}
    total = sum(shapes.values(), Counter[str]())
    return {"total": dict(sorted(total.items())), "shapes": shapes}
