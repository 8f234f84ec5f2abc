"""Two finished runs, paired by task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.core import BadInput, Outcome, Value
from harness.core.rundir import RunReader
from harness.evals.pass_rates import compare_paired
from harness.evals.runner import finished_items, summarise
from harness.evals.types import EvalReport, ItemRecord
from harness.stats import PairedComparison, detectable_lift


class Change(Value):
    """A task whose result is another one: its first attempts that ended otherwise.

    Attributes:
        id: of the attempt.
        before: outcome in the first run, with its answer.
        after: outcome in the other one, with its answer.
        reason: why, in the other one.
    """

    id: str
    before: Outcome
    after: Outcome
    answer_before: str | None
    answer_after: str | None
    reason: str


class RunComparison(Value):
    """A run against the first one given.

    Attributes:
        before: report of the first run.
        after: report of this run.
        paired: the paired comparison.
        detectable: smallest lift that this many tasks can detect at 80 % power.
        differs: lock fields that differ, skill and model among them; a comparison across other
            tasks is flagged here.
        changes: attempts that passed in one and failed in the other.
    """

    before: EvalReport
    after: EvalReport
    paired: PairedComparison
    detectable: float | None
    differs: tuple[str, ...]
    changes: tuple[Change, ...] = ()


def read_report(path: Path) -> EvalReport:
    """The report of a run folder, computed from its records."""
    run = RunReader(path)
    items = finished_items(run)
    return summarise(run.lock, path.name, items, sum(item.usage.seconds for item in items))


def compare_runs(first: Path, second: Path) -> RunComparison:
    """Compare two run folders.

    Raises:
        BadInput: if one is no eval run, or they share no task.
    """
    before, after = RunReader(first), RunReader(second)
    for run in (before, after):
        if run.lock.get("kind") != "eval":
            raise BadInput(f"{str(run.path)!r} is a run of kind {run.lock.get('kind')!r}, not eval")
    one, other = finished_items(before), finished_items(after)
    paired = compare_paired(one, other)
    if paired.tasks == 0 and paired.unpaired:
        raise BadInput(f"{str(first)!r} and {str(second)!r} share no task that is valid in both")
    return RunComparison(
        before=read_report(first),
        after=read_report(second),
        paired=paired,
        detectable=detectable_lift(paired.tasks, paired.discordance or 0.25),
        differs=_differences(before.lock, after.lock),
        changes=tuple(_changes(one, other)),
    )


def _changes(first: list[ItemRecord], second: list[ItemRecord]) -> Iterator[Change]:
    before = {item.id: item for item in first}
    for item in second:
        was = before.get(item.id)
        if was is not None and {was.outcome, item.outcome} == {"pass", "fail"}:
            yield Change(
                id=item.id, before=was.outcome, after=item.outcome, answer_before=was.answer,
                answer_after=item.answer, reason=item.reason,
            )  # fmt: skip


def _differences(first: dict[str, Any], second: dict[str, Any]) -> tuple[str, ...]:
    keys = first.keys() | second.keys()
    return tuple(sorted(key for key in keys if first.get(key) != second.get(key)))
