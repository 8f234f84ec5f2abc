"""Evolution in planted worlds, beside the plain list and published optimizers. SIMULATED.

    python -m benchmarks.evolution.worlds --seeds 0:20 [--errors 0,0.1,0.25,0.4] [--train 200]
        [--methods ours,plain,...] [--jobs 1] [--ranges FILE] [--words FILE] [--out FILE]

For every seed and every rate of analyst errors each method learns from the same train attempts and
records; its skill is judged on 200 held-out tasks of the same world (`lab.worlds`), with the same
draws for every method. Results are kept in `FILE`, a line each: run the command again to resume, or
with more seeds, rates and methods to add to it; delete the file once the code has changed.

Tune on seeds below 1,000; figures that are quoted come from seeds at or above 1,000, run once. In
place of seeds, worlds can be named that were dumped (`python -m lab.worlds SEED > FILE.json`) and
edited: `--seeds FILE.json,...`. The rivals `gepa` and `skillopt` are `pip install --no-deps
gepa==0.1.4 skillopt==0.2.0`.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evolution.recovery.arena import Case
from benchmarks.evolution.recovery.conditions import CONDITIONS
from benchmarks.reports import Journal, Options, benchmark, option, report
from harness.stats import clustered_error, z_of
from lab.worlds import RARE, World, load_ranges, load_world, make_world

HELD_OUT = 200
METHODS = "none,truth,ours,ours-error,plain,plain-error,plain-cut,refined,refined-error,memory"
SHARES = ("passed", "passed_free", "recall", "rare_recall", "precision", "friend")
COUNTS = ("tokens", "rules", "distinct", "harm", "seconds")
Row = dict[str, Any]


class Job(NamedTuple):
    """One world, by its seed or its file, at one rate of errors, and the methods that run there."""

    name: str
    error: float
    train: int
    methods: tuple[str, ...]
    ranges: Path | None
    words: Path | None

    @property
    def world(self) -> World:
        """The world itself."""
        if self.name.endswith(".json"):
            return load_world(Path(self.name))
        return make_world(int(self.name), load_ranges(self.ranges), self.words)

    def key(self, method: str) -> str:
        """Key of a result in the journal."""
        files = f" {self.ranges} {self.words}" if self.ranges or self.words else ""
        return f"{self.name} {self.error:g} {self.train} {method}{files}"


def measured(job: Job) -> list[Row]:
    """A row for each method of a job."""
    world = job.world
    case = Case(world, job.error, job.train, HELD_OUT)
    causes = [sign for sign in world.signs if sign.role == "cause"]
    condition: Row = {
        "world": job.name, "error": job.error, "train": job.train, "causes": len(causes),
        "rare": sum(world.rate(sign) <= RARE for sign in causes) / len(causes),
        "failed": sum(not run.passed for run in case.attempts),
        "distraction": world.distraction,
    }  # fmt: skip
    rows: list[Row] = []
    for method in job.methods:
        started = time.monotonic()
        learned = CONDITIONS[method](case)
        seconds = time.monotonic() - started
        if isinstance(learned, str):
            row: Row = case.judge.measure(learned)._asdict()
        else:
            tokens = statistics.fmean(held.tokens for held in learned)
            free = case.judge.pass_rate([held._replace(tokens=0) for held in learned])
            row = {
                "passed": case.judge.pass_rate(learned), "passed_free": free, "tokens": tokens,
            }  # fmt: skip
        rows.append({**condition, "method": method, **row, "seconds": round(seconds, 2)})
    return rows


def mean(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean over the values of all worlds and half the width of its 95 % interval."""
    error = clustered_error(groups) or 0.0
    return statistics.fmean(chain.from_iterable(groups)), z_of(0.975) * error


def columns(rows: Sequence[Row], names: Sequence[str]) -> Row:
    """Means of the columns that there are, with their intervals."""
    line: Row = {}
    for name in names:
        values = [[float(row[name])] for row in rows if row.get(name) is not None]
        if values:
            line[name], line[f"{name}_ci"] = mean(values)
    return line


def paired(
    rows: Sequence[Row], first: str, second: str, measure: str = "passed"
) -> tuple[float, float, int] | None:
    """(mean, half width, worlds) of a measure of method `first` minus that of `second`."""
    by_case: dict[str, dict[tuple[Any, ...], float]] = {first: {}, second: {}}
    for row in rows:
        if row["method"] in by_case:
            case = (row["world"], row["error"], row["train"])
            by_case[row["method"]][case] = row[measure]
    shared = by_case[first].keys() & by_case[second].keys()
    if not shared:
        return None
    # Rows of one world at several rates of errors are one cluster.
    groups: dict[str, list[float]] = {}
    for case in sorted(shared):
        groups.setdefault(case[0], []).append(by_case[first][case] - by_case[second][case])
    return (*mean(list(groups.values())), len(groups))


