"""Wall time of a fleet of analysts against its critical path, and against one after another.

    python -m benchmarks.fleet.analysts [--repeats 3] [--runs 128] [--sequential] [--out FILE]

A mock endpoint over loopback answers in 2 s (log-normal, sigma 0.4), refuses 3 % of the requests
with 429 and lets 1 % hang. `harness.evolve` reads 128 trajectories with the single-call analyst,
128 at a time, writes a patch each and merges them by model in batches of 32. The critical path is
the longest chain of answered requests that depend on one another, without any overhead, refusal
or hang. MOCK endpoint: says nothing about a model.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.reports import Options, Result, benchmark, option
from harness.core import AgentInfo, Step, Trajectory
from harness.evolve import AnalystRecord, EvolveOptions, EvolveResult, MemoryItem, batches, evolve
from harness.evolve.analysts.single import write_patch
from harness.models import CallStore, open_model

CONCURRENCY, BATCH = 128, 32


def trajectory(number: int, repeat: int) -> Trajectory:
    """A failed run."""
    observation = f"The run number {number} ended badly in repeat {repeat}."
    return Trajectory(
        trajectory_id=f"run-{number:04d}",
        agent=AgentInfo(name="benchmark", version="1"),
        steps=(
            Step(step_id=1, source="user", message=f"Do task {number}."),
            Step(step_id=2, source="agent", message=observation),
        ),
        extra={"harness": {"task_id": f"task-{number}", "outcome": "fail", "answer": "x"}},
    )


def log_of(url: str) -> dict[str, Any]:
    """Read the endpoint's log."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/log") as answer:
        return json.load(answer)


def critical_path_s(log: list[dict[str, Any]], runs: int) -> float:
    """The longest chain: analyst and map of a run, then the merge of its batch, and so on."""
    chains = [0.0] * runs
    for call in log:
        if call["role"] in ("analyst", "map"):
            chains[call["run"]] += call["seconds"]
    merges = [call for call in log if call["role"] == "merge"]
    levels = [(list(range(runs)), chains)]
    while len(levels[-1][0]) > 1:
        first, ends = levels[-1]
        members: list[list[int]] = batches(first, BATCH)
        dealt: list[list[float]] = batches(ends, BATCH)
        took, merges = merges[: len(dealt)], merges[len(dealt) :]
        # A merge names a run of its batch, and a level starts when the one before it has ended.
        seconds = [
            next(m["seconds"] for m in took if m["run"] in range(member[0], member[-1] + BATCH))
            for member in members
        ]
        merged = [max(end) + s for end, s in zip(dealt, seconds, strict=True)]
        levels.append(([member[0] for member in members], merged))
    return levels[-1][1][0]


def parallel(url: str, runs: int, repeat: int) -> dict[str, float]:
    """One evolution; its wall time and the critical path of the same requests."""
    before = len(log_of(url)["log"])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        source = Path(folder) / "runs"
        source.mkdir()
        for number in range(runs):
            example = trajectory(number, repeat)
            text = example.model_dump_json(exclude_none=True)
            (source / f"{example.trajectory_id}.json").write_text(text)
        out.mkdir()
        options = EvolveOptions(
            out=out, create="fleet", trajectories=source, merge="model", merge_batch=BATCH,
            concurrency=CONCURRENCY,
        )  # fmt: skip
        model = open_model(
            "openai/mock", base_url=url, calls=CallStore(out / "calls.sqlite"),
            concurrency=CONCURRENCY, role="analyst", hedge=True,
        )  # fmt: skip

        async def run() -> EvolveResult:
            try:
                return await evolve(options, model=model)
            finally:
                await model.aclose()

        started = time.monotonic()
        result = asyncio.run(run())
        wall = time.monotonic() - started
    facts = log_of(url)
    path = critical_path_s(facts["log"][before:], runs)
    if result.records != runs:
        raise SystemExit(f"expected {runs} records, got {result.records}")
    return {"wall_s": wall, "critical_path_s": path, "ratio": wall / path}


def sequential_s(url: str, runs: int, batch: int) -> float:
    """Wall time of refining one skill with `batch` records a call, one call after the other."""
    # One call at a time, and room for the second request of one that hangs.
    model = open_model("openai/mock", base_url=url, concurrency=2, role="analyst", hedge=True)

    async def run() -> None:
        for start in range(0, runs, batch):
            lessons = [f"Lesson {n} of sequence {batch}." for n in range(start, start + batch)]
            items = tuple(MemoryItem(title="Rule", lesson=lesson) for lesson in lessons)
            name = f"record-{batch}-{start}"
            record = AnalystRecord(kind="error", trajectory_id=name, task_id=name, items=items)
            await write_patch(record, start, model, f"# Skill after {start} records")
        await model.aclose()

    started = time.monotonic()
    asyncio.run(run())
    return time.monotonic() - started


@benchmark(
    repeats=3,
    runs=128,
    sequential=option(action="store_true", help="B = 1 and 4 too (6 minutes)"),
    out=option(type=Path),
)
def main(arguments: Options) -> Result:
    os.environ.setdefault("OPENAI_API_KEY", "mock")
    rows: list[dict[str, float]] = []
    with endpoint("benchmarks.fleet.server") as url:
        for repeat in range(arguments.repeats):
            rows.append(parallel(url, arguments.runs, repeat))
            print(json.dumps(rows[-1]), flush=True)
        batch_sizes = (4, 1) if arguments.sequential else ()
        one_by_one = {f"B = {b}": sequential_s(url, arguments.runs, b) for b in batch_sizes}
        facts = log_of(url)
    return {
        "mock": True,
        "runs": arguments.runs,
        "rows": rows,
        "median_ratio": statistics.median(row["ratio"] for row in rows),
        "sequential_s": one_by_one,
        "refused": facts["refused"],
        "hung": facts["hung"],
        "most_active": facts["most_active"],
    }
