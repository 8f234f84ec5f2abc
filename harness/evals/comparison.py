"""Two runs, paired by task: how their outcomes and scores differ, and what else does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from pydantic import Field

from harness.agents import without_skill
from harness.core import BadInput, Outcome, Value
from harness.evals.report import (
    REPORTED,
    UNKNOWN,
    EvalReport,
    Measure,
    Results,
    compare_paired,
)
from harness.stats import PairedComparison, detectable_lift, required_tasks

# Characters of the names of tasks in a message.
NAMED = 60


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


class RunComparison(Value):
    """A run against the first one.

    Attributes:
        before: report of the first run.
        after: report of this run.
        measure: what is compared: whether attempts passed, or their scores in [0, 1].
        paired: the paired comparison.
        detectable: smallest lift that this many tasks can detect at 80 % power; None for scores.
        needed: tasks at which a difference like this would show, where it does not yet.
        differs: lock fields that differ, such as skill, model and tasks.
        scores: the paired comparison of scores, where outcomes are compared and some are fractions.
        unknown: those of which the results of another tool say nothing that can be compared.
        changes: attempts that passed in one and failed in the other.
        unfinished: run -> number of its attempts, of runs that were stopped before they had them.
        noise: the later attempts of the first run against its first ones; None where it has none.
        held_out: the paired comparison of the tasks that taught the skill of neither run; None
            where that is all of them.
        lost: tasks with a valid attempt in the first run and none in this: it was invalid, or the
            task was not run.
        worst: the difference if these had failed; None without any.
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
    unknown: tuple[str, ...] = ()
    scores: PairedComparison | None = Field(default=None, exclude_if=lambda value: value is None)
    changes: tuple[ChangedOutcome, ...] = ()
    unfinished: dict[str, int] = Field(default={}, exclude_if=lambda value: not value)
    noise: PairedComparison | None = None
    held_out: PairedComparison | None = Field(default=None, exclude_if=lambda value: value is None)
    lost: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    worst: float | None = Field(default=None, exclude_if=lambda value: value is None)
    sequential: bool = False

    def worse_by(self, margin: float) -> str:
        """Explain that this run is worse by more than a margin, lost tasks failed; "" if not."""
        # Lost tasks that had failed before would thin a difference out.
        changes = [self.paired.difference, self.worst]
        change = min((value for value in changes if value is not None), default=None)
        if change is not None and change >= -margin:
            return ""
        reason = f"worse by {-(change or 0.0):.1%}, margin {margin:.1%}"
        if not self.lost or change != self.worst:
            return reason
        names = shorten(", ".join(self.lost), NAMED, placeholder=" …")
        return (
            f"{reason}, where {len(self.lost)} tasks of the first run that have no valid attempt "
            f"here count as failed: {names}"
        )

    @property
    def not_said(self) -> str:
        """Name the fields of `unknown`, for behind those that differ; "" without any."""
        return f"; not known, as not every file says it: {', '.join(self.unknown)}" * bool(
            self.unknown
        )


def _fact(run: Results, name: str) -> Any:
    """Return an entry of a lock; a command with room for a skill is the same agent as without."""
    value = run.lock.get(name)
    return (without_skill(str(value)), run.program) if name == "agent" else value


def _not_said(before: Results, after: Results, differs: Sequence[str]) -> tuple[str, ...]:
    """Return the fields that cannot be compared, as another tool does not say what they were.

    Beside a run of ours that is all but the model, where it has a name: other tools count suite,
    tasks and versions otherwise.
    """
    foreign = [run.lock for run in (before, after) if REPORTED in run.lock]
    return tuple(
        name
        for name in sorted({*differs, "model"})
        if any(lock.get(name) in ("", None, UNKNOWN) for lock in foreign)
        or (len(foreign) == 1 and name not in ("model", "epochs"))
    )


def compare_results(before: Results, after: Results, measure: Measure = "outcome") -> RunComparison:
    """Compare two runs, paired by task.

    Raises:
        BadInput: if they share no task that is valid in both.
    """
    paired = compare_paired(before.items, after.items, measure)
    if paired.tasks == 0:
        raise BadInput(f"{before.name!r} and {after.name!r} share no task that is valid in both")
    again = [item for item in before.items if item.epoch]
    taught = {*before.taught, *after.taught}
    old_fresh, new_fresh = (
        [item for item in run.items if item.task_id not in taught] for run in (before, after)
    )
    old = {item.id: item for item in before.items}
    keys = sorted((before.lock.keys() | after.lock.keys()) - {REPORTED})
    differs = tuple(key for key in keys if _fact(before, key) != _fact(after, key))
    unknown = _not_said(before, after, differs)
    detectable = needed = None
    if measure == "outcome":
        discordance = paired.discordance or 0.25
        independent = paired.independent or paired.tasks
        squared = paired.squared
        detectable = detectable_lift(max(1, int(independent)), discordance, squared=squared)
        if paired.difference and paired.ci95 and paired.ci95[0] <= 0 <= paired.ci95[1]:
            shows = required_tasks(abs(paired.difference), discordance, squared=squared)
            shows /= independent
            needed = max(math.ceil(shows * paired.tasks), paired.tasks + 1)
    sides = (before, after)
    unfinished = {run.name: n for run in sides if len(run.items) < (n := run.planned or 0)}
    judged = {item.task_id for item in after.items if item.outcome != "invalid"}
    lost = [
        item.model_copy(update={"outcome": "fail", "value": 0.0})
        for item in before.items
        if item.outcome != "invalid" and item.task_id not in judged
    ]
    return RunComparison(
        before=before.report(),
        after=after.report(),
        measure=measure,
        paired=paired,
        detectable=detectable,
        needed=needed,
        differs=tuple(key for key in differs if key not in unknown),
        unknown=unknown,
        scores=compare_paired(before.items, after.items, "score")
        if measure == "outcome" and any(item.value % 1 for run in sides for item in run.items)
        else None,
        changes=tuple(
            ChangedOutcome(
                id=item.id, before=old[item.id].outcome, after=item.outcome,
                answer_before=old[item.id].answer, answer_after=item.answer, reason=item.reason,
            )
            for item in sorted(after.items, key=lambda item: item.id)
            if item.id in old and {old[item.id].outcome, item.outcome} == {"pass", "fail"}
        ),
        unfinished=unfinished,
        noise=compare_paired((item for item in before.items if not item.epoch), again, measure)
        if again
        else None,
        held_out=compare_paired(old_fresh, new_fresh, measure) if taught else None,
        lost=tuple(sorted({item.task_id for item in lost})),
        worst=compare_paired(before.items, [*after.items, *lost], measure).difference
        if lost
        else None,
    )  # fmt: skip
