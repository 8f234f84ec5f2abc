"""What an evolution recovers of planted failures, against the analyst's errors. SIMULATED.

    python -m benchmarks.evolution.planted_failures [--seeds 20] [--jobs 2] [--out FILE]

For every seed and every rate of analyst errors, each method learns from 200 train tasks with the
same simulated agent and analyst, and the same number of calls at most; its skill is judged on 200
held-out tasks. A second sweep makes useless rules cost something: each one spoils an attempt with a
small chance. See benchmarks/evolution/recovery for what is planted and what counts. Rivals:
`pip install --no-deps gepa==0.1.4 skillopt==0.2.0`.
"""

from __future__ import annotations

import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.evolution.recovery.arena import Arena, attempt, planted, recall_precision
from benchmarks.evolution.recovery.conditions import CONDITIONS, RIVALS
from benchmarks.evolution.recovery.tasks import make_tasks
from benchmarks.reports import option, read_options, report
from harness.stats import clustered_error, z_of

ERRORS = (0.0, 0.1, 0.2, 0.3, 0.4)
DISTRACTION = 0.002
"""Chance that one useless rule spoils an attempt: fifty of them cost ten points."""
SETTINGS = (*((error, 0.0) for error in ERRORS), (0.1, DISTRACTION), (0.4, DISTRACTION))
TRAIN, HELD_OUT = 200, 200
BUDGET = 400
LARGE_BUDGET = 1000
"""Rivals search; they are shown with more calls than ours uses, too."""
UNBOUNDED = 10**9
Row = dict[str, float | str | None]


def one_seed(job: tuple[int, float, float]) -> list[Row]:
    """Every method at one seed, one error rate and one cost of useless rules."""
    seed, error, distraction = job
    train, held_out = make_tasks(TRAIN, seed, "train"), make_tasks(HELD_OUT, seed, "held-out")
    methods = [(name, learn, UNBOUNDED) for name, learn in CONDITIONS.items()]
    methods += [(name, learn, BUDGET) for name, learn in RIVALS.items()]
    methods += [
        (f"{name}, {LARGE_BUDGET} calls", learn, LARGE_BUDGET) for name, learn in RIVALS.items()
    ]
    rows: list[Row] = []
    for name, learn, budget in methods:
        arena = Arena(seed=seed, error=error, distraction=distraction, train=train, budget=budget)
        learned = learn(arena)
        row: Row = {
            "method": name, "seed": seed, "error": error, "distraction": distraction,
            "calls": arena.calls,
        }  # fmt: skip
        if isinstance(learned, str):
            seen = planted(arena.agent, train)
            row["recall"], row["precision"] = recall_precision(arena.agent, learned, seen)
            row["rules"] = sum(line.startswith("- ") for line in learned.splitlines())
        passed = sum(
            attempt(
                arena.agent, learned if isinstance(learned, str) else learned(task), task
            ).passed
            for task in held_out
        )
        rows.append({**row, "pass_rate": passed / len(held_out)})
    return rows


def summary(rows: list[Row]) -> list[Row]:
    """Means over seeds with the half-width of their 95 % interval."""
    results: list[Row] = []
    for name in dict.fromkeys(row["method"] for row in rows):
        for error, distraction in SETTINGS:
            setting = {"method": name, "error": error, "distraction": distraction}
            part = [row for row in rows if setting.items() <= row.items()]
            line: Row = dict(setting)
            for key in ("recall", "precision", "pass_rate", "rules", "calls"):
                values = [float(v) for row in part if (v := row.get(key)) is not None]
                if values:
                    spread = clustered_error([[value] for value in values]) or 0.0
                    line[key] = statistics.fmean(values)
                    line[f"{key}_ci"] = z_of(0.975) * spread
            results.append(line)
    return results


def table(lines: list[Row]) -> str:
    """The summary for people."""
    out = [f"{'method':30} error  cost    recall     precision  pass rate  rules  calls"]
    for line in lines:
        cells = [f"{line['method']:30} {line['error']:5.1f}  {line['distraction']:.3f}  "]
        for key in ("recall", "precision", "pass_rate"):
            shown = f"{line[key]:.2f}±{line[f'{key}_ci']:.2f}" if key in line else "-"
            cells.append(f"{shown:10} ")
        cells += [f"{line.get('rules', 0):5.0f}  {line['calls']:5.0f}"]
        out.append("".join(cells))
    return "\n".join(out)


def main() -> None:
    arguments = read_options(__doc__, seeds=20, jobs=2, out=option(type=Path))
    jobs = [(seed, *setting) for seed in range(1, arguments.seeds + 1) for setting in SETTINGS]
    rows: list[Row] = []
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for number, seed_rows in enumerate(pool.map(one_seed, jobs), start=1):
            rows += seed_rows
            print(f"\r{number} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    lines = summary(rows)
    print(f"\nSIMULATED; {arguments.seeds} seeds, {TRAIN} train and {HELD_OUT} held-out tasks")
    print(table(lines))
    report({"simulated": True, "seeds": arguments.seeds, "summary": lines}, arguments.out)


if __name__ == "__main__":
    main()
