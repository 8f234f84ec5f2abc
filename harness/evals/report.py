"""Records of an eval run, and the report made from them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from harness.core import BadInput, Outcome, Trajectory, Usage, Value, decoding
from harness.core.rundir import RunReader
from harness.evals.judged import JUDGED, JudgedRate, judged_rate
from harness.evals.plan import Alike, RunParts, read_parts
from harness.stats import (
    PairedComparison,
    Repeated,
    cluster_names,
    clustered,
    clustered_error,
    compare_rates,
    rate_interval,
    repeated,
    share_interval,
)

REPORTED = "reported"
"""Key of a lock: what another tool itself says of the run."""
UNKNOWN = "unknown"
"""Model of results whose tool names none."""
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

    `pass_rate` is over valid items, and `score` the same under its earlier name; `ci95` is its 95 %
    interval, `se` its standard error, attempts at one task being one cluster, or those of a group
    where tasks name one (`groups` is their number); all None if no item was valid. `mean_score` is
    the mean of what the checks gave
    in [0, 1], with its own interval: it differs from the pass rate where a check gives fractions,
    of which 1 passes, or those above its threshold. `alike` says of how many prompts so many have
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
    pass_rate: float | None = None
    mean_score: float | None = None
    mean_score_ci95: tuple[float, float] | None = None
    groups: int | None = Field(default=None, exclude_if=lambda value: value is None)
    alike: Alike = Field(default=(0, 0), exclude_if=lambda value: not value[0])
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
        program: digest of the agent's code; empty where that is not recorded.
        taught: tasks from which its skill was evolved.
    """

    name: str
    lock: dict[str, Any]
    items: list[ItemRecord]
    trajectories: list[Trajectory] = field(default_factory=list[Trajectory])
    planned: int | None = None
    alike: Alike = (0, 0)
    program: str = ""
    taught: tuple[str, ...] = ()

    def report(self) -> EvalReport:
        """The report, computed from the records."""
        seconds = sum(item.usage.seconds for item in self.items)
        return summarise(self.lock, self.name, self.items, seconds, alike=self.alike)


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
    """1 for every attempt that passed, 0 for one that failed, or scores; no invalid ones."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        if item.outcome != "invalid":
            groups[item.task_id].append(
                item.value if measure == "score" else float(item.outcome == "pass")
            )
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
    alike: Alike = (0, 0),
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
        pass_rate=passes / len(valid) if valid else None,
        mean_score=sum(item.value for item in valid) / len(valid) if valid else None,
        mean_score_ci95=share_interval(
            [item.value for item in valid], [item.group or item.task_id for item in valid]
        ),
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


def _judged(judge: dict[str, Any], items: list[ItemRecord]) -> JudgedRate:
    judged = [item for item in items if JUDGED in item.detail]
    _, clusters = clusters_of(attempts_by_task(judged), judged)
    return judged_rate(judge, [item.detail for item in judged], clusters)


def read_report(path: Path) -> EvalReport:
    """The report of a run folder, computed from its records."""
    run = RunReader(path)
    with decoding(path / "run.json"):
        return _results(path, run).report()


def _results(path: Path, run: RunReader) -> Results:
    rows = read_parts(path)
    results = Results(path.name, run.lock, finished_items(run, rows))
    if not rows:
        return results
    planned = len(rows[-1].samples) * run.lock.get("epochs", 1)
    last = rows[-1]
    return replace(
        results, planned=planned, alike=last.alike, program=last.program, taught=last.taught
    )


def read_run(path: Path) -> Results:
    """Read the results of the run in a folder.

    Raises:
        BadInput: if the folder holds no eval run.
    """
    return _results(path, open_run(path))
