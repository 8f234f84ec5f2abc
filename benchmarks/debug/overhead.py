"""Cost of the debugger to a run without breakpoints, and of one of its steps.

`python -m benchmarks.debug.overhead [--nodes 200] [--milliseconds 10] [--rounds 5] [--out FILE]`
The same graph and durability in turn: under the debugger, without it on the same store, and without
it on LangGraph's AsyncSqliteSaver. Every node computes for the given CPU time. The figures are
ratios of CPU seconds of the process; with `--milliseconds 0` they compare the steps alone.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

from benchmarks.reports import Options, Result, benchmark, in_turn, option
from harness.checkpoints import open_store
from harness.debug import Debugger
from tests.checkpoints.graphs import thread


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
    builder.add_conditional_edges("work", route)
    return builder.compile()


def debugged(graph: Any, path: Path) -> None:
    """Run it under the debugger."""
    with open_store(path) as store:
        debugger = Debugger(graph, store, config={"recursion_limit": 10_000})
        assert debugger.start({"n": 0}, hold=False).reason == "done"
        debugger.quit()


async def alone(graph: Any, path: Path, *, peer: bool) -> None:
    """Run it as the debugger does, on its store or on LangGraph's."""
    config = thread("main", 10_000)
    if peer:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as graph.checkpointer:
            await graph.ainvoke({"n": 0}, config, durability="sync")
    else:
        with open_store(path) as graph.checkpointer:
            await graph.ainvoke({"n": 0}, config, durability="sync")


@benchmark(
    nodes=200,
    milliseconds=option(type=float, default=10),
    rounds=5,
    out=option(type=Path),
)
def main(options: Options) -> Result:
    """Measure and print."""
    graph = graph_of(options.nodes, options.milliseconds)
    with tempfile.TemporaryDirectory() as folder:
        files = (Path(folder) / f"{number}.sqlite" for number in count())
        arms = {
            "plain": lambda: asyncio.run(alone(graph, next(files), peer=False)),
            "debugged": lambda: debugged(graph, next(files)),
            "sqlite_saver": lambda: asyncio.run(alone(graph, next(files), peer=True)),
        }
        seconds = in_turn(arms, options.rounds)
    ratios = [second / first for first, second in zip(*list(seconds.values())[:2], strict=True)]
    return {
        "nodes": options.nodes,
        "milliseconds_per_node": options.milliseconds,
        **{f"cpu_s_{arm}": round(statistics.median(times), 3) for arm, times in seconds.items()},
        "overhead_median": round(statistics.median(ratios) - 1, 4),
        "overhead_rounds": [round(ratio - 1, 4) for ratio in ratios],
        "to_sqlite_saver_fastest": round(
            min(seconds["debugged"]) / min(seconds["sqlite_saver"]), 3
        ),
    }