def regions(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by what their worlds are like."""

    def bands(name: str, value: Callable[[Row], float], *limits: float) -> dict[str, list[Row]]:
        parts: dict[str, list[Row]] = {}
        for low, high in zip((float("-inf"), *limits), (*limits, float("inf")), strict=True):
            label = f"{name} < {high:g}" if low == float("-inf") else f"{name} >= {low:g}"
            if low > float("-inf") and high < float("inf"):
                label = f"{name} {low:g} to {high:g}"
            parts[label] = [row for row in rows if low <= value(row) < high]
        return parts

    parts = {
        **{
            f"error {error:g}": [row for row in rows if row["error"] == error]
            for error in sorted({row["error"] for row in rows})
        },
        **bands("causes", lambda row: row["causes"], 8, 12),
        **bands("share of rare causes", lambda row: row["rare"], 0.3, 0.6),
        **bands("failed runs", lambda row: row["failed"], 60, 120),
        **bands("lost per 1,000 tokens", lambda row: row["distraction"], 0.005, 0.01),
        **bands("train tasks", lambda row: row["train"], 61, 200),
    }
    return {label: part for label, part in parts.items() if part and len(part) < len(rows)}


def summary(rows: Sequence[Row]) -> Row:
    """Methods by rate of errors, and ours against every other method by region."""
    settings = sorted({(row["train"], row["error"]) for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines: list[Row] = []
    for train, error in settings:
        part = [row for row in rows if (row["train"], row["error"]) == (train, error)]
        by_method = {name: [row for row in part if row["method"] == name] for name in methods}
        for name, method_rows in by_method.items():
            line: Row = {"train": train, "error": error, "method": name, "worlds": len(method_rows)}
            line |= columns(method_rows, (*SHARES, *COUNTS))
            against = "plain-error" if name.endswith("-error") else "plain"
            if difference := paired(part, name, against):
                line["minus_plain"], line["minus_plain_ci"], _ = difference
                free = paired(part, name, against, "passed_free") or difference
                line["minus_plain_free"], line["minus_plain_free_ci"], _ = free
                longer = columns(by_method[against], ("tokens",))["tokens"]
                line["share_of_plain_tokens"] = line.get("tokens", 0.0) / longer
            lines.append(line)
    where: list[Row] = []
    for label, part in {"all": rows, **regions(rows)}.items():
        for name in methods:
            if name != "ours" and (difference := paired(part, "ours", name)):
                value, half, worlds = difference
                row = {"region": label, "method": name, "worlds": worlds}
                row |= columns([row for row in part if row["method"] == name], ("passed",))
                where.append({**row, "ours_minus": value, "ours_minus_ci": half})
    return {"simulated": True, "methods": lines, "regions": where}


@benchmark(
    seeds=str,
    errors="0,0.1,0.25,0.4",
    train="200",
    methods=METHODS,
    jobs=1,
    ranges=option(type=Path),
    words=option(type=Path),
    out=option(type=Path),
)
def main(arguments: Options) -> None:
    names: list[str] = arguments.seeds.split(",")
    if ":" in arguments.seeds:
        first, end = arguments.seeds.split(":")
        names = [str(seed) for seed in range(int(first), int(end))]
    methods = tuple(arguments.methods.split(","))
    if unknown := [name for name in methods if name not in CONDITIONS]:
        raise SystemExit(f"no such methods: {unknown}; expected some of {list(CONDITIONS)}")
    journal = Journal(arguments.out)
    jobs = [
        Job(name, float(error), int(train), methods, arguments.ranges, arguments.words)
        for name in names
        for train in arguments.train.split(",")
        for error in arguments.errors.split(",")
    ]
    pending = [
        job._replace(methods=missing)
        for job in jobs
        if (missing := tuple(name for name in methods if job.key(name) not in journal.rows))
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        results = zip(pending, pool.map(measured, pending), strict=True)
        for number, (job, rows) in enumerate(results, start=1):
            for row in rows:
                journal.result(job.key(row["method"]), lambda row=row: row)
            print(f"\r{number} of {len(pending)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    report(summary([journal.rows[job.key(name)] for job in jobs for name in methods]), None)
