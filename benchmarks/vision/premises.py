"""Cost of spoilt constraints: best of N solutions, ranked behind the gate, at rising corruption.

Simulated solutions to questions of our rendered corpus (`folio`): N to a question, each of whose
readings is wrong with probability `--misread`; a judge that sees no image calls every step right
but one in ten. The constraints are the corpus's own facts, a perfect extractor, spoilt by DROP or
FLIP at rates 0 to 1; the auditor is the one by rules. Nothing here says how good a real extractor,
auditor or judge is. `python -m benchmarks.vision.premises [--split test] [--seeds 3] [--out FILE]`
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args

from scipy.stats import spearmanr

from benchmarks.reports import Options, Result, benchmark, option
from harness.core import Task
from harness.vision.premises import (
    Aggregator,
    Constraints,
    Corruption,
    Solution,
    Step,
    Verified,
    audit_by_rules,
    best_of,
    corrupt,
    reliability,
    verified,
)
from lab.corpora.folio import folio_tasks

RATES = tuple(rate / 10 for rate in range(11))
CANDIDATES = 8
FACTORS = (0.5, 0.8, 0.9, 1.1, 1.2, 1.5)


class Case(NamedTuple):
    """A question: facts, right answer, simulated solutions and the judgements of their steps."""

    name: str
    facts: Constraints
    answer: str
    solutions: tuple[Solution, ...]
    judged: tuple[tuple[float, ...], ...]


def cases(split: str, seeds: int, misread: float) -> list[Case]:
    """Charts of one series, each with several draws of solutions."""
    tasks = [task for task, _ in folio_tasks(split) if _row(task)]
    return [case(task, seed, misread) for task in tasks for seed in range(seeds)]


def _row(task: Task) -> dict[str, int] | None:
    """The values of a chart with one series."""
    truth: Any = task.meta["truth"]
    values = truth.get("chart", {}).get("values", {})
    return next(iter(values.values())) if len(values) == 1 else None


def case(task: Task, seed: int, misread: float) -> Case:
    """A question with simulated solutions."""
    row = _row(task) or {}
    rng = Random(f"{task.id}:{seed}")
    constraints: Any = task.meta["facts"]
    solutions = tuple(_solution(task, row, rng, misread) for _ in range(CANDIDATES))
    judged = tuple(
        tuple(1.0 if rng.random() < 0.9 else -1.0 for _ in solution.steps) for solution in solutions
    )
    return Case(
        f"{task.id}:{seed}",
        Constraints(caption=f"A chart with {len(row)} values.", facts=tuple(constraints)),
        _solve(task, row),
        solutions,
        judged,
    )


def _solution(task: Task, row: dict[str, int], rng: Random, misread: float) -> Solution:
    needed = [name for name in row if name in task.prompt] or list(row)
    seen: dict[str, int] = {}
    for name in needed:
        seen[name] = row[name]
        if rng.random() < misread:
            seen[name] = max(1, round(row[name] * rng.choice(FACTORS)) + rng.choice((-1, 1)))
    steps = [Step(text=f"I read {name}.", premise=f"{name} is {seen[name]}") for name in needed]
    steps.append(Step(text="From these readings the answer follows."))
    return Solution(steps=tuple(steps), answer=_solve(task, seen))


def _solve(task: Task, row: dict[str, int]) -> str:
    if task.meta["kind"] == "compare":
        pick = max if "highest" in task.prompt else min
        return pick(row, key=lambda name: row[name])
    return str(sum(value for name, value in row.items() if name in task.prompt))


def sweep(sample: list[Case], kind: Corruption) -> dict[str, Any]:
    """Accuracy at every rate, and its rank correlation with the rate."""
    accuracies = [accuracy(sample, kind, rate) for rate in RATES]
    rho: float = spearmanr(RATES, accuracies).statistic
    return {"rates": RATES, "accuracy": [round(share, 4) for share in accuracies],
            "spearman": round(rho, 4)}  # fmt: skip


def accuracy(
    sample: list[Case],
    kind: Corruption | None,
    rate: float,
    *,
    gated: bool = True,
    aggregator: Aggregator = "geometric_mean",
) -> float:
    """Share of cases whose chosen solution has the right answer."""
    hits: list[bool] = []
    for drawn in sample:
        constraints = corrupt(drawn.facts, kind, rate, drawn.name) if kind else drawn.facts
        verdicts: list[Verified] = []
        for solution, judged in zip(drawn.solutions, drawn.judged, strict=True):
            findings = audit_by_rules(solution, constraints.lines()) if gated else ()
            verdicts.append(verified(solution, judged, findings, reliability(findings)))
        best = drawn.solutions[best_of(verdicts, aggregator) or 0]
        hits.append(best.answer == drawn.answer)
    return statistics.fmean(hits)


def at_random(sample: list[Case]) -> float:
    """Share of solutions that are right."""
    return statistics.fmean(
        solution.answer == sample_case.answer
        for sample_case in sample
        for solution in sample_case.solutions
    )


@benchmark(split="test", seeds=3, misread=0.4, out=option(type=Path))
def main(options: Options) -> Result:
    """Measure, print, and write the result."""
    all_cases = cases(options.split, options.seeds, options.misread)
    result: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "simulated": True,
        "cases": len(all_cases),
        "candidates": CANDIDATES,
        "one_at_random": round(at_random(all_cases), 4),
        "best_ungated": round(accuracy(all_cases, None, 0.0, gated=False), 4),
        "sweeps": {kind: sweep(all_cases, kind) for kind in get_args(Corruption)},
        "aggregators": {
            name: round(accuracy(all_cases, None, 0.0, aggregator=name), 4)
            for name in get_args(Aggregator)
        },
    }
    return result
