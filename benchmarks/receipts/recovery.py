"""Findings of an audit of a skill by simulation: known effects, interactions and noise.

Run: python -m benchmarks.receipts.recovery [--audits 2000] \\
         [--out evals/results/audit_recovery.json]
     python -m benchmarks.receipts.recovery --audits 400 --part futility \\
         --out evals/results/audit_futility.json

SIMULATED. Every audit draws tasks of its own with a difficulty each, runs the design of
`harness skill audit` on them with pass or fail drawn from known probabilities, and estimates all
units with the code that audits use. Units shift the log-odds, so their effects in points depend on
the task; the truth is the average over tasks and subsets, by numerical integration. Leave-one-out
gets the same worlds at the whole skill and its best allocation: sqrt(units) controls for one
rollout without each unit, paired by task, with Dunnett's critical value.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.receipts.worlds import UNITS, World, probabilities, truth, worlds
from benchmarks.reports import Options, benchmark, earlier_report, option, report, share_interval
from harness.receipts.plan import LOOKS
from harness.stats import (
    EffectData,
    EffectFit,
    chances,
    critical,
    dunnett_critical,
    fit_effects,
    half_subsets,
    normal_boundaries,
    per_unit,
    screen_pairs,
    settled,
)

Floats = NDArray[np.float64]

ALPHA = 0.05


class Seen(NamedTuple):
    """One simulated audit.

    Attributes:
        missed: whether any interval missed its truth.
        false: whether any unit without effect was called helpful or harmful.
        found: share of the units at the planted harm that were found.
        half: mean half-width of the intervals, points.
        used: rollouts run.
    """

    missed: bool
    false: bool
    found: float
    half: float
    used: int


def draw(world: World, rng: np.random.Generator) -> EffectData:
    """The rollouts of one audit in the order in which they would be run."""
    pairs = world.tasks * world.rollouts // 2
    rows = half_subsets(world.units, pairs, int(rng.integers(2**31)))
    present = np.stack([rows, ~rows], axis=1).reshape(-1, world.units).astype(np.int64)
    tasks = np.repeat(np.arange(pairs) % world.tasks, 2)
    chance = probabilities(world, world.draw_tasks(rng), tasks, present)
    data = EffectData(tasks, present, (rng.random(len(tasks)) < chance).astype(np.float64))
    if not world.invalid:
        return data
    valid = rng.random(len(tasks)) >= world.invalid
    return EffectData(tasks[valid], present[valid], data.values[valid])


def judge(world: World, true: Floats, fitted: EffectFit, value: float, used: int) -> Seen:
    """Read the intervals at this critical value."""
    half = critical(value, fitted.degrees) * fitted.errors
    significant = np.abs(fitted.effects) > half
    harm = world.harmful
    return Seen(
        missed=bool((np.abs(fitted.effects - true) > half).any()),
        false=bool((significant & world.inert).any()),
        found=float((significant & (fitted.effects < 0))[harm].mean()) if len(harm) else 0.0,
        half=float(100 * half.mean()),
        used=used,
    )


def sequential(
    world: World, true: Floats, data: EffectData, width: float, futility: float = 0.0
) -> Seen:
    """Look at shares of the rollouts; stop when every unit is decided or narrow enough, or without
    this chance to be decided."""
    values = normal_boundaries(LOOKS, ALPHA, world.units)
    total = len(data.tasks)
    ends = [total if share == 1 else 2 * round(share * total / 2) for share in LOOKS]
    for look, (end, value) in enumerate(zip(ends, values, strict=True)):
        fitted = fit_effects(data.first(end))
        decided, narrow = settled(fitted, value, width)
        hopeless = chances(ends, values, look, fitted) < futility
        if (decided | narrow | hopeless).all() or end == total:
            return judge(world, true, fitted, value, end)
    raise AssertionError("the last look ends it")


def cell(
    world: World, audits: int, seed: int, width: float | None = None, futility: float = 0.0
) -> dict[str, Any]:
    """One row: many audits of one world, at once or (with `width`) in looks."""
    true = truth(world)
    rng = np.random.default_rng([seed, world.number])
    value = normal_boundaries((1.0,), ALPHA, world.units)[0]
    seen: list[Seen] = []
    for _ in range(audits):
        data = draw(world, rng)
        if width is None:
            seen.append(judge(world, true, fit_effects(data), value, len(data.tasks)))
        else:
            seen.append(sequential(world, true, data, width, futility))
    covered = 1 - np.mean([audit.missed for audit in seen])
    return {
        "world": world.name, "units": world.units, "tasks": world.tasks,
        "rollouts": world.tasks * world.rollouts, "audits": audits, "stop_at": width,
        "coverage": float(covered),
        "coverage_ci95": share_interval(round(float(covered) * audits), audits, 4),
        "false_findings": float(np.mean([audit.false for audit in seen])),
        "power": float(np.mean([audit.found for audit in seen])) if len(world.harmful) else None,
        "harm": float(100 * true[world.harmful].mean()) if len(world.harmful) else None,
        "half_width": float(np.mean([audit.half for audit in seen])),
        "rollouts_used": float(np.mean([audit.used for audit in seen])),
        **({"futility": futility} if futility else {}),
    }  # fmt: skip


def leave_one_out(world: World, audits: int, seed: int) -> float:
    """Mean half-width of leave-one-out's simultaneous intervals for one rollout of each unit at
    every task and sqrt(units) controls, points."""
    rng = np.random.default_rng([seed, world.number, 1])
    controls = max(1, round(world.units**0.5))
    without = 1 - np.eye(world.units, dtype=np.int64)
    full = np.ones((controls, world.units), dtype=np.int64)
    present = np.tile(np.concatenate([full, without]), (world.tasks, 1))
    tasks = np.repeat(np.arange(world.tasks), controls + world.units)
    value = critical(dunnett_critical(world.units, 1 / (1 + controls), ALPHA), world.tasks - 1)
    halves: list[float] = []
    for _ in range(audits):
        chance = probabilities(world, world.draw_tasks(rng), tasks, present)
        passed = (rng.random(len(tasks)) < chance).reshape(world.tasks, -1)
        change = passed[:, :controls].mean(axis=1, keepdims=True) - passed[:, controls:]
        errors = change.std(axis=0, ddof=1) / world.tasks**0.5
        halves.append(float(100 * value * errors.mean()))
    return float(np.mean(halves))


def against(world: World, audits: int, seed: int) -> dict[str, Any]:
    """Rollouts that leave-one-out needs for the width that the audit has."""
    audit = cell(world, audits, seed)
    half = leave_one_out(world, audits, seed)
    controls = max(1, round(world.units**0.5))
    rollouts = world.tasks * (controls + world.units)
    needed = rollouts * (half / audit["half_width"]) ** 2
    return {
        "world": world.name, "units": world.units, "half_width": audit["half_width"],
        "rollouts": audit["rollouts"], "leave_one_out_half_width": half,
        "leave_one_out_rollouts": rollouts, "leave_one_out_rollouts_at_equal_width": needed,
        "ratio": needed / audit["rollouts"],
    }  # fmt: skip


def interactions(world: World, audits: int, seed: int) -> dict[str, Any]:
    """Count how often pairs are flagged that do not interact, and that do."""
    rng = np.random.default_rng([seed, world.number, 2])
    planted = {(a, b) for a, b, _ in world.pairs}
    false, detected = 0, 0
    for _ in range(audits):
        data = draw(world, rng)
        pairs = screen_pairs(data, fit_effects(data))
        flagged = {(int(pairs.first[pair]), int(pairs.second[pair]))
                   for pair in np.flatnonzero(pairs.p < ALPHA)}  # fmt: skip
        false += bool(flagged - planted)
        detected += len(flagged & planted)
    power = detected / audits / len(planted) if planted else None
    return {"world": world.name, "audits": audits, "false_flags": false / audits, "power": power}


def measure(part: str, audits: int, seed: int) -> list[dict[str, Any]]:
    """The rows of one part."""
    by_name = worlds()
    planted, few = by_name["planted"], max(100, audits // 10)
    some = max(100, audits // 4)  # for curves: one point of false findings matters less there
    if part == "fixed":
        return [cell(world, audits, seed) for world in by_name.values()]
    if part == "stopped":
        names = ("nothing", "planted", "interactions", "tasks differ")
        return [cell(by_name[n], audits // 2, seed, width) for n in names for width in (0.10, 0.0)]
    if part == "futility":
        sizes = [(by_name[n].with_units(u), f) for n in ("nothing", "planted") for u in (6, 24)
                 for f in (0.0, 0.1, 0.2)]  # fmt: skip
        return [cell(world, some, seed, 0.0, share) for world, share in sizes]
    if part == "power_by_rollouts":
        return [cell(planted.resized(tasks), some, seed) for tasks in (33, 67, 100, 167, 250)]
    if part == "power_by_harm":
        return [cell(planted.scaled(scale), some, seed) for scale in (0.25, 0.5, 0.75, 1.5)]
    if part == "leave_one_out":
        names = ("planted", "interactions", "tasks differ", "good skill")
        more = replace(
            by_name["tasks differ"], name="tasks differ, 375 tasks", tasks=375, rollouts=4
        )
        sizes = [planted.with_units(units) for units in (6, 12, 48)]
        return [against(world, few, seed) for world in (*(by_name[n] for n in names), more, *sizes)]
    names = ("nothing", "planted", "interactions")
    return [interactions(by_name[name], some, seed) for name in names]


PARTS = (
    "fixed", "stopped", "power_by_rollouts", "power_by_harm", "leave_one_out", "interactions",
)  # fmt: skip


@benchmark(
    audits=2000,
    seed=41,
    part=option(choices=[*PARTS, "futility"], help="Default: all but futility."),
    out=option(type=Path),
)
def main(options: Options) -> None:
    """Measure, print, keep; parts that the result has already are not measured again."""
    parts = (options.part,) if options.part else PARTS
    part_option = f" --part {options.part}" if options.part else ""
    head = {
        "command": f"python -m benchmarks.receipts.recovery --audits {options.audits}{part_option}",
        "simulated": True, "seed": options.seed, "alpha": ALPHA, "looks": LOOKS,
        "level_per_unit": per_unit(ALPHA, UNITS),
    }  # fmt: skip
    result: dict[str, Any] = json.loads(json.dumps(head))
    earlier = earlier_report(options.out)
    result |= earlier if {k: earlier.get(k) for k in result} == result else {}
    for part in parts:
        if part not in result:
            result[part] = measure(part, options.audits, options.seed)
            report(result, options.out)
