"""Cost of the debugger to a run without breakpoints.

`python -m benchmarks.debug.overhead [--nodes 200] [--milliseconds 10] [--rounds 5] [--out FILE]`
The same graph, store and durability with and without the debugger, in turn. Every node computes
for the given CPU time. The figure is the ratio of CPU seconds of the process.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from benchmarks.reports import Options, Result, benchmark, option
from harness.checkpoints import open_store
from harness.debug import Debugger


class Count(TypedDict):
    """Number of times that the node ran."""

    n: int


def graph_of(nodes: int, milliseconds: float) -> Any:
    """A loop of one node that computes."""

    def work(state: Count) -> dict[str, int]:
        end = time.thread_time() + milliseconds / 1e3
        while time.thread_time() < end:
            pass
        return {"n": state["n"] + 1}

    def route(state: Count) -> str:
        return END if state["n"] >= nodes else "work"

    builder: Any = StateGraph(Count)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", route, [END, "work"])
    return builder.compile()


def plain(graph: Any, path: Path) -> float:
    """CPU seconds of `ainvoke`, as the debugger calls it."""
    config = {"configurable": {"thread_id": "main"}, "recursion_limit": 10_000}
    with open_store(path) as store:
        graph.checkpointer = store
        begun = time.process_time()
        asyncio.run(graph.ainvoke({"n": 0}, config, durability="sync"))
        return time.process_time() - begun


def debugged(graph: Any, path: Path) -> float:
    """CPU seconds under the debugger."""
    with open_store(path) as store:
        debugger = Debugger(graph, store, config={"recursion_limit": 10_000})
        begun = time.process_time()
        stop = debugger.start({"n": 0}, hold=False)
        spent = time.process_time() - begun
        debugger.quit()
    assert stop.reason == "done"
    return spent


@benchmark(
    nodes=200,
    milliseconds=option(type=float, default=10),
    rounds=5,
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Measure and print."""
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds + 1):
            graph = graph_of(options.nodes, options.milliseconds)
            first = plain(graph, Path(folder) / f"plain{number}.sqlite")
            times.append((first, debugged(graph, Path(folder) / f"debugged{number}.sqlite")))
    times = times[1:]  # the first round warms imports and caches
    ratios = [second / first for first, second in times]
    return {
        "nodes": options.nodes,
        "milliseconds_per_node": options.milliseconds,
        "cpu_s_plain": round(statistics.median(first for first, _ in times), 3),
        "cpu_s_debugged": round(statistics.median(second for _, second in times), 3),
        "overhead_median": round(statistics.median(ratios) - 1, 4),
        "overhead_rounds": [round(ratio - 1, 4) for ratio in ratios],
    }
