"""Whether a skill is better, on tasks that no analyst saw, paired task by task."""

from __future__ import annotations

from collections.abc import Iterable

from harness.evals.statistics import compare_paired, detectable_lift, required_tasks
from harness.evals.types import ItemRecord
from harness.evolve.types import GateResult

ALPHA = 0.05
USEFUL_LIFT = 0.10
"""A task set that cannot see ten points says nothing by finding nothing."""


def gate(
    before: Iterable[ItemRecord], after: Iterable[ItemRecord], margin: float = 0.0
) -> GateResult:
    """Compare two conditions paired on task and epoch, clustered by task.

    Accepted: a significant gain (exact McNemar, two-sided, 5 %) above `margin`. Refused: a
    significant loss, or no such gain on a set that could have shown ten points. Not gated:
    everything else, with the number of tasks that is missing.
    """
    first, second = _valid(before), _valid(after)
    pairs = sorted(first.keys() & second.keys())
    found = compare_paired([first[key] for key in pairs], [second[key] for key in pairs])
    # A lift of ten points needs at least ten per cent of the results to change.
    change = max(found.discordance or 0.0, USEFUL_LIFT)
    seen = GateResult(
        verdict="not gated",
        before=found.before,
        after=found.after,
        difference=found.difference,
        p=found.p,
        ci95=found.ci95,
        detectable=detectable_lift(found.tasks, change),
        tasks=found.tasks,
        fixed=found.fixed,
        broken=found.broken,
    )
    return seen.model_copy(update=_verdict(seen, margin, change))


def planned(tasks: int, discordance: float) -> str:
    """What a gate on `tasks` tasks will be able to say; for before anything is spent."""
    lift = detectable_lift(tasks, discordance)
    needed = required_tasks(USEFUL_LIFT, discordance)
    assumed = f"if {discordance:.0%} of the results change"
    if lift is None:
        return f"{tasks} tasks can detect no lift {assumed}; {needed} would see ten points"
    return (
        f"{tasks} tasks detect a lift of {100 * lift:.1f} points or more with 80 % power "
        f"{assumed}; {needed} tasks would see ten points"
    )


def _valid(items: Iterable[ItemRecord]) -> dict[tuple[str, int], ItemRecord]:
    return {(item.task_id, item.epoch): item for item in items if item.outcome != "invalid"}


def _verdict(seen: GateResult, margin: float, discordance: float) -> dict[str, object]:
    if seen.difference is None or seen.p is None:
        return {"reason": "no task is valid on both sides", "more_tasks": required_tasks(0.1)}
    points = f"{100 * seen.difference:+.1f} points (p = {seen.p:.3g}, {seen.tasks} tasks)"
    if seen.p < ALPHA and seen.difference > margin:
        return {"verdict": "accepted", "reason": f"better by {points}"}
    if seen.p < ALPHA:
        what = "worse" if seen.difference < 0 else f"not above the margin of {100 * margin:.1f}"
        return {"verdict": "refused", "reason": f"{what}: {points}"}
    if seen.detectable is None or seen.detectable > USEFUL_LIFT:
        missing = max(1, required_tasks(USEFUL_LIFT, max(discordance, 0.25)) - seen.tasks)
        reason = f"too few tasks to tell: {points}; {missing} more would see ten points"
        return {"reason": reason, "more_tasks": missing}
    return {"verdict": "refused", "reason": f"no significant gain: {points}"}
