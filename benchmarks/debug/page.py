"""Time of the page: a graph and its steps drawn, a run's samples listed and searchable.

    python -m benchmarks.debug.page [--out evals/results/debug_page.json]

Runs a loop of three nodes for 200 and for 5,000 steps, serves its store, and opens the page in
headless Chromium (`chromium` on the path) several times; the server is warm, the browser's cache
is empty. Then the same with an eval run of 500 and of 5,000 samples of 8 kB each: until the first
page of them stands with what was asked. Wall seconds; the median counts.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, TypedDict

from benchmarks.reports import read_options, report
from harness.checkpoints import open_store
from harness.core import AgentInfo, Step, Trajectory
from harness.core.rundir import RunWriter
from harness.debug import Debugger
from harness.debug.web import Library, open_page, open_view
from harness.evals import ItemRecord

SIZES = (200, 5000)
SAMPLES = (500, 5000)
REPEATS = 5


class State(TypedDict, total=False):
    """Counter of the loop."""

    n: int
    note: str


def loop(steps: int) -> Any:
    """A graph of three nodes in a ring that ends after so many steps."""
    from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]  # langgraph ships no stubs

    def work(state: State) -> dict[str, Any]:
        return {"n": state.get("n", 0) + 1, "note": f"step {state.get('n', 0)} " * 8}

    def route(state: State) -> str:
        return END if state.get("n", 0) >= steps - 2 else "read"

    graph: Any = StateGraph(State)
    for name in ("read", "think", "act"):
        graph.add_node(name, work)
    graph.add_edge(START, "read")
    graph.add_edge("read", "think")
    graph.add_edge("think", "act")
    graph.add_conditional_edges("act", route, ["read", END])
    return graph.compile()


async def measured(url: str, drawn: str) -> list[float]:
    """Seconds until the page has what the selector `drawn` finds, in new browser contexts."""
    from playwright.async_api import async_playwright

    seconds: list[float] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for repeat in range(REPEATS + 1):
            context = await browser.new_context(viewport={"width": 1280, "height": 860})
            page = await context.new_page()
            began = time.perf_counter()
            await page.goto(url)
            await page.wait_for_selector(drawn)
            if repeat:  # the first one warms the server
                seconds.append(time.perf_counter() - began)
            await context.close()
        await browser.close()
    return seconds


async def view(steps: int, folder: Path) -> dict[str, Any]:
    """Run, then show in a new session, as `harness debug` would after a restart."""
    graph, path = loop(steps), folder / f"{steps}.sqlite"
    with open_store(path) as store:
        Debugger(graph, store, config={"recursion_limit": steps + 10}).start({}, hold=False)
    with open_store(path) as store:
        async with open_page(Debugger(graph, store), "loop") as url:
            step_seconds = await measured(f"{url}#branch=main", "body[data-ready] .step")
    return {"steps": steps, **_summary(step_seconds), "store_bytes": path.stat().st_size}


def _summary(seconds: list[float]) -> dict[str, Any]:
    return {
        "seconds": [round(value, 3) for value in seconds],
        "median_s": round(statistics.median(seconds), 3),
    }


def write_samples(path: Path, count: int) -> None:
    """An eval run of so many samples."""
    lock = {"kind": "eval", "suite": "loop", "model": "none", "simulated": True}
    with RunWriter(path, {**lock, "skill_name": None, "tasks": "0", "agent": "none"}) as run:
        for number in range(count):
            steps = (
                Step(step_id=1, source="user", message=f"Question {number}? " * 8),
                Step(step_id=2, source="agent", message=f"I think {number}. " * 600),
            )
            agent = AgentInfo(name="none", version="0")
            trajectory = Trajectory(trajectory_id=f"t{number}", agent=agent, steps=steps)
            run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
            outcome = "pass" if number % 3 else "fail"
            item = ItemRecord(id=f"t{number}", task_id=f"t{number}", outcome=outcome, value=1.0)
            run.append_item(item.model_dump(mode="json"))


async def view_samples(count: int, folder: Path) -> dict[str, Any]:
    """The first page of a run's samples, each with what was asked."""
    path = folder / "runs" / str(count)
    write_samples(path, count)
    async with open_view(Library(path)) as url:
        cell = "//td[@class='task'][contains(., 'Question')]"
        return {"samples": count, **_summary(await measured(url, cell))}


def main() -> None:
    """Measure both sizes and write the result."""
    options = read_options("First view of the page.", out=Path("evals/results/debug_page.json"))
    with tempfile.TemporaryDirectory() as folder:
        rows = [asyncio.run(view(steps, Path(folder))) for steps in SIZES]
        lists = [asyncio.run(view_samples(count, Path(folder))) for count in SAMPLES]
    result = {
        "command": "python -m benchmarks.debug.page",
        "load_1_min": round(os.getloadavg()[0], 1),
        "runs": rows,
        "samples": lists,
    }
    report(result, options.out)


if __name__ == "__main__":
    main()
