"""Rules that an evolution keeps for agents that sort tickets by unstated policies. SIMULATED.

    python -m benchmarks.evolution.triage --trades held_out [--seeds 0:4] [--errors 0,0.1,0.25]
        [--merges deterministic,model] [--jobs 1] [--out FILE]

For every trade of `lab/triage`, seed, rate of analyst errors and kind of merge, `harness.evolve`
runs as `harness evolve --patches FILE --merge KIND` does. Planted policies that SKILL.md states are
kept; of its rules the share that is false or empty is counted. The merging model is a script that
joins lessons by meaning and never errs in that. Intervals of 95 % are clustered by trade.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evolution.recovery.conditions import recorded_row
from benchmarks.reports import Journal, Options, Result, benchmark, option
from harness.evolve import EvolveOptions, evolve
from harness.evolve.settings import MergeKind
from harness.skills import load_skill
from harness.stats import clustered, clustered_error, z_of
from harness.trajectories import TrajectoryStore
from lab.triage import ScriptedMerger, Trade, Verdict, analyse, judge, load_trades, runs, trajectory
from lab.worlds.judge import rules

Row = dict[str, Any]


class Variant(NamedTuple):
    """A trade with the seed of its tickets, the rate of analyst errors, and how is merged."""

    trade: Trade
    seed: int
    error: float
    merge: MergeKind

    @property
    def key(self) -> str:
        """Key of a result in the journal."""
        return f"{self.trade.name} {self.seed} {self.error:g} {self.merge}"


def evolved(variant: Variant, folder: Path) -> Verdict:
    """The verdict on the skill that an evolution makes of a variant.

    Args:
        variant: what is run.
        folder: empty; the evolution is written to it.
    """
    trade, seed, error, merge = variant
    sampled = runs(trade, seed)
    with TrajectoryStore(folder / "runs") as store:
        for run in sampled:
            store.append(trajectory(trade, run))
    patches = folder / "records.jsonl"
    records = [analyse(trade, run, error, seed) for run in sampled]
    patches.write_text("".join(f"{json.dumps(recorded_row(record))}\n" for record in records))
    options = EvolveOptions(
        out=folder / "out", create=trade.name.replace(" ", "-"), trajectories=folder / "runs",
        patches=patches, merge=merge,
    )  # fmt: skip
    merger = ScriptedMerger(trade) if merge == "model" else None
    result = asyncio.run(evolve(options, merger=merger))
    lines = rules(load_skill(Path(result.skill)).text) if result.skill else []
    return judge(trade, [line.removeprefix("- ") for line in lines])


def measured(variant: Variant) -> Row:
    """The counts of a variant."""
    with tempfile.TemporaryDirectory() as folder:
        counts = evolved(variant, Path(folder))._asdict()
    del counts["said"]
    condition = {"trade": variant.trade.name, "seed": variant.seed}
    return {**condition, "error": variant.error, "merge": variant.merge, **counts}


def shares(rows: Sequence[Row]) -> Row:
    """Shares of planted policies kept, and of rules that are false or empty, with intervals.

    A variant without rules has none that are false.
    """
    line: Row = {"variants": len(rows)}
    for name, value in {
        "kept": [row["kept"] / row["planted"] for row in rows],
        "false_or_empty": [(row["false"] + row["empty"]) / max(1, row["rules"]) for row in rows],
    }.items():
        error = clustered_error(clustered(value, [row["trade"] for row in rows]))
        line[name] = round(statistics.fmean(value), 3)
        line[f"{name}_half_width"] = None if error is None else round(z_of(0.975) * error, 3)
    return line


def summary(rows: Sequence[Row]) -> Row:
    """Shares by merge and rate of errors, over all trades and by trade."""
    settings = sorted({(row["merge"], row["error"]) for row in rows})
    lines: list[Row] = []
    for merge, error in settings:
        part = [row for row in rows if (row["merge"], row["error"]) == (merge, error)]
        lines.append({"merge": merge, "error": error, "trade": "all", **shares(part)})
        for trade in dict.fromkeys(row["trade"] for row in part):
            of_trade = [row for row in part if row["trade"] == trade]
            lines.append({"merge": merge, "error": error, "trade": trade, **shares(of_trade)})
    return {"simulated": True, "rows": lines}


@benchmark(
    trades=option(choices=("development", "held_out"), required=True),
    seeds="0:4",
    errors="0,0.1,0.25",
    merges="deterministic,model",
    jobs=1,
    journal=option(type=Path),
    out=option(type=Path),
)
def main(arguments: Options) -> Result:
    first, end = map(int, arguments.seeds.split(":"))
    variants = [
        Variant(trade, seed, float(error), merge)
        for trade in load_trades(arguments.trades)
        for seed in range(first, end)
        for error in arguments.errors.split(",")
        for merge in arguments.merges.split(",")
    ]
    journal = Journal(arguments.journal)
    pending = [variant for variant in variants if variant.key not in journal.rows]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for variant, row in zip(pending, pool.map(measured, pending), strict=True):
            journal.result(variant.key, lambda row=row: row)
    return summary([journal.rows[variant.key] for variant in variants])
