"""Records merged in parts, and the parts once more, beside one merge of all of them. SIMULATED.

    python -m benchmarks.evolution.shards [--records 10000] [--shard 2000] [--exact] [--out FILE]

Records of one planted world (`lab.worlds`), whose runs are made as they are needed: no more than
one part, and the rules of all earlier ones, are in memory. With `--pool N` the records of the first
N runs are dealt again and again under new names, in a new order; with `--deals N` each part counts
as N, whose runs have new names: the second merge is then as large as that of N times the records,
in fewer wordings. With `--exact` all are merged at
once, too, and the rules of enough tasks are compared by the planted signs that they speak about.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reports import Options, Result, benchmark, option, peak_mb
from harness.core import Patch
from harness.evolve import AnalystRecord, merge_deterministic, to_patch
from harness.evolve.merge.deterministic import signs_of_rules
from harness.evolve.types import Merge
from lab.worlds import World, analyse, attempt, load_ranges, make_world, stances, tasks

SUPPORT = 2
"""Tasks that a rule needs for a place in SKILL.md."""


def records(world: World, count: int, error: float, pool: int) -> Iterator[AnalystRecord]:
    """Records of so many runs of a world; of more than `pool`, earlier ones under new names."""
    chance, drawn = random.Random(count), list[AnalystRecord]()
    for task in tasks(world, min(count, pool), "train"):
        drawn.append(analyse(world, attempt(world, task), error))
        yield drawn[-1]
    for number in range(pool, count):
        name = f"again-{number}"
        update = {"trajectory_id": f"run-{name}", "task_id": name}
        yield chance.choice(drawn).model_copy(update=update)


def context(rows: Sequence[AnalystRecord]) -> tuple[list[Patch], dict[str, Any]]:
    """The patches of records, and the arguments of their merge, as an evolution makes them."""
    items = [(row, item) for row in rows for item in row.items]
    return [to_patch(row, number) for number, row in enumerate(rows, 1)], {
        "tasks": {row.trajectory_id: row.task_id for row in rows},
        "scopes": {item.line: item.generalization for _, item in items},
        "citations": {(row.trajectory_id, item.line): item.evidence for row, item in items},
        "praised": frozenset(row.trajectory_id for row in rows if row.kind == "success"),
    }


def dealt(part: Merge, number: int) -> Merge:
    """The merge of a part without what stays on disk, its runs under new names."""
    edits = tuple(
        edit.model_copy(update={"sources": tuple(f"{name}~{number}" for name in edit.sources)})
        for edit in part.patch.edits
    )
    rules = tuple(rule.model_copy(update={"members": ()}) for rule in part.rules)
    return Merge(patch=Patch(reasoning="", edits=edits), rules=rules)


def merged_in_parts(
    rows: Iterator[AnalystRecord], size: int, deals: int
) -> tuple[Merge, list[dict[str, Any]]]:
    """The merge of records part by part, and seconds and memory after each part."""
    parts, names, praised = list[Merge](), dict[str, str](), set[str]()
    growth, started, count = list[dict[str, Any]](), time.process_time(), 0
    while part := [row for _, row in zip(range(size), rows, strict=False)]:
        patches, arguments = context(part)
        merge = merge_deterministic(patches, **arguments)
        for number in range(deals):
            parts.append(dealt(merge, number))
            names |= {f"{run}~{number}": f"{t}~{number}" for run, t in arguments["tasks"].items()}
            praised |= {f"{run}~{number}" for run in arguments["praised"]}
        count += len(part) * deals
        growth.append(measured(count, started))
        print(growth[-1], flush=True)
    patches, quotes = [part.patch for part in parts], signs_of_rules(parts)
    merge = merge_deterministic(patches, names, citations=quotes, praised=frozenset(praised))
    return merge, [*growth, measured(count, started)]


def measured(count: int, started: float) -> dict[str, Any]:
    """Processor seconds, and the peak of this process's memory so far."""
    gc.collect()
    peak = peak_mb()
    return {"records": count, "cpu s": round(time.process_time() - started, 1), "peak MB": peak}


def said(world: World, merge: Merge) -> dict[str, int]:
    """Each planted sign and the stance on it, with the support of its best supported rule."""
    advice: dict[str, int] = {}
    for edit in merge.patch.edits:
        for sign, remedy in stances(world, edit.content).items():
            key = f"{sign}: {'right' if remedy else 'wrong'}"
            advice[key] = max(edit.support, advice.get(key, 0))
    return {key: tasks for key, tasks in advice.items() if tasks >= SUPPORT}


@benchmark(
    records=10_000, shard=2_000, pool=20_000, deals=1, seed=1001, error=0.1, exact=False,
    out=option(type=Path),
)  # fmt: skip
def main(options: Options) -> Result:
    """Merge and report."""
    world = make_world(options.seed, load_ranges(None), None)
    rows = records(world, options.records, options.error, options.pool)
    merge, growth = merged_in_parts(rows, options.shard, options.deals)
    parts = said(world, merge)
    result: dict[str, Any] = {"simulated": True, "growth": growth, "in parts": parts}
    if options.exact:
        rows = list(records(world, options.records, options.error, options.pool))
        patches, arguments = context(rows)
        exact = said(world, merge_deterministic(patches, **arguments))
        result |= {"exact": exact, "one alone": sorted(parts.keys() ^ exact.keys())}
    return result
