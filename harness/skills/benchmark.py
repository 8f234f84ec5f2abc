"""From attempts at tasks, with and without a skill, to skill-creator's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, TypeGuard, cast

from harness.core.values import Value
from harness.skills.creator import (
    Benchmark,
    BenchmarkRun,
    Configuration,
    EvalCase,
    Evals,
    Expectation,
    Grading,
    History,
    Iteration,
    Metadata,
    RunResult,
    RunSummary,
    Spread,
    Summary,
)
from harness.skills.history import list_versions
from harness.skills.place import read_object

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


def evals_of(skill_name: str, tasks: Sequence[tuple[str, str, str]]) -> Evals:
    """`evals.json` from (task id, prompt, what is expected), numbered from 1 in this order."""
    cases = [
        EvalCase(
            id=number,
            name=name,
            prompt=prompt,
            expected_output=expected,
            expectations=(f"The task's check passes ({name})",),
        )
        for number, (name, prompt, expected) in enumerate(tasks, 1)
    ]
    return Evals(skill_name=skill_name, evals=tuple(cases))


def benchmark_of(
    skill_name: str,
    with_skill: Sequence[Attempt],
    without_skill: Sequence[Attempt] = (),
    *,
    model: str = "",
    timestamp: str = "",
    order: Sequence[str] = (),
) -> Benchmark:
    """`benchmark.json` from the attempts of one or two runs.

    Args:
        skill_name: name of the skill.
        with_skill: attempts with the skill.
        without_skill: attempts at the same tasks without it, or with what it replaces.
        model: what ran the tasks.
        timestamp: ISO 8601, "" if unknown.
        order: task ids of `evals.json`, which number the evals; default as they come.
    """
    both = (*with_skill, *without_skill)
    names = dict.fromkeys([*order, *(one.task for one in both)])
    numbers = {name: number for number, name in enumerate(names, 1)}
    runs = [_run(one, "with_skill", numbers) for one in with_skill]
    runs += [_run(one, "without_skill", numbers) for one in without_skill]
    summaries = _summary(with_skill), _summary(without_skill)
    invalid = sum(one.outcome == "invalid" for one in both)
    return Benchmark(
        metadata=Metadata(
            skill_name=skill_name,
            executor_model=model,
            timestamp=timestamp,
            evals_run=tuple(sorted({numbers[one.task] for one in both})),
            runs_per_configuration=max((one.epoch + 1 for one in both), default=1),
        ),
        runs=tuple(sorted(runs, key=lambda run: (run.eval_id, run.configuration, run.run_number))),
        run_summary=RunSummary(
            with_skill=summaries[0], without_skill=summaries[1], delta=_delta(*summaries)
        ),
        notes=(f"{invalid} of {len(both)} runs are {INVALID}",) if invalid else (),
    )


def history_of(skill_dir: Path) -> History:
    """`history.json` of an evolved skill: the pass rates that its gate measured, from the report.

    Versions are `v0`, `v1`, ... as they were recorded; one that no gate measured has no pass rate
    and is left out.
    """
    root = skill_dir.resolve()
    report = read_object(root.parent.parent / "report.json")
    gate = _object(_object(report.get("result")).get("gate"))
    rates = [float(one) for one in (gate.get("before"), gate.get("after")) if _is_number(one)]
    names = {version.digest: f"v{number}" for number, version in enumerate(list_versions(root))}
    first, second = names.get(str(report.get("seed"))), names.get(str(report.get("skill")))
    if first is None or second is None or first == second or len(rates) < 2:
        return History(skill_name=root.name)
    won = gate.get("verdict") == "accepted"
    other: Grading = "lost" if rates[1] < rates[0] else "tie"
    before = Iteration(
        version=first,
        expectation_pass_rate=rates[0],
        grading_result="baseline",
        is_current_best=not won,
    )
    after = Iteration(
        version=second,
        parent=first,
        expectation_pass_rate=rates[1],
        grading_result="won" if won else other,
        is_current_best=won,
    )
    return History(
        skill_name=root.name, current_best=second if won else first, iterations=(before, after)
    )


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _run(one: Attempt, configuration: Configuration, numbers: dict[str, int]) -> BenchmarkRun:
    valid, good = one.outcome != "invalid", one.outcome == "pass"
    text = f"The task's check passes ({one.task})"
    return BenchmarkRun(
        eval_id=numbers[one.task],
        eval_name=one.task,
        configuration=configuration,
        run_number=one.epoch + 1,
        result=RunResult(
            pass_rate=float(good),
            passed=int(good),
            failed=int(valid and not good),
            total=int(valid),
            time_seconds=one.seconds,
            tokens=one.tokens,
            errors=int(not valid),
        ),
        expectations=(Expectation(text=text, passed=good, evidence=one.reason),) if valid else (),
        notes=() if valid else (f"{INVALID}: {one.reason}".rstrip(": "),),
    )


def _summary(attempts: Sequence[Attempt]) -> Summary | None:
    valid = [one for one in attempts if one.outcome != "invalid"]
    if not valid:
        return None
    return Summary(
        pass_rate=_spread([float(one.outcome == "pass") for one in valid]),
        time_seconds=_spread([one.seconds for one in valid]),
        tokens=_spread([float(one.tokens) for one in valid]),
    )


def _spread(values: list[float]) -> Spread:
    return Spread(
        mean=round(fmean(values), 4),
        stddev=round(stdev(values), 4) if len(values) > 1 else 0.0,
        min=min(values),
        max=max(values),
    )


def _delta(ours: Summary | None, base: Summary | None) -> dict[str, str]:
    if ours is None or base is None:
        return {}
    return {
        "pass_rate": f"{ours.pass_rate.mean - base.pass_rate.mean:+.2f}",
        "time_seconds": f"{ours.time_seconds.mean - base.time_seconds.mean:+.1f}",
        "tokens": f"{ours.tokens.mean - base.tokens.mean:+.0f}",
    }
