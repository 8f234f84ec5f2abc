"""What a set of trajectories holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median

from harness.core import Trajectory, Value, listing, string


class TrajectoryStats(Value):
    """Counts over trajectories.

    Attributes:
        trajectories: how many.
        tasks: distinct task ids (trajectories without one count as one task each).
        outcomes: pass, fail, invalid or unlabelled -> how many.
        sources: where they were imported from -> how many.
        steps: all steps; `steps_median` and `steps_max` are per trajectory.
        tool_calls: name of the tool -> calls.
        prompt_tokens: sum over the trajectories that record tokens.
        completion_tokens: likewise.
        without_tokens: trajectories that record none: unknown is not zero.
        errors: why attempts are invalid, and what recordings call errors -> how many.
    """

    trajectories: int
    tasks: int
    outcomes: dict[str, int]
    sources: dict[str, int]
    steps: int
    steps_median: float
    steps_max: int
    tool_calls: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    without_tokens: int
    errors: dict[str, int]


def collect_stats(trajectories: Iterable[Trajectory]) -> TrajectoryStats:
    """Count in one pass, holding one trajectory at a time."""
    outcomes: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    tasks: set[str] = set()
    lengths: list[int] = []
    prompt = completion = unknown = 0
    for number, trajectory in enumerate(trajectories):
        facts = trajectory.harness
        outcomes[str(facts.get("outcome") or "unlabelled")] += 1
        sources[str(facts.get("source") or "atif")] += 1
        tasks.add(str(facts.get("task_id") or f"\0{number}"))
        lengths.append(len(trajectory.steps))
        calls.update(c.function_name for step in trajectory.steps for c in step.tool_calls or ())
        reasons = [string(facts.get("invalid")), *map(string, listing(facts.get("errors")))]
        errors.update(reason for reason in reasons if reason)
        used = tokens_of(trajectory)
        if used is None:
            unknown += 1
        else:
            prompt += used[0]
            completion += used[1]
    return TrajectoryStats(
        trajectories=len(lengths),
        tasks=len(tasks),
        outcomes=dict(outcomes),
        sources=dict(sources),
        steps=sum(lengths),
        steps_median=float(median(lengths)) if lengths else 0.0,
        steps_max=max(lengths, default=0),
        tool_calls=dict(calls),
        prompt_tokens=prompt,
        completion_tokens=completion,
        without_tokens=unknown,
        errors=dict(errors),
    )


def tokens_of(trajectory: Trajectory) -> tuple[int, int] | None:
    """(prompt, completion) tokens from the final metrics, else summed over steps; None if none."""
    final = trajectory.final_metrics
    if final and (final.total_prompt_tokens, final.total_completion_tokens) != (None, None):
        return final.total_prompt_tokens or 0, final.total_completion_tokens or 0
    metrics = [step.metrics for step in trajectory.steps if step.metrics]
    counted = [m for m in metrics if (m.prompt_tokens, m.completion_tokens) != (None, None)]
    if not counted:
        return None
    return (
        sum(row.prompt_tokens or 0 for row in counted),
        sum(row.completion_tokens or 0 for row in counted),
    )
