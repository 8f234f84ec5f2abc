"""Rate at which a ladder calls a difference where there is none, and stability of its verdict.

    python -m benchmarks.receipts.repeats --runs runs/repeats

The same ladder again and again, with other seeds and new calls of a real model at a temperature
above 0: `skills/short-answers` on tasks of `demo`, without a skill, with it, and with it again
(A/A). Resumes after the last whole ladder. Every two runs with the skill are an A/A pair, too, so
that few ladders say how often a difference is called: `pairs`.
"""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any

from benchmarks.reports import (
    Journal,
    Options,
    Result,
    benchmark,
    option,
    out_or_resume,
    share_interval,
)
from harness.core import write_atomic
from harness.evals import records
from harness.receipts.ladder.plan import PLAN, LadderSettings
from harness.receipts.ladder.session import run_ladder
from harness.stats import change_interval

SUITE = """\
name: demo-sampled
corpus: almanac
agent: graph:answer
skill_mode: preloaded
sampling: {{temperature: {}, max_tokens: 16, stop: ["\\n"]}}
max_turns: 1
"""
TASK = attrgetter("task_id")
OUTCOMES = {"pass": "1", "fail": "0", "invalid": "-"}


def calls_difference(first: str, second: str) -> bool:
    """Return True if a ladder of two would call two runs of the same tasks different."""
    changes = [int(a) - int(b) for a, b in zip(first, second, strict=True) if "-" not in a + b]
    low, high = change_interval(changes) or (-1.0, 1.0)
    return low > 0 or high < 0


@benchmark(
    repetitions=40,
    tasks=40,
    temperature=0.7,
    model="local/smollm2-135m",
    base_url=option(),
    concurrency=16,
    runs=Path("runs/repeats"),
    out=Path("evals/results/ladder_repeats.json"),
)
def main(options: Options) -> Result:
    suite = options.runs / "suite.yaml"
    write_atomic(suite, SUITE.format(options.temperature))
    # Each receipt is written beside the skill: that of the shipped one stays.
    skill = shutil.copytree(
        Path("skills/short-answers"), options.runs / "short-answers", dirs_exist_ok=True
    )
    journal = Journal(options.runs / "journal.jsonl")

    def ladder(seed: int) -> dict[str, Any]:
        run = options.runs / f"seed-{seed}"
        result = run_ladder(
            LadderSettings(
                skill=skill, suite=str(suite), examples="none",
                rungs="none,repeat", limit=options.tasks, models=(options.model,), seed=seed,
                base_url=options.base_url, concurrency=options.concurrency,
                **out_or_resume(run, PLAN),
            ),
            tell=lambda _: None,
        ).ladder  # fmt: skip
        rungs = {rung.name: rung for rung in result.rungs}
        assert result.again is not None
        results = {
            # By task: attempts are recorded as they end.
            rung: "".join(OUTCOMES[item.outcome] for item in sorted(records(run / rung), key=TASK))
            for rung in ("skill", "repeat")
        }
        row = {
            "seed": seed,
            "passed": {name: rung.passed for name, rung in rungs.items()},
            "changed": result.again.changed,
            "called": result.again.differs,
            "verdict": rungs["none"].verdict,
            "results": results,
        }
        print(row, flush=True)
        return row

    rows = [
        journal.result(f"{options.model} {options.tasks} {options.temperature} {seed}",
                       lambda seed=seed: ladder(seed))
        # Far apart: the second run of a ladder has the next seed.
        for seed in range(1, 100 * options.repetitions, 100)
    ]  # fmt: skip
    called = sum(row["called"] for row in rows)
    runs = [results for row in rows for results in row["results"].values()]
    pairs = [calls_difference(first, second) for first, second in combinations(runs, 2)]
    verdicts = Counter(row["verdict"] for row in rows)
    return {
        "command": "python -m benchmarks.receipts.repeats",
        "model": options.model,
        "tasks": options.tasks,
        "temperature": options.temperature,
        "repetitions": len(rows),
        "called": called,
        "called_ci95": share_interval(called, len(rows)),
        "pairs": {"number": len(pairs), "called": sum(pairs)},
        "verdicts": dict(verdicts.most_common()),
        "rows": rows,
    }
