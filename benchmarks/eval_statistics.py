"""Do the intervals of an eval report cover, and does the paired test err as seldom as it says?

    python -m benchmarks.eval_statistics --runs 2000

SIMULATED runs, judged by the functions that `harness eval` and `harness compare` use. Every task
has a chance of passing, drawn from a Beta distribution around the mean (`spread` is its standard
deviation; 0.35 is a suite of mostly easy or mostly hopeless tasks); attempts at a task are
independent given it. Coverage is how often the 95 % interval holds the mean chance of the
population of tasks. Of two runs without an effect (the same chances) the paired test should find
one in at most 5 % of cases; with one, chances move towards 1 so that their mean rises by so many
points. Intervals of the shares themselves: Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from harness.core import write_atomic
from harness.evals.statistics import compare_paired, detectable_lift, pass_rate_interval, wilson
from harness.evals.types import ItemRecord

TASKS = (10, 20, 50, 200)
EPOCHS = (1, 4)
MEANS = (0.1, 0.5, 0.8)
SPREADS = (0.15, 0.35)
LIFTS = (0.05, 0.1, 0.2)


def chances(rng: Generator, tasks: int, mean: float, spread: float) -> NDArray[np.float64]:
    """Chances of passing; the spread is at most nine tenths of what the mean allows."""
    variance = min(spread**2, 0.81 * mean * (1 - mean))
    size = mean * (1 - mean) / variance - 1
    return rng.beta(mean * size, (1 - mean) * size, tasks)


def attempts(rng: Generator, chance: NDArray[np.float64], epochs: int) -> list[ItemRecord]:
    """Records of a run in which every task is attempted so often."""
    passed = rng.random((len(chance), epochs)) < chance[:, None]
    return [
        ItemRecord.model_construct(
            id=f"{task}@{epoch}", task_id=str(task), epoch=epoch,
            outcome="pass" if passed[task, epoch] else "fail", value=float(passed[task, epoch]),
        )
        for task in range(len(chance))
        for epoch in range(epochs)
    ]  # fmt: skip


def cells() -> Iterator[tuple[int, int, float, float]]:
    """Tasks, attempts, mean and spread of every cell."""
    for tasks in TASKS:
        for epochs in EPOCHS:
            for mean in MEANS:
                for spread in SPREADS:
                    yield tasks, epochs, mean, spread


def share(hits: int, runs: int) -> dict[str, Any]:
    """A share in percent with its interval."""
    low, high = wilson(hits, runs) or (0.0, 1.0)
    return {"percent": round(100 * hits / runs, 1),
            "interval": [round(100 * low, 1), round(100 * high, 1)]}  # fmt: skip


def covered(rng: Generator, cell: tuple[int, int, float, float], runs: int) -> dict[str, Any]:
    """How often the interval of one run holds the mean, and that of two their difference."""
    tasks, epochs, mean, spread = cell
    one = both = found = 0
    for _ in range(runs):
        chance = chances(rng, tasks, mean, spread)
        first, second = attempts(rng, chance, epochs), attempts(rng, chance, epochs)
        low, high = pass_rate_interval(first) or (0.0, 1.0)
        one += low <= mean <= high
        paired = compare_paired(first, second)
        least, most = paired.ci95 or (-1.0, 1.0)
        both += least <= 0 <= most
        found += paired.p is not None and paired.p <= 0.05
    return {
        "tasks": tasks, "attempts": epochs, "mean": mean, "spread": spread,
        "interval of a run": share(one, runs), "interval of a difference": share(both, runs),
        "effect found where none is": share(found, runs),
    }  # fmt: skip


def powered(rng: Generator, tasks: int, lift: float, runs: int) -> dict[str, Any]:
    """How often a lift from 50 % is found with one attempt a task."""
    found = held = 0
    discordance = 0.0
    for _ in range(runs):
        chance = chances(rng, tasks, 0.5, 0.35)
        better = chance + 2 * lift * (1 - chance)
        paired = compare_paired(attempts(rng, chance, 1), attempts(rng, better, 1))
        found += paired.p is not None and paired.p <= 0.05
        low, high = paired.ci95 or (-1.0, 1.0)
        held += low <= lift <= high
        discordance += (paired.discordance or 0.0) / runs
    return {
        "tasks": tasks, "lift": lift, "found": share(found, runs), "covered": share(held, runs),
        "tasks that change": round(discordance, 3),
        "detectable by formula": detectable_lift(tasks, discordance),
    }  # fmt: skip


def main() -> None:
    """Simulate, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", type=Path, default=Path("evals/results/eval_statistics.json"))
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    report: dict[str, Any] = {"simulated": True, "runs": options.runs, "cells": [], "power": []}
    for cell in cells():
        report["cells"].append(covered(rng, cell, options.runs))
        print(json.dumps(report["cells"][-1]), flush=True)
    for tasks in TASKS:
        for lift in LIFTS:
            report["power"].append(powered(rng, tasks, lift, options.runs))
            print(json.dumps(report["power"][-1]), flush=True)
    write_atomic(options.out, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
