"""The files of Anthropic's skill-creator: `evals.json`, `benchmark.json`, `history.json`.

Field names are those that its viewer reads. Source: anthropics/skills,
skill-creator/references/schemas.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, cast

from harness.core import Value, mapping
from harness.skills.history import list_versions
from harness.skills.shipping.catalogues import read_object

INVALID = "invalid: neither right nor wrong, and in no mean"


class Attempt(Value):
    """One attempt at one task, in plain values.

    Attributes:
        task: task id.
        outcome: `invalid` (model unreachable, limit reached, ...) counts as neither.
        epoch: 0 for the first attempt.
        reason: why, in one sentence.
        seconds: wall-clock time.
        tokens: prompt and completion tokens.
    """

    task: str
    outcome: Literal["pass", "fail", "invalid"]
    epoch: int = 0
    reason: str = ""
    seconds: float = 0.0
    tokens: int = 0


def evals_of(skill_name: str, tasks: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """`evals.json` from (task id, prompt, expected output), numbered from 1 in this order."""
    cases = [
        {
            "id": number,
            "prompt": prompt,
            "expected_output": expected,
            "files": [],
            "expectations": [f"The task's check passes ({name})"],
            "name": name,
        }
        for number, (name, prompt, expected) in enumerate(tasks, 1)
    ]
    return {"skill_name": skill_name, "evals": cases}


def benchmark_of(
    skill_name: str,
    with_skill: Sequence[Attempt],
    without_skill: Sequence[Attempt] = (),
    *,
    model: str = "",
    order: Sequence[str] = (),
) -> dict[str, Any]:
    """`benchmark.json` from the attempts of one or two runs.

    A configuration without a valid attempt is left out of the summary, as the viewer expects.

    Args:
        skill_name: name of the skill.
        with_skill: attempts with the skill.
        without_skill: attempts at the same tasks without it, or with what it replaces.
        model: what ran the tasks.
        order: task ids of `evals.json`, which number the evals; default as they come.
    """
    attempts = (*with_skill, *without_skill)
    names = dict.fromkeys([*order, *(attempt.task for attempt in attempts)])
    numbers = {name: number for number, name in enumerate(names, 1)}
    configurations = {"with_skill": with_skill, "without_skill": without_skill}
    runs: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    for configuration, rows in configurations.items():
        for row in rows:
            valid, passed = row.outcome != "invalid", row.outcome == "pass"
            text = f"The task's check passes ({row.task})"
            expectation = {"text": text, "passed": passed, "evidence": row.reason}
            runs.append({
                "eval_id": numbers[row.task],
                "eval_name": row.task,
                "configuration": configuration,
                "run_number": row.epoch + 1,
                "result": {
                    "pass_rate": float(passed),
                    "passed": int(passed),
                    "failed": int(valid and not passed),
                    "total": int(valid),
                    "time_seconds": row.seconds,
                    "tokens": row.tokens,
                    "errors": int(not valid),
                },
                "expectations": [expectation] if valid else [],
                "notes": [] if valid else [f"{INVALID}: {row.reason}".rstrip(": ")],
            })  # fmt: skip
        if scored := [row for row in rows if row.outcome != "invalid"]:
            summary[configuration] = {
                "pass_rate": _spread([float(row.outcome == "pass") for row in scored]),
                "time_seconds": _spread([row.seconds for row in scored]),
                "tokens": _spread([float(row.tokens) for row in scored]),
            }
    delta: dict[str, str] = {}
    if len(summary) == 2:
        for name, form in {"pass_rate": "+.2f", "time_seconds": "+.1f", "tokens": "+.0f"}.items():
            mean, base = (summary[row][name]["mean"] for row in configurations)
            delta[name] = format(mean - base, form)
    invalid = sum(attempt.outcome == "invalid" for attempt in attempts)
    return {
        "metadata": {
            "skill_name": skill_name,
            "skill_path": "",
            "executor_model": model,
            "analyzer_model": "",
            "timestamp": "",
            "evals_run": sorted({numbers[attempt.task] for attempt in attempts}),
            "runs_per_configuration": max((row.epoch + 1 for row in attempts), default=1),
        },
        "runs": sorted(
            runs, key=lambda run: (run["eval_id"], run["configuration"], run["run_number"])
        ),
        "run_summary": {**summary, "delta": delta},
        "notes": [f"{invalid} of {len(attempts)} runs are {INVALID}"] if invalid else [],
    }


def _spread(values: list[float]) -> dict[str, float]:
    """Mean, sample standard deviation (0 for one value), smallest and largest."""
    return {
        "mean": round(fmean(values), 4),
        "stddev": round(stdev(values), 4) if len(values) > 1 else 0.0,
        "min": min(values),
        "max": max(values),
    }


def history_of(skill_dir: Path) -> dict[str, Any]:
    """`history.json` of an evolved skill: the pass rates that its gate measured, from the report.

    Versions are `v0`, `v1`, ... as they were recorded; one that no gate measured has no pass rate
    and is left out.
    """
    root = skill_dir.resolve()
    report = read_object(root.parent.parent / "report.json")
    gate = mapping(mapping(report.get("result")).get("gate"))
    rates = [gate.get("before"), gate.get("after")]
    names = {version.digest: f"v{number}" for number, version in enumerate(list_versions(root))}
    first, second = names.get(str(report.get("seed"))), names.get(str(report.get("skill")))
    history: dict[str, Any] = {"started_at": "", "skill_name": root.name, "current_best": ""}
    measured = all(type(rate) in (int, float) for rate in rates)
    if first is None or second is None or first == second or not measured:
        return {**history, "iterations": []}
    before, after = map(float, cast("list[float]", rates))
    won = gate.get("verdict") == "accepted"
    verdict = "won" if won else "lost" if after < before else "tie"
    rows = [(first, None, before, "baseline", not won), (second, first, after, verdict, won)]
    keys = ("version", "parent", "expectation_pass_rate", "grading_result", "is_current_best")
    iterations = [dict(zip(keys, row, strict=True)) for row in rows]
    return {**history, "current_best": second if won else first, "iterations": iterations}
