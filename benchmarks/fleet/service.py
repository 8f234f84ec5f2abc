"""Cost of a model call and of a worker's finished attempt to the driver of a fleet.

    python -m benchmarks.fleet.service

One worker process asks the driver's model, which asks an endpoint in a process of its own, or hands
back finished attempts, as fast as the driver lets it, so many at a time; the seconds of CPU time of
the driver's process per call or attempt are what bounds a fleet
(:mod:`benchmarks.fleet.simulation` takes them from the report). Requests and trajectories are made
of English-like words, since compression is part of it.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.endpoints import endpoint
from benchmarks.reports import option, read_options, report
from harness.core import Trajectory
from harness.core.rundir import RunWriter
from harness.evals import ItemRecord
from harness.fleet import Channel, LocalExecutor, Methods, Work, open_fleet
from harness.fleet.attempts import RemoteModel, answer_calls
from harness.models import CallStore, Sampling, open_model

SIZES_KB = (2, 20, 100)


def words(count: int, rng: random.Random) -> str:
    """So many words of a vocabulary of 3,000."""
    letters = "etaoinshrdlcum"
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(3000)]
    return " ".join(rng.choices(vocabulary, k=count))


def conversation(kilobytes: int, seed: int) -> list[dict[str, str]]:
    """A conversation of about so many kilobytes in twenty messages."""
    text = words(kilobytes * 160, random.Random(seed))
    part = len(text) // 20 + 1
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text[n * part : (n + 1) * part]} for n in range(20)]


@asynccontextmanager
async def busy(
    channel: Channel, spec: dict[str, Any], trees: dict[str, Path]
) -> AsyncGenerator[Methods]:
    """A worker that only asks."""
    model = RemoteModel(channel, "openai/mock", False)
    messages = conversation(spec["kilobytes"], 0)
    trajectory = {
        "schema_version": "ATIF-v1.8", "trajectory_id": "t", "session_id": "t",
        "agent": {"name": "benchmark", "version": "1"},
        "steps": [
            {"step_id": n + 1, "source": "user" if n % 2 == 0 else "agent",
             "message": message["content"]}
            for n, message in enumerate(messages)
        ],
    }  # fmt: skip

    async def call(number: int) -> None:
        await model.complete([*messages], sampling=Sampling(seed=number + 1))

    async def attempt(number: int) -> dict[str, Any]:
        item = ItemRecord(id=f"t{number}", task_id=f"t{number}", outcome="pass", value=1.0)
        return {"item": item.model_dump(mode="json"), "trajectory": trajectory}

    yield {"call": call, "attempt": attempt}


async def measured(
    folder: Path, kilobytes: int, count: int, slots: int, url: str
) -> dict[str, float]:
    """CPU and wall milliseconds of the driver for a call, and for a finished attempt."""
    with (
        CallStore(folder / f"calls-{kilobytes}.sqlite") as store,
        RunWriter(folder / f"run-{kilobytes}", {}) as run,
    ):
        model = open_model("openai/mock", base_url=url, calls=store, concurrency=slots)
        services = {"complete": answer_calls(model, {})}
        work = Work("benchmarks.fleet.service:busy", {"kilobytes": kilobytes})
        async with open_fleet(LocalExecutor(1), work, services) as fleet:

            async def attempt(number: int) -> None:
                reply = await fleet.call("attempt", number)
                trajectory = Trajectory.model_validate(reply["trajectory"])
                item = ItemRecord.model_validate(reply["item"])
                run.append_trajectory(trajectory.model_dump(mode="json", exclude_none=True))
                run.append_item(item.model_dump(mode="json"))

            async def call(number: int) -> None:
                await fleet.call("call", number)

            figures: dict[str, float] = {}
            for name, action in (("call", call), ("attempt", attempt)):
                await action(-1)
                figures |= await _timed(name, action, count, slots)
        await model.aclose()
    return figures


async def _timed(name: str, action: Any, count: int, slots: int) -> dict[str, float]:
    gate = asyncio.Semaphore(slots)

    async def gated(number: int) -> None:
        async with gate:
            await action(number)

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(gated(number) for number in range(count)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        f"{name}: CPU ms": round(1000 * cpu / count, 3),
        f"{name}: wall ms": round(1000 * wall / count, 3),
    }


def main() -> None:
    """Measure, print and write the report."""
    options = read_options(
        __doc__,
        count=400,
        slots=64,
        folder=option(type=Path, help="for the files; default a temporary one"),
        out=Path("evals/results/fleet_service.json"),
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, endpoint() as url:
        sizes = {
            f"{kilobytes} KB": asyncio.run(
                measured(Path(folder), kilobytes, options.count, options.slots, url)
            )
            for kilobytes in SIZES_KB
        }
        files = {"calls.sqlite": "calls-{}.sqlite", "trajectories": "run-{}/trajectories.seg"}
        disk = {
            f"{size} KB": {
                name: round(Path(folder, place.format(size)).stat().st_size / 1024)
                for name, place in files.items()
            }
            for size in SIZES_KB
        }
    result = {"count": options.count, "at a time": options.slots, "sizes": sizes}
    report({**result, "KB on disk": disk}, options.out)


if __name__ == "__main__":
    main()
