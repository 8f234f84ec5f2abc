"""False acceptance, power and cost of gates, by simulation.

Run: python -m benchmarks.evolution.gate [--decisions 2000] [--out evals/results/gate.json]

Every cell draws paired results of n tasks with known discordance and true lift and lets four gates
judge the same draws: the sequential gate, a fixed one-sided exact McNemar test on all tasks, the
same test repeated naively at every look, and "a strictly better mean". K > 1 divides the error of
the first three by K; false acceptance is then that of one candidate. Epochs 3: three attempts a
side; a task has its own true pass rates, so attempts at it are correlated.
"""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.reports import Options, Result, benchmark, option
from harness.stats import (
    SequentialPlan,
    Stopped,
    fixed_power,
    fixed_tasks,
    sign_flip_p,
    upper_limit,
    walk_boundaries,
    walk_quantile,
    z_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DISCORDANCE = (0.05, 0.10, 0.15, 0.20, 0.25, 0.40)
LIFTS = (0.0, -0.05, 0.05, 0.10, 0.15)
TASKS = (50, 100, 200, 400)
CANDIDATES = (1, 4, 16)
EPOCHS = (1, 3)
SKEWED: dict[str, tuple[tuple[float, float, float], ...]] = {
    "nothing changes": ((1.0, 0.5, 0.5),),
    "one in 4 breaks": ((0.75, 0.0, 1 / 3), (0.25, 1.0, 0.0)),
    "one in 5 breaks": ((0.8, 0.75, 0.95), (0.2, 0.95, 0.15)),
    "one in 10 breaks": ((0.9, 0.0, 0.1), (0.1, 0.95, 0.05)),
    "one in 20 breaks": ((0.95, 0.5, 0.55), (0.05, 1.0, 0.05)),
    "half never changes": ((0.5, 0.0, 0.0), (0.45, 0.0, 0.1), (0.05, 0.95, 0.05)),
    "one in 10 is mended": ((0.9, 0.1, 0.0), (0.1, 0.05, 0.95)),
    "ten points better": (),
}
"""Shares of the tasks with pass rates before and after; () stands for rates of all heights."""
COMPARED = 1000
ESTIMATED = 400
"""Decisions of a cell whose adjusted estimate is computed."""


class Draw(NamedTuple):
    """Simulated comparisons: summed changes, sizes and squares at the looks of a plan."""

    sums: Ints
    sizes: Ints
    net: Ints
    unit: int


def changes(
    rng: np.random.Generator, shape: tuple[int, int], psi: float, lift: float, epochs: int
) -> Ints:
    """Changes of tasks in units of 1 / epochs, [decisions, tasks].

    A share psi of the tasks really changes, wins with probability (1 + lift / psi) / 2. With
    several epochs every attempt follows its task's own result, but one in ten goes astray alike on
    both sides, which keeps a change without effect symmetric.
    """
    # The first draw says which tasks change, so that with one seed it is the same for all lifts.
    moves = rng.random(shape) < psi
    wins = rng.random(shape) < (1 + lift / psi) / 2
    win, loss = moves & wins, moves & ~wins
    if epochs == 1:
        return win.astype(np.int64) - loss
    base = rng.random(shape) < 0.5
    before = np.where(win, False, np.where(loss, True, base))
    after = np.where(win, True, np.where(loss, False, base))
    passed = [
        rng.binomial(epochs, np.where(side, 0.9, 0.1)).astype(np.int64) for side in (before, after)
    ]
    return passed[1] - passed[0]


def at_looks(moved: Ints, ends: tuple[int, ...], unit: int) -> Draw:
    """Sums [decisions, looks], and steps of each size, all and net, [decisions, looks, unit]."""
    sums = np.stack([moved[:, :end].sum(axis=1) for end in ends], axis=1)

    def counts(value: int) -> Ints:
        """Changes of that value at each look."""
        hits = [(moved[:, a:b] == value).sum(axis=1) for a, b in pairwise((0, *ends))]
        return np.stack(hits, axis=1)

    gains, losses = (
        np.stack([counts(sign * (step + 1)) for step in range(unit)], axis=2) for sign in (1, -1)
    )
    return Draw(sums, gains + losses, gains - losses, unit)


def mcnemar(draw: Draw, look: int, level: float) -> NDArray[np.bool_]:
    """Accepted by the one-sided exact test on all tasks up to a look; signs for several epochs."""
    moved = draw.sizes[:, : look + 1].sum(axis=1)
    if draw.unit == 1:
        n, wins = moved[:, 0], (moved[:, 0] + draw.sums[:, look]) // 2
        p_values: NDArray[np.float64] = np.asarray(binom.sf(wins - 1, n, 0.5), dtype=np.float64)
        return p_values <= level
    # Normal sign-flip test, which is what a fixed analysis of clustered results would use.
    spread = np.sqrt(moved @ np.arange(1, draw.unit + 1) ** 2)
    return draw.sums[:, look] >= z_of(1 - level) * np.maximum(spread, 1e-9)


def cell(
    plan: SequentialPlan, draw: Draw, bounds: tuple[Ints, Floats], lift: float, estimate: bool
) -> dict[str, Any]:
    """One row of the table."""
    upper, lower = bounds
    count, looks = draw.sums.shape
    accepted, stop = first_exit(draw, upper, lower)
    run = np.asarray(plan.look_sizes)[stop]
    level = plan.alpha / plan.candidates
    fixed = mcnemar(draw, looks - 1, level)
    peeking = np.any([mcnemar(draw, look, level) for look in range(looks)], axis=0)
    row: dict[str, Any] = {
        "discordance": plan.discordance, "lift": lift, "tasks": plan.tasks,
        "candidates": plan.candidates, "epochs": plan.epochs, "decisions": count,
        "accepted": float(accepted.mean()), "upper95": upper_limit(int(accepted.sum()), count),
        "tasks_run": float(run.mean()), "share_run": float(run.mean() / plan.tasks),
        "fixed": float(fixed.mean()), "peeking": float(peeking.mean()),
        "better_mean": float((draw.sums[:, -1] > 0).mean()),
    }  # fmt: skip
    if estimate:
        row |= biases(plan, draw, bounds, stop, accepted, lift)
    return row


def biases(
    plan: SequentialPlan,
    draw: Draw,
    bounds: tuple[Ints, Floats],
    stop: Ints,
    accepted: NDArray[np.bool_],
    lift: float,
) -> dict[str, Any]:
    """Mean error of the plain and the adjusted lift, of all and of accepted candidates."""
    some = slice(0, ESTIMATED)
    stop, accepted = stop[some], accepted[some]
    rows = np.arange(len(stop))
    sums = draw.sums[some][rows, stop]
    run = np.asarray(plan.look_sizes)[stop]
    looks = np.arange(draw.sums.shape[1], dtype=np.int64)
    until = looks[None, :] <= stop[:, None]
    moved: Ints = (draw.sizes[some].sum(axis=2) * until).sum(axis=1)
    walks = Stopped(draw.sizes[some], bounds[0][some], bounds[1][some], stop, sums)
    share = moved / run
    middle = np.where(moved > 0, (2 * walk_quantile(walks, 0.5, 0.5) - 1) * share, 0.0)
    naive = sums / run
    outcome: dict[str, Any] = {
        "bias_naive": float((naive - lift).mean()),
        "bias_adjusted": float((middle - lift).mean()),
        "median_bias_naive": float(np.median(naive) - lift),
        "median_bias_adjusted": float(np.median(middle) - lift),
    }
    if accepted.sum() >= 30:
        outcome["accepted_bias_naive"] = float((naive - lift)[accepted].mean())
        outcome["accepted_bias_adjusted"] = float((middle - lift)[accepted].mean())
    return outcome


def measure(decisions: int, seed: int) -> list[dict[str, Any]]:
    """All cells; the boundaries of one discordance are shared by all lifts.

    Lifts share the same sequences of changed tasks and differ in their signs alone, as far as the
    discordance allows them.
    """
    rows: list[dict[str, Any]] = []
    for index, (epochs, psi, tasks) in enumerate(product(EPOCHS, DISCORDANCE, TASKS)):
        drawn: dict[int, tuple[Ints, Floats]] = {}
        for lift in (lift_value for lift_value in LIFTS if abs(lift_value) <= psi):
            rng = np.random.default_rng([seed, index])
            count = decisions if epochs == 1 else min(decisions, 2000)
            moved = changes(rng, (count, tasks), psi, lift, epochs)
            truth = lift if epochs == 1 else 0.8 * lift
            for candidates in CANDIDATES:
                plan = SequentialPlan(
                    tasks=tasks, discordance=psi, candidates=candidates, epochs=epochs
                )
                draw = at_looks(moved, plan.look_sizes, epochs)
                if epochs > 1 or candidates not in drawn:
                    seen = np.broadcast_to(np.asarray(plan.look_sizes), draw.sums.shape)
                    upper, _, lower = walk_boundaries(plan, draw.sizes, seen, epochs, draw.net)
                    drawn[candidates] = upper, lower
                estimate = (candidates, epochs, tasks) == (1, 1, 200) and psi in (0.1, 0.25)
                rows.append(cell(plan, draw, drawn[candidates], truth, estimate))
    return rows


def skewed(decisions: int, seed: int) -> list[dict[str, Any]]:
    """Accepted shares with several attempts, where changes without effect are not symmetric.

    `gate` is the sequential gate, `goes_on` whoever ignores where it gives up, and `uncorrected`
    the gate without the correction for skewness. `compared` is the share with a two-sided p of 5 %
    at most, as `harness compare` has it, of the first 1,000. The last world has an effect: ten
    points for tasks of all difficulties.
    """
    rows: list[dict[str, Any]] = []
    for index, (epochs, tasks) in enumerate(product((3, 5), (20, 40, 100, 200))):
        plan = SequentialPlan(tasks=tasks, epochs=epochs)
        shape = (decisions, tasks)
        for name, kinds in SKEWED.items():
            rng = np.random.default_rng([seed, 1, index])
            if kinds:
                shares, before, after = (np.asarray(column) for column in zip(*kinds, strict=True))
                kind = rng.choice(len(kinds), size=shape, p=shares)
                before, after = before[kind], after[kind]
            else:
                before = rng.random(shape)
                after = np.minimum(1.0, before + 0.1)
            passed = [rng.binomial(epochs, side).astype(np.int64) for side in (before, after)]
            draw = at_looks(passed[1] - passed[0], plan.look_sizes, epochs)
            seen = np.broadcast_to(np.asarray(plan.look_sizes), draw.sums.shape)
            plain, _, lower = walk_boundaries(plan, draw.sizes, seen, epochs)
            upper, _, lower = walk_boundaries(plan, draw.sizes, seen, epochs, draw.net)
            accepted, stop = first_exit(draw, upper, lower)
            row: dict[str, Any] = {
                "changes": name,
                "tasks": tasks,
                "epochs": epochs,
                "decisions": decisions,
                "lift": float((after - before).mean()),
                "gate": float(accepted.mean()),
                "upper95": upper_limit(int(accepted.sum()), decisions),
                "goes_on": float((draw.sums >= upper).any(axis=1).mean()),
                "uncorrected": float(first_exit(draw, plain, lower)[0].mean()),
                "compared": float(
                    np.mean(
                        [
                            sign_flip_p(task_changes) <= 0.05
                            for task_changes in (
                                (passed[1] - passed[0])[:COMPARED] / epochs
                            ).tolist()
                        ]
                    )
                ),
                "tasks_run": float(np.asarray(plan.look_sizes)[stop].mean()),
            }
            rows.append(row)
    return rows


def first_exit(draw: Draw, upper: Ints, lower: Floats) -> tuple[NDArray[np.bool_], Ints]:
    """Find the look at which a decision is made, and if it accepts."""
    above = draw.sums >= upper
    out = above | (draw.sums <= lower)
    out[:, -1] = True
    stop = out.argmax(axis=1)
    return above[np.arange(len(stop)), stop], stop


def reference() -> dict[str, Any]:
    """The default plan against fixed tests: what it costs, exactly."""
    plan = SequentialPlan(tasks=200)
    does = plan.operating
    same = fixed_tasks(plan.lift, plan.discordance, plan.alpha, does.power)
    two_sided = fixed_tasks(plan.lift, plan.discordance, plan.alpha / 2, plan.power)
    return {
        "plan": str(plan),
        **does.model_dump(),
        "fixed_same_alpha_and_power": same,
        "fixed_two_sided": two_sided,
        "fixed_power_at_200": fixed_power(200, plan.lift, plan.discordance, plan.alpha),
        "share_null": does.tasks_null / same,
        "share_lift": does.tasks_lift / same,
        "share_null_two_sided": does.tasks_null / two_sided,
        "share_lift_two_sided": does.tasks_lift / two_sided,
    }


@benchmark(decisions=2000, seed=41, out=option(type=Path))
def main(options: Options) -> Result:
    """Measure, print, keep."""
    rows = measure(options.decisions, options.seed)
    repeated = skewed(2 * options.decisions, options.seed)
    fooled = [row for row in rows if row["lift"] <= 0]
    worst = max(fooled, key=lambda row: row["accepted"] * row["candidates"])
    null = [row for row in rows if row["lift"] == 0 and row["candidates"] == 1]
    return {
        "command": "python -m benchmarks.evolution.gate "
        f"--decisions {options.decisions} --seed {options.seed}",
        "reference": reference(),
        "worst_false_acceptance": worst,
        "largest_under_no_effect": {
            gate: max(row[gate] for row in null)
            for gate in ("accepted", "fixed", "peeking", "better_mean")
        },
        "skewed": repeated,
        "cells": rows,
    }
