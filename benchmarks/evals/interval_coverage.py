"""Do the intervals of an eval report cover, and does the paired test err as seldom as it says?

    python -m benchmarks.evals.interval_coverage

SIMULATED runs, judged by the functions that `harness eval` and `harness compare` use. Every task
has a chance of passing, drawn from a Beta distribution around the mean (`spread` is its standard
deviation; 0.35 is a suite of mostly easy or mostly hopeless tasks); attempts at a task are
independent given it. Coverage is how often the 95 % interval holds the mean chance of the
population of tasks. Of two runs without an effect (the same chances) the paired test should find
one in at most 5 % of cases; with one, chances move towards 1 so that their mean rises by so many
points. Intervals of the shares themselves: Wilson's, 95 %. Where few tasks change no interval can
cover 95 %: what can be seen has too few values; the summary keeps those cells apart.

By group: the tasks of a group share their chances of passing, of being fixed and of being broken,
each drawn from a Beta distribution whose intraclass correlation is `alike`; sizes are lognormal
with a median of 12 (`spread` 0.7). The same tasks as independent ones show what a missing group
column costs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.reports import Options, Result, benchmark, share_interval
from harness.stats import change_interval, detectable_lift, rate_interval, sign_flip_p

TASKS = (10, 20, 50, 200)
ATTEMPTS = (1, 4)
MEANS = (0.1, 0.5, 0.8)
SPREADS = (0.15, 0.35)
LIFTS = (0.0, 0.1)
POWER_LIFTS = (0.05, 0.1, 0.2)
GROUPS = (8, 12, 40)
ALIKE = (0.05, 0.2, 0.5)
GROUP_MEANS = (0.5, 0.75, 0.9)
GROUP_EFFECTS = ((0.5, 0.2, 0.2), (0.5, 0.3, 0.1), (0.7, 0.5, 0.02), (0.9, 0.36, 0.04))
"""Pass rate before, share of the fails that are fixed, and of the passes that are broken."""
ENOUGH = 10
"""Tasks that change, on average, from which on a difference is expected to cover."""

Ints = NDArray[np.int64]


class Cell(NamedTuple):
    """One kind of run."""

    tasks: int
    attempts: int
    mean: float
    spread: float
    lift: float


def chances(rng: Generator, cell: Cell) -> NDArray[np.float64]:
    """Chances of passing; the spread is at most nine tenths of what the mean allows."""
    mean = cell.mean
    variance = min(cell.spread**2, 0.81 * mean * (1 - mean))
    size = mean * (1 - mean) / variance - 1
    return rng.beta(mean * size, (1 - mean) * size, cell.tasks)


@lru_cache(maxsize=200_000)
def of_run(passes: tuple[int, ...], attempts: int) -> tuple[float, float]:
    """Interval of a run in which so many attempts at every task passed."""
    groups = [[1.0] * c + [0.0] * (attempts - c) for c in passes]
    return rate_interval(groups) or (0.0, 1.0)


@lru_cache(maxsize=200_000)
def of_pair(changes: tuple[int, ...], attempts: int) -> tuple[float, float, float]:
    """Interval of a difference and its p-value, changes in attempts."""
    values = [change / attempts for change in changes]
    low, high = change_interval(values) or (-1.0, 1.0)
    return low, high, sign_flip_p(values)


def ordered(counts: Ints) -> tuple[int, ...]:
    """The order of tasks says nothing: equal runs are judged once."""
    return tuple(np.sort(counts).tolist())


def share(hits: int, runs: int) -> dict[str, Any]:
    """A share in percent with its interval."""
    interval = share_interval(hits, runs, 1, scale=100)
    return {"percent": round(100 * hits / runs, 1), "interval": interval}


def simulated(rng: Generator, cell: Cell, runs: int) -> dict[str, Any]:
    """Simulate how often both intervals hold the truth, and how often an effect is found."""
    one_arm = both_arms = rejections = moved = 0
    for _ in range(runs):
        chance = chances(rng, cell)
        better = chance + cell.lift / (1 - cell.mean) * (1 - chance)
        first, second = rng.binomial(cell.attempts, chance), rng.binomial(cell.attempts, better)
        low, high = of_run(ordered(first), cell.attempts)
        one_arm += low <= cell.mean <= high
        changes = second - first
        moved += int(np.count_nonzero(changes))
        least, most, p = of_pair(ordered(changes), cell.attempts)
        both_arms += least <= cell.lift <= most
        rejections += p <= 0.05
    return {
        **cell._asdict(), "tasks that change": round(moved / runs, 1),
        "interval of a run": share(one_arm, runs),
        "interval of a difference": share(both_arms, runs),
        "effect found": share(rejections, runs),
    }  # fmt: skip


def group_sizes(rng: Generator, groups: int) -> Ints:
    """Sizes of groups: about 3 to 50 tasks."""
    return np.maximum(1, np.rint(rng.lognormal(np.log(12), 0.7, groups))).astype(np.int64)


def shared_chances(rng: Generator, mean: float, alike: float, groups: int) -> NDArray[np.float64]:
    """Chances of groups around their mean; `alike` is the intraclass correlation of outcomes."""
    size = 1 / alike - 1
    return rng.beta(mean * size, (1 - mean) * size, groups)


def grouped_rates(
    rng: Generator, groups: int, alike: float, mean: float, runs: int
) -> dict[str, Any]:
    """Simulate how often a run's interval holds the mean, by group and as if by task."""
    hits = ungrouped = 0
    for _ in range(runs):
        sizes = group_sizes(rng, groups)
        passes = rng.binomial(sizes, shared_chances(rng, mean, alike, groups)).tolist()
        rows = [[1.0] * c + [0.0] * (n - c) for c, n in zip(passes, sizes.tolist(), strict=True)]
        low, high = rate_interval(rows) or (0.0, 1.0)
        hits += low <= mean <= high
        low, high = rate_interval([[value] for row in rows for value in row]) or (0.0, 1.0)
        ungrouped += low <= mean <= high
    return {
        "groups": groups, "alike": alike, "rate": mean,
        "by group": share(hits, runs), "by task": share(ungrouped, runs),
    }  # fmt: skip


