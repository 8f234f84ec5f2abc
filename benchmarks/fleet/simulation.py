"""SIMULATED: a million rollouts over a thousand nodes; where the bottleneck is, what it costs.

    python -m benchmarks.fleet.simulation

A discrete-event simulation of a closed queueing network: rollouts take turns at the driver (claim,
request and answer of a call; a finished attempt), at the endpoints' GPUs, and in their sandboxes. A
steady state is simulated and its rate is extrapolated to the million. What a call and an attempt
cost the driver is measured here (`evals/results/fleet_service.json`); what a token costs a GPU is
taken from published figures, each with its source below; the workload is an assumption.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.reports import option, read_options, report

SOURCES = {
    "GPU": "NVIDIA, TensorRT-LLM release/0.5.0, docs/source/performance.md, H100 FP8, output "
    "tokens/s at batch 64, input/output 128/128 and 2048/128: LLaMA 7B 9,193 and 2,058 (one GPU), "
    "70B 3,317 and 843 (four). vLLM is in the same range: about 12,500 tokens/s for Llama 3.1 8B "
    "on one H100 (morphllm.com/vllm-benchmarks, 2026)",
    "price": "H100 SXM 2.49 to 3.99 dollars an hour on demand "
    "(pricegpu.pages.dev/blog/h100-vs-a100-cloud-price, 2026); 3.00 is used",
}
GPU_HOUR_USD = 3.0
SLOTS = 64
"""Requests that a replica works on at a time."""


@dataclass(frozen=True)
class ModelSpeed:
    """Published output tokens/s of a replica of `gpus`, short and long prompts (SOURCES)."""

    name: str
    gpus: int
    short: float
    long: float

    def seconds(self, prompt: float, completion: float) -> float:
        """Seconds of a whole replica that a request takes: decoding, and prefilling of `prompt`."""
        prefill = (128 / self.long - 128 / self.short) / (2048 - 128)
        return completion / self.short + prompt * prefill


SMALL = ModelSpeed("7B", 1, 9193, 2058)
LARGE = ModelSpeed("70B", 4, 3317, 843)


@dataclass(frozen=True)
class Setting:
    """A fleet and what it does.

    Attributes:
        drivers: each with its share of the rollouts, its cache and its run folder.
        call_ms: CPU time of a driver for a call.
        attempt_ms: CPU time of a driver for a finished attempt.
        calls: of a rollout.
        fresh: prompt tokens of a call that no prefix cache holds.
        completion: tokens of a reply.
        tool_s: mean seconds in the sandbox after each call, exponential.
    """

    model: ModelSpeed
    gpus: int
    drivers: int = 1
    nodes: int = 1000
    rollouts_a_node: int = 16
    call_ms: float = 0.0
    attempt_ms: float = 0.0
    calls: int = 10
    fresh: float = 800.0
    completion: float = 300.0
    tool_s: float = 1.0


class Station:
    """Servers with one queue, first come first served."""

    def __init__(self, servers: int) -> None:
        self.servers, self.free, self.busy_s = servers, servers, 0.0
        self.queue: deque[tuple[float, Callable[[], None]]] = deque()


class Simulation:
    """A fleet at work."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting, self.now, self.calls_done = setting, 0.0, 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number, self._rng = 0, random.Random(seed)
        self.drivers = [Station(1) for _ in range(setting.drivers)]
        replicas = setting.gpus // setting.model.gpus
        self.endpoint = Station(replicas * SLOTS)
        for _ in range(setting.nodes * setting.rollouts_a_node):
            self._begin(self._rng.randint(1, setting.calls))

    def run(self, calls: int) -> float:
        """Calls a second in steady state; the first third of the calls is thrown away."""
        start = 0.0
        while self.calls_done < calls:
            self.now, _, event = heapq.heappop(self._events)
            event()
            if self.calls_done == calls // 3 and not start:
                start = self.now
                for station in (*self.drivers, self.endpoint):
                    station.busy_s = 0.0
        self._window = self.now - start
        return (calls - calls // 3) / self._window

    def used(self, stations: list[Station]) -> float:
        """Share of the time that they are busy."""
        servers = sum(station.servers for station in stations)
        return min(1.0, sum(station.busy_s for station in stations) / (servers * self._window))

    def _begin(self, calls: int) -> None:
        driver = self._rng.choice(self.drivers)
        self._after(
            self._rng.expovariate(1 / self.setting.tool_s), lambda: self._call(driver, calls)
        )

    def _call(self, driver: Station, remaining: int) -> None:
        """Claim and record of a request, the reply, its record, the sandbox; then the next."""
        setting = self.setting
        third = setting.call_ms / 3000
        seconds = SLOTS * setting.model.seconds(setting.fresh, setting.completion)

        def asked() -> None:
            self._use(self.endpoint, self._rng.expovariate(1 / seconds), answered)

        def answered() -> None:
            self._use(driver, third, recorded)

        def recorded() -> None:
            self.calls_done += 1
            self._after(self._rng.expovariate(1 / setting.tool_s), then)

        def then() -> None:
            if remaining > 1:
                self._call(driver, remaining - 1)
            else:
                self._use(driver, setting.attempt_ms / 1000, lambda: self._begin(setting.calls))

        self._use(driver, 2 * third, asked)

    def _use(self, station: Station, seconds: float, then: Callable[[], None]) -> None:
        station.queue.append((seconds, then))
        self._serve(station)

    def _serve(self, station: Station) -> None:
        while station.free and station.queue:
            seconds, then = station.queue.popleft()
            station.free -= 1
            station.busy_s += seconds

            def done(then: Callable[[], None] = then) -> None:
                station.free += 1
                then()
                self._serve(station)

            self._after(seconds, done)

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (self.now + seconds, self._number, then))


