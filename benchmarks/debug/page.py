"""Seconds until the page of a long run, and the page of a sample with long answers, can be used.

`python -m benchmarks.debug.page [--steps 5000] [--rounds 5] [--out FILE]`
Each round opens both in a Chromium that runs already: a run of that many steps, each of which
appends a message of 1 kB, and a sample whose answers are a megabyte of Markdown. A busy machine
slows all of it: the fastest round says most, beside the load of the machine.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option
from harness.checkpoints import open_store
from harness.debug import Debugger
from harness.debug.web import Library, open_page, open_view
from tests.browser import browser_at
from tests.checkpoints.graphs import talk
from tests.debug.web.worlds import write_long_sample


async def views(debugger: Debugger, runs: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds until each page can be used, at a fresh address in every round."""
    seconds: dict[str, list[float]] = {"debugger": [], "sample": []}
    async with browser_at("about:blank") as (page, _):
        for name in [*seconds] * rounds:
            debugger.open("main")
            view = open_view(Library(runs)) if name == "sample" else open_page(debugger, "talk")
            async with view as url:
                begun = time.perf_counter()
                await page.goto(url + ("#run=eval&item=t1" if name == "sample" else ""))
                await page.wait_for_selector("body[data-ready]", state="attached")
                seconds[name].append(round(time.perf_counter() - begun, 3))
                await page.goto("about:blank")  # asks for no news while the server ends
    return seconds


@benchmark(steps=5000, rounds=5, out=option(type=Path))
def main(options: Options) -> Result:
    """Measure and print."""
    config: Any = {"recursion_limit": 2 * options.steps}
    with tempfile.TemporaryDirectory() as name, open_store(Path(name) / "long.sqlite") as store:
        write_long_sample(Path(name) / "eval")
        debugger = Debugger(talk(options.steps).compile(), store, config=config)
        debugger.start({"messages": [], "turn": 0}, hold=False)
        seconds = asyncio.run(views(debugger, Path(name), options.rounds))
    return {
        "steps": options.steps,
        "load": round(os.getloadavg()[0], 1),
        "seconds_fastest": {page: min(times) for page, times in seconds.items()},
        "seconds": seconds,
    }