def grouped_changes(
    rng: Generator, groups: int, alike: float, effect: tuple[float, float, float], runs: int
) -> dict[str, Any]:
    """Simulate how often the interval of a difference of two runs holds the effect."""
    mean, gain, loss = effect
    truth = (1 - mean) * gain - mean * loss
    hits = ungrouped = 0
    for _ in range(runs):
        sizes = group_sizes(rng, groups)
        before = rng.binomial(sizes, shared_chances(rng, mean, alike, groups))
        fixed = rng.binomial(sizes - before, shared_chances(rng, gain, alike, groups)).tolist()
        broken = rng.binomial(before, shared_chances(rng, loss, alike, groups)).tolist()
        changes, names = list[float](), list[str]()
        for group, (size, up, down) in enumerate(zip(sizes.tolist(), fixed, broken, strict=True)):
            changes += [1.0] * up + [-1.0] * down + [0.0] * (size - up - down)
            names += [str(group)] * size
        low, high = change_interval(changes, groups=names) or (-1.0, 1.0)
        hits += low <= truth <= high
        low, high = change_interval(changes) or (-1.0, 1.0)
        ungrouped += low <= truth <= high
    return {
        "groups": groups, "alike": alike, "rate before": mean, "difference": round(truth, 3),
        "by group": share(hits, runs), "by task": share(ungrouped, runs),
    }  # fmt: skip


def by_group(rng: Generator, runs: int) -> dict[str, Any]:
    """Coverage of every kind of grouped suite, and how many of the kinds are within two points."""
    rates = [grouped_rates(rng, *c, runs) for c in product(GROUPS, ALIKE, GROUP_MEANS)]
    changes = [grouped_changes(rng, *c, runs) for c in product(GROUPS, ALIKE, GROUP_EFFECTS)]
    result: dict[str, Any] = {}
    for name, rows in (("rate", rates), ("difference", changes)):
        for groups in GROUPS:
            shares, ungrouped = (
                [row[side]["percent"] for row in rows if row["groups"] == groups]
                for side in ("by group", "by task")
            )
            result[f"{name}, {groups} groups"] = {
                "least, mean, greatest by group": [
                    min(shares), round(sum(shares) / len(shares), 1), max(shares)
                ],
                "least, mean by task": [min(ungrouped), round(sum(ungrouped) / len(ungrouped), 1)],
            }  # fmt: skip
    return {"summary": result, "rates": rates, "differences": changes}


def cells() -> Iterator[Cell]:
    """Every kind of run whose coverage is looked at."""
    return map(Cell._make, product(TASKS, ATTEMPTS, MEANS, SPREADS, LIFTS))


def power(rng: Generator, runs: int) -> Iterator[dict[str, Any]]:
    """Simulate how often a lift from 50 % is found."""
    for tasks, attempts, lift in product(TASKS, ATTEMPTS, POWER_LIFTS):
        row = simulated(rng, Cell(tasks, attempts, 0.5, 0.35, lift), runs)
        discordance = row["tasks that change"] / tasks
        formula = detectable_lift(tasks, discordance) if attempts == 1 else None
        yield {
            "tasks": tasks, "attempts": attempts, "lift": lift,
            "found": row["effect found"], "tasks that change": row["tasks that change"],
            "detectable at 80 % by formula": formula and round(formula, 3),
        }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Least and greatest coverage, few tasks or changes apart, and the most false findings."""

    def spread(results: list[dict[str, Any]], name: str) -> list[float]:
        shares = [row[name]["percent"] for row in results]
        return [min(shares), round(sum(shares) / len(shares), 1), max(shares)]

    run, pair = "interval of a run", "interval of a difference"
    enough = [row for row in rows if row["tasks that change"] >= ENOUGH]
    few = [row for row in rows if row["tasks that change"] < ENOUGH]
    return {
        "of": "least, mean, greatest percent of the cells",
        "run, from 20 tasks on": spread([row for row in rows if row["tasks"] >= 20], run),
        "run, 10 tasks": spread([row for row in rows if row["tasks"] == 10], run),
        f"difference, {ENOUGH} or more tasks change": spread(enough, pair),
        f"difference, fewer than {ENOUGH} tasks change": spread(few, pair),
        "found where nothing is": spread([row for row in rows if not row["lift"]], "effect found"),
    }


@benchmark(runs=2000, seed=11, out=Path("evals/results/eval_statistics.json"))
def main(options: Options) -> Result:
    """Simulate, print and write the report."""
    rng, started = np.random.default_rng(options.seed), time.process_time()
    rows: list[dict[str, Any]] = []
    for cell in cells():
        rows.append(simulated(rng, cell, options.runs))
        print(json.dumps(rows[-1]), flush=True)
    table, grouped = list(power(rng, options.runs)), by_group(rng, options.runs)
    print(json.dumps(grouped["summary"], indent=1), flush=True)
    return {
        "simulated": True, "runs": options.runs, "seed": options.seed,
        "cpu_s": round(time.process_time() - started), "summary": summary(rows),
        "by group": grouped, "power from 50 %": table, "cells": rows,
    }  # fmt: skip
