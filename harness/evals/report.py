"""Records of an eval run, the report made from them, and the comparison of two runs."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from harness.agents import without_skill
from harness.core import BadInput, Outcome, Trajectory, Usage, Value, decoding
from harness.core.rundir import RunReader
from harness.evals.judged import JUDGED, JudgedRate, judged_rate
from harness.evals.plan import RunParts, read_parts
from harness.stats import (
    PairedComparison,
    Repeated,
    cluster_names,
    clustered,
    clustered_error,
    compare_rates,
    detectable_lift,
    rate_interval,
    repeated,
    required_tasks,
)

REPORTED = "reported"
"""Key of a lock: what another tool itself says of the run."""
_VARIABLE = re.compile(r"/\S+|0x[0-9a-f]+|\d+")
"""What differs from attempt to attempt although the reason is the same."""
Measure = Literal["outcome", "score"]
"""What of an attempt is compared: whether it passed, or its score."""


class ItemRecord(Value):
    """One finished attempt at one task.

    Attributes:
        id: trajectory id, `<task id>` or `<task id>@<epoch>`.
        task_id: the task.
        epoch: 0 for the first attempt.
        outcome: pass, fail or invalid.
        value: soft score in [0, 1].
        reason: why, in one sentence.
        answer: final answer text.
        usage: tokens, money and time.
        stratum: of the task, for stratified splits.
        group: of the task, for intervals by group.
        detail: the scorer's detail.
    """

    id: str
    task_id: str
    epoch: int = 0
    outcome: Outcome
    value: float
    reason: str = ""
    answer: str | None = None
    usage: Usage = Usage()
    stratum: str = ""
    detail: dict[str, JsonValue] = {}
    group: str = Field(default="", exclude_if=lambda value: not value)


class EvalReport(Value):
    """The end of an eval run, as `harness eval --json` prints it.

    `score` is the pass rate over valid items; `ci95` its 95 % interval, `se` its standard error,
    attempts at one task being one cluster, or those of a group where tasks name one (`groups` is
    their number); all None if no item was valid. `alike` says of how many prompts so many have
    another one like them, where tasks name no group. `repeated` has pass@k,
    pass^k and "at least k" where every task was attempted more than once. `skill_mode` tells a
    skill whose text was in the prompt (preloaded) from one that the agent had to open
    (discovered); None without a skill. `unreported` of the `calls` have no part in `tokens`: the
    server did not report their usage. `judge` is there where a model judged.
    """

    run: str
    items: int
    passed: int
    failed: int
    invalid: int
    score: float | None
    ci95: tuple[float, float] | None
    se: float | None = None
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    alike: tuple[int, int] = Field(default=(0, 0), exclude_if=lambda value: not value[0])
    repeated: dict[str, Repeated] = {}
    tokens: int
    calls: int = 0
    unreported: int = Field(default=0, exclude_if=lambda value: not value)
    cost_usd: float | None
    seconds: float
    model: str
    simulated: bool = False
    suite: str = ""
    skill: str | None = None
    skill_mode: str | None = None
    judge: JudgedRate | None = Field(default=None, exclude_if=lambda value: value is None)


class ChangedOutcome(Value):
    """An attempt that passed in one run and failed in the other.

    Attributes:
        id: of the attempt.
        before: outcome in the first run, with its answer.
        after: outcome in the second run, with its answer.
        reason: the reason given in the second run.
    """

    id: str
    before: Outcome
    after: Outcome
    answer_before: str | None
    answer_after: str | None
    reason: str


@dataclass(frozen=True)
class Results:
    """Results of a run, ours or another tool's.

    Attributes:
        name: of the run's folder or file.
        lock: content of `run.json`.
        items: the last record of every attempt.
        trajectories: of the attempts, in their order, where another tool keeps them.
        planned: number of attempts of the whole run; None where that is not recorded.
        alike: as in :class:`EvalReport`.
    """

    name: str
    lock: dict[str, Any]
    items: list[ItemRecord]
    trajectories: list[Trajectory] = field(default_factory=list[Trajectory])
    planned: int | None = None
    alike: tuple[int, int] = (0, 0)

    def report(self) -> EvalReport:
        """The report, computed from the records."""
        seconds = sum(item.usage.seconds for item in self.items)
        return summarise(self.lock, self.name, self.items, seconds, alike=self.alike)


class RunComparison(Value):
    """A run against the first one.

    Attributes:
        before: report of the first run.
        after: report of this run.
        measure: what is compared: whether attempts passed, or their scores in [0, 1].
        paired: the paired comparison.
        detectable: smallest lift that this many tasks can detect at 80 % power; None for scores.
        needed: tasks in all at which a difference like this would show at 80 % power, where it
            does not yet and tasks pass or fail.
        differs: lock fields that differ, such as skill and model; shows a comparison across
            different tasks, too.
        changes: attempts that passed in one and failed in the other.
        unfinished: run -> number of its attempts, of runs that were stopped before they had them.
        sequential: whether the runs are the two sides of a gate: then interval and p (one-sided)
            are the gate's, and allow for stopping early.
    """

    before: EvalReport
    after: EvalReport
    measure: Measure = "outcome"
    paired: PairedComparison
    detectable: float | None
    needed: int | None = None
    differs: tuple[str, ...]
    changes: tuple[ChangedOutcome, ...] = ()
    unfinished: dict[str, int] = Field(default={}, exclude_if=lambda value: not value)
    sequential: bool = False


def finished_items(run: RunReader, parts: Sequence[RunParts] | None = None) -> list[ItemRecord]:
    """The last record of every attempt, in the order of first finishing.

    Resuming a run tries its invalid attempts again, so an id may have several records. Groups are
    those that were named when the run was last started.

    Args:
        run: the folder.
        parts: of the run, if they have been read.
    """
    parts = read_parts(run.path) if parts is None else parts
    samples = parts[-1].samples if parts else {}
    with decoding(run.path):
        latest = {row["id"]: row for row in run.items()}
        for row in latest.values():
            if (sample := samples.get(row["task_id"])) is not None:
                row["group"] = sample.group
        return [ItemRecord.model_validate(row) for row in latest.values()]


def groups_of(items: Iterable[ItemRecord]) -> dict[str, str]:
    """Task -> its group, of those that have one."""
    return {item.task_id: item.group for item in items if item.group}


def cause(reason: str) -> str:
    """The first line of a reason without what differs from attempt to attempt."""
    return _VARIABLE.sub("#", reason.partition("\n")[0])


def records(run: Path) -> list[ItemRecord]:
    """The item records of a run folder."""
    return finished_items(RunReader(run))


def open_run(path: Path) -> RunReader:
    """A finished or stopped eval run.

    Raises:
        BadInput: if the folder holds no run, or a run of another kind.
    """
    run = RunReader(path)
    if run.lock.get("kind") != "eval":
        raise BadInput(f"{str(path)!r} is a run of kind {run.lock.get('kind')!r}, not eval")
    return run


def attempts_by_task(
    items: Iterable[ItemRecord], measure: Measure = "outcome"
) -> dict[str, list[float]]:
    """1 for every attempt that passed, 0 for one that failed; invalid ones are left out.

    With the measure `score`, the attempts' scores.

    Attempts at one task are one cluster where tasks have no groups.
    """
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.outcome != "invalid":
            passed = float(item.outcome == "pass")
            groups[item.task_id].append(passed if measure == "outcome" else item.value)
    return groups


def compare_paired(
    before: Iterable[ItemRecord], after: Iterable[ItemRecord], measure: Measure = "outcome"
) -> PairedComparison:
    """Compare two sets of attempts on the same tasks and seeds, by group or else by task."""
    before, after = list(before), list(after)
    first, second = (
        {
            task: sum(values) / len(values)
            for task, values in attempts_by_task(items, measure).items()
        }
        for items in (before, after)
    )
    return compare_rates(first, second, groups_of([*before, *after]))


def summarise(
    lock: dict[str, Any],
    run_id: str,
    items: list[ItemRecord],
    seconds: float,
    usage: Usage | None = None,
    alike: tuple[int, int] = (0, 0),
) -> EvalReport:
    """The report of a run.

    Args:
        lock: content of `run.json`.
        run_id: name of the run folder.
        items: its records.
        seconds: how long it took.
        usage: of all attempts, where `items` do not carry it; default their sum.
        alike: as in the report.
    """
    valid = [item for item in items if item.outcome != "invalid"]
    passes = sum(item.outcome == "pass" for item in valid)
    tasks = attempts_by_task(valid)
    names, clusters = clusters_of(tasks, valid)
    if usage is None:
        usage = sum((item.usage for item in items), Usage())
    return EvalReport(
        run=run_id,
        items=len(items),
        passed=passes,
        failed=len(valid) - passes,
        invalid=len(items) - len(valid),
        score=passes / len(valid) if valid else None,
        ci95=rate_interval(clusters),
        se=clustered_error(clusters),
        groups=len(clusters) if names else None,
        alike=(0, 0) if names else alike,
        repeated=repeated(list(tasks.values()), lock.get("epochs", 1), names),
        tokens=usage.tokens,
        calls=usage.calls,
        unreported=usage.unreported,
        cost_usd=usage.cost_usd,
        seconds=seconds,
        model=lock["model"],
        simulated=lock["simulated"],
        suite=lock["suite"],
        skill=lock["skill_name"],
        skill_mode=lock.get("skill_mode") if lock["skill_name"] else None,
        judge=_judged(lock["judge"], items) if lock.get("judge") else None,
    )


def clusters_of(
    tasks: Mapping[str, list[float]], items: Iterable[ItemRecord]
) -> tuple[list[str], list[list[float]]]:
    """The groups of tasks, if any has one, and the values of their attempts in clusters."""
    names = cluster_names(list(tasks), groups_of(items))
    clusters = clustered(list(tasks.values()), names)
    return names, [[value for values in cluster for value in values] for cluster in clusters]


def _judged(facts: dict[str, Any], items: list[ItemRecord]) -> JudgedRate:
    judged = [item for item in items if JUDGED in item.detail]
    _, clusters = clusters_of(attempts_by_task(judged), judged)
    return judged_rate(facts, [item.detail for item in judged], clusters)


def read_report(path: Path) -> EvalReport:
    """The report of a run folder, computed from its records."""
    run = RunReader(path)
    with decoding(path / "run.json"):
        return _results(path, run).report()


def _results(path: Path, run: RunReader) -> Results:
    rows = read_parts(path)
    planned = len(rows[-1].samples) * run.lock.get("epochs", 1) if rows else None
    alike = rows[-1].alike if rows else (0, 0)
    return Results(path.name, run.lock, finished_items(run, rows), planned=planned, alike=alike)


def read_run(path: Path) -> Results:
    """Read the results of the run in a folder.

    Raises:
        BadInput: if the folder holds no eval run.
    """
    return _results(path, open_run(path))


def joined(path: Path, runs: Sequence[Path]) -> Results:
    """Runs of different tasks as a single one, such as the looks of a gate.

    Args:
        path: of the whole.
        runs: their folders, in order; of an attempt in several of them the last one counts.

    Raises:
        BadInput: as :func:`read_run`.
    """
    parts = [read_run(run) for run in runs]
    items = {item.id: item for part in parts for item in part.items}
    return Results(path.name, parts[0].lock, list(items.values()))


def _fact(run: Results, name: str) -> Any:
    """Return an entry of a lock; a command with room for a skill is the same agent as without."""
    value = run.lock.get(name)
    return without_skill(str(value)) if name == "agent" else value


def compare_results(before: Results, after: Results, measure: Measure = "outcome") -> RunComparison:
    """Compare two runs, paired by task.

    Raises:
        BadInput: if they share no task that is valid in both.
    """
    paired = compare_paired(before.items, after.items, measure)
    if paired.tasks == 0:
        raise BadInput(f"{before.name!r} and {after.name!r} share no task that is valid in both")
    old = {item.id: item for item in before.items}
    keys = (before.lock.keys() | after.lock.keys()) - {REPORTED}
    detectable = needed = None
    if measure == "outcome":
        discordance = paired.discordance or 0.25
        independent = paired.independent or paired.tasks
        detectable = detectable_lift(max(1, int(independent)), discordance)
        if paired.difference and paired.ci95 and paired.ci95[0] <= 0 <= paired.ci95[1]:
            shows = required_tasks(abs(paired.difference), discordance) / independent
            needed = max(math.ceil(shows * paired.tasks), paired.tasks + 1)
    unfinished = {
        run.name: run.planned
        for run in (before, after)
        if run.planned is not None and len(run.items) < run.planned
    }
    return RunComparison(
        before=before.report(),
        after=after.report(),
        measure=measure,
        paired=paired,
        detectable=detectable,
        needed=needed,
        differs=tuple(sorted(key for key in keys if _fact(before, key) != _fact(after, key))),
        changes=tuple(
            ChangedOutcome(
                id=item.id, before=old[item.id].outcome, after=item.outcome,
                answer_before=old[item.id].answer, answer_after=item.answer, reason=item.reason,
            )
            for item in sorted(after.items, key=lambda item: item.id)
            if item.id in old and {old[item.id].outcome, item.outcome} == {"pass", "fail"}
        ),
        unfinished=unfinished,
    )  # fmt: skip
