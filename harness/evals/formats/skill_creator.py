"""`benchmark.json` of Anthropic's skill-creator: the run without the skill and the one with it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from harness.core import Outcome, Usage, count, listing, mapping, read_json, string
from harness.evals.formats.building import Attempts
from harness.evals.report import Results

BEFORE = ("without_skill", "old_skill")
"""Configurations that the others are compared with."""
NO_RESULTS = "holds questions alone: the results of its runs are in benchmark.json"


def is_benchmark(document: dict[str, Any]) -> bool:
    """Return True if a JSON document is such a file."""
    runs = listing(document.get("runs"))
    return bool(runs) and all("configuration" in mapping(run) for run in runs)


def benchmark_results(path: Path) -> list[Results]:
    """A run for every configuration, that without the skill first.

    A task passes if all of its expectations do; its score is the share of those that do. A run
    without an expectation that was judged is invalid.

    Raises:
        BadInput: if it has no runs.
    """
    document = mapping(read_json(path))
    about = mapping(document.get("metadata"))
    configurations: dict[str, Attempts] = defaultdict(Attempts)
    for run in map(mapping, listing(document.get("runs"))):
        result = mapping(run.get("result"))
        judged, passed = count(result.get("total")), count(result.get("passed"))
        unmet = [
            string(row.get("text"))
            for row in map(mapping, listing(run.get("expectations")))
            if not row.get("passed")
        ]
        outcome: Outcome = "pass" if judged and passed == judged else "fail"
        seconds = result.get("time_seconds")
        configurations[string(run.get("configuration"))].add(
            string(run.get("eval_name")) or str(run.get("eval_id")),
            outcome if judged else "invalid",
            passed / judged if judged else 0.0,
            reason="; ".join(unmet),
            usage=Usage(
                prompt_tokens=count(result.get("tokens")), cost_usd=None,
                seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
            ),
        )  # fmt: skip
    summary = mapping(document.get("run_summary"))
    order = sorted(configurations, key=lambda name: (name not in BEFORE, name))
    return [
        configurations[name].results(
            f"{path.name}:{name}", "skill-creator", suite=string(about.get("skill_name")),
            model=string(about.get("executor_model")), agent=name,
            figures={
                key: mapping(value).get("mean")
                for key, value in mapping(summary.get(name)).items()
            },
        )
        for name in order
    ]  # fmt: skip