def outcome(setting: Setting, rollouts: int, calls: int) -> dict[str, Any]:
    """Simulate rollouts on a fleet."""
    simulation = Simulation(setting, 41)
    rate = simulation.run(calls)
    hours = rollouts * setting.calls / rate / 3600
    driver, gpus = simulation.used(simulation.drivers), simulation.used([simulation.endpoint])
    names = {"driver": driver, "GPUs": gpus}
    busiest = max(names, key=names.__getitem__)
    work = setting.model.gpus * setting.model.seconds(setting.fresh, setting.completion)
    needed = rollouts * setting.calls * work / 3600
    return {
        "model": setting.model.name, "GPUs": setting.gpus, "drivers": setting.drivers,
        "fresh prompt tokens": setting.fresh,
        "calls/s": round(rate), "hours": round(hours, 2),
        "driver busy": round(driver, 2), "GPUs busy": round(gpus, 2),
        "bottleneck": busiest if names[busiest] > 0.9 else "latency of turns in sequence",
        "GPU hours needed": round(needed), "GPU hours paid": round(hours * setting.gpus),
        "US dollars": round(hours * setting.gpus * GPU_HOUR_USD),
    }  # fmt: skip


def settings(service: dict[str, Any]) -> list[Setting]:
    """The fleets that are compared, with what was measured."""
    measured = service["sizes"]["20 KB"]
    base = Setting(
        SMALL, 64, call_ms=measured["call: CPU ms"], attempt_ms=measured["attempt: CPU ms"]
    )
    small = [replace(base, gpus=gpus, drivers=drivers) for gpus, drivers in (
        (64, 1), (128, 1), (512, 1), (512, 8), (1000, 1), (1000, 16),
    )]  # fmt: skip
    uncached = replace(base, gpus=512, drivers=8, fresh=6000.0)
    large = [replace(base, model=LARGE, gpus=gpus, drivers=drivers) for gpus, drivers in (
        (512, 1), (2048, 1), (2048, 4),
    )]  # fmt: skip
    return [*small, uncached, *large]


def main() -> None:
    """Simulate, print and write the report."""
    options = read_options(
        __doc__,
        rollouts=1_000_000,
        calls=option(type=int, default=150_000, help="simulated for each fleet"),
        service=Path("evals/results/fleet_service.json"),
        out=Path("evals/results/fleet_simulation.json"),
    )
    service = json.loads(options.service.read_text("utf-8"))
    fleets = settings(service)
    common = asdict(replace(fleets[0], model=SMALL))
    for varied in ("model", "gpus", "drivers", "fresh"):
        del common[varied]
    kilobytes = service["KB on disk"]["20 KB"]
    count = service["count"] + 1
    disk = {
        "calls": options.rollouts * common["calls"] * kilobytes["calls.sqlite"] / count / 1e6,
        "trajectories": options.rollouts * kilobytes["trajectories"] / count / 1e6,
    }
    report(
        {
            "label": "SIMULATED; constants of the driver measured, of GPUs published",
            "rollouts": options.rollouts, "every fleet": common,
            "GB on the drivers' disks": {name: round(value) for name, value in disk.items()},
            "sources": SOURCES,
            "fleets": [outcome(fleet, options.rollouts, options.calls) for fleet in fleets],
        },
        options.out,
    )  # fmt: skip


if __name__ == "__main__":
    main()
