"""How long the debugger's page takes to show a run: navigation to graph and steps drawn.

    python -m benchmarks.debug_page [--out evals/results/debug_page.json]

Runs a loop of three nodes for 200 and for 5,000 steps, serves its store, and opens the page in
headless Chromium (`chromium` on the path) several times; the server is warm, the browser's cache
is empty. Wall seconds; the median counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, TypedDict

from harness.checkpoints.opening import open_store
from harness.core import write_atomic
from harness.debug import Debugger
from harness.debug.web import open_page

SIZES = (200, 5000)
REPEATS = 5


class State(TypedDict, total=False):
    """What the loop counts."""

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


async def measured(url: str) -> list[float]:
    """Seconds until the page is drawn, of several new browser contexts."""
    from playwright.async_api import async_playwright

    found: list[float] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for repeat in range(REPEATS + 1):
            context = await browser.new_context(viewport={"width": 1280, "height": 860})
            page = await context.new_page()
            began = time.perf_counter()
            await page.goto(f"{url}#branch=main")
            await page.wait_for_selector("body[data-ready] .step")
            if repeat:  # the first one warms the server
                found.append(time.perf_counter() - began)
            await context.close()
        await browser.close()
    return found


async def view(steps: int, folder: Path) -> dict[str, Any]:
    """Run, then show in a new session, as `harness debug` would after a restart."""
    graph, path = loop(steps), folder / f"{steps}.sqlite"
    with open_store(path) as store:
        Debugger(graph, store, config={"recursion_limit": steps + 10}).start({}, hold=False)
    with open_store(path) as store:
        async with open_page(Debugger(graph, store), "loop") as url:
            found = await measured(url)
    return {
        "steps": steps,
        "seconds": [round(one, 3) for one in found],
        "median_s": round(statistics.median(found), 3),
        "store_bytes": path.stat().st_size,
    }


def main() -> None:
    """Measure both sizes and write the result."""
    parser = argparse.ArgumentParser(description="First view of the debugger's page.")
    parser.add_argument("--out", type=Path, default=Path("evals/results/debug_page.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [asyncio.run(view(steps, Path(folder))) for steps in SIZES]
    load = round(os.getloadavg()[0], 1)
    report = {"command": "python -m benchmarks.debug_page", "load_1_min": load, "runs": rows}
    write_atomic(options.out, json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
