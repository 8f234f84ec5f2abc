"""Time and memory of an evolution against the number of trajectories, with the simulated model.

    python -m benchmarks.evolution.scale [--sizes 625,1250,2500,5000,10000] [--out FILE]

Each size runs in a process of its own: trajectories of about 12 kB are written as a store, read by
one simulated analyst each (`simulated/lookup`: a real client and a real HTTP app in process),
merged without a model, applied, verified and reported. SIMULATED: says nothing about quality.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.reports import Options, Result, benchmark, in_fresh_process, option, peak_mb
from harness.core import AgentInfo, Observation, ObservationResult, Step, ToolCall, Trajectory

NUMBERS = ("seven", "eleven", "forty", "ninety")
CHARACTERS = 12_000


def trajectory(number: int) -> Trajectory:
    """A failed run whose log shows one of the profile's planted failures."""
    kinds = (
        f"The answer to the question is {NUMBERS[number % 4]}.",
        f"{number} units",
        f"I looked at the material. It seems to be {number}, as far as I can tell.",
    )
    prompt = f"How many boxes did carrier {number} bring on day {number % 31}?"
    row = f"carrier {number} brought boxes to the warehouse at the harbour on day {number % 31}; "
    material = row * (CHARACTERS // len(row))
    call = ToolCall(tool_call_id="1", function_name="bash", arguments={"command": "cat log.txt"})
    seen = Observation(results=(ObservationResult(source_call_id="1", content=material),))
    return Trajectory(
        trajectory_id=f"run-{number}",
        agent=AgentInfo(name="benchmark", version="1"),
        steps=(
            Step(step_id=1, source="user", message=prompt),
            Step(step_id=2, source="agent", message="Look.", tool_calls=(call,), observation=seen),
            Step(step_id=3, source="agent", message=kinds[number % len(kinds)]),
        ),
        extra={
            "harness": {
                "task_id": f"task-{number}",
                "task": {"prompt": prompt},
                "outcome": "fail",
                "answer": kinds[number % len(kinds)],
                "simulated": True,
            }
        },
    )


def measure(size: int) -> dict[str, float]:
    """One evolution of `size` trajectories: seconds and peak memory of this process in MiB."""
    from harness.evolve import EvolveOptions, evolve
    from harness.models import CallStore, open_model
    from harness.trajectories import TrajectoryStore

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with TrajectoryStore(root / "runs") as store:
            for number in range(size):
                store.append(trajectory(number))
        out = root / "out"
        out.mkdir()
        calls = CallStore(out / "calls.sqlite")
        model = open_model("simulated/lookup", calls=calls, concurrency=128, role="analyst")
        options = EvolveOptions(out=out, create="scale", trajectories=root / "runs")
        started = time.monotonic()
        result = asyncio.run(evolve(options, model=model))
        seconds = time.monotonic() - started
    peak = peak_mb()
    return {"size": size, "seconds": seconds, "mib": peak, "records": result.records}


@benchmark(
    sizes="625,1250,2500,5000,10000",
    out=option(type=Path),
)
def main(arguments: Options) -> Result:
    rows: list[dict[str, float]] = []
    for size in (int(size_text) for size_text in arguments.sizes.split(",")):
        row = in_fresh_process(measure, size)
        rows.append(row)
        per_trajectory = 1000 * row["seconds"] / size
        print(f"{size:>6} trajectories  {row['seconds']:7.1f} s  {per_trajectory:5.1f} ms each"
              f"  {row['mib']:6.0f} MiB", flush=True)  # fmt: skip
    exponent = None  # slope of log(seconds) over log(size): 1 is linear
    if len(rows) > 1:
        sizes, seconds = ([math.log(row[key]) for row in rows] for key in ("size", "seconds"))
        exponent = statistics.linear_regression(sizes, seconds).slope
    return {"simulated": True, "rows": rows, "exponent": exponent}
