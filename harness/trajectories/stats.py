"""Statistics of a set of trajectories."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import product
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from harness.core import Trajectory, Value, listing, string
from harness.trajectories.text import content_text

# Of words, by which attempts that passed are compared.
BUCKETS = 256
# A cosine to the others below it makes an outlier.
APART = 0.5


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
        score_against_brevity: share of the attempts at tasks tried more than once whose score is on
            the other side of the task's mean than their brevity: a reward of both would pull them
            two ways (GD2PO). None where nothing can be compared.
        longer_passes: share of pairs of attempts at a task, one passed and one failed, in which the
            answer that passed is longer, ties half; far from 0.5 is a judge's bias, or the tasks'.
        outliers: ids of attempts that passed and are unlike the others that passed at their task
            (cosine of words to their mean below 0.5; at least three must have passed).
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
    score_against_brevity: float | None = None
    longer_passes: float | None = None
    outliers: tuple[str, ...] = ()


class Judged(NamedTuple):
    """Attempt that passed or failed, reduced to what is compared; length in characters."""

    name: str
    passed: bool
    score: float
    length: int
    words: np.ndarray[tuple[int], np.dtype[np.float32]]


def collect_stats(trajectories: Iterable[Trajectory]) -> TrajectoryStats:
    """Count in one pass, holding one trajectory at a time."""
    outcomes: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    tasks: set[str] = set()
    lengths: list[int] = []
    judged: dict[str, list[Judged]] = {}
    prompt = completion = unknown = 0
    for number, trajectory in enumerate(trajectories):
        metadata = trajectory.harness
        outcomes[str(metadata.get("outcome") or "unlabelled")] += 1
        sources[str(metadata.get("source") or "atif")] += 1
        tasks.add(str(metadata.get("task_id") or f"\0{number}"))
        if (attempt := judged_attempt(trajectory)) and metadata.get("task_id"):
            judged.setdefault(str(metadata["task_id"]), []).append(attempt)
        lengths.append(len(trajectory.steps))
        calls.update(c.function_name for step in trajectory.steps for c in step.tool_calls or ())
        reasons = [string(metadata.get("invalid")), *map(string, listing(metadata.get("errors")))]
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
        score_against_brevity=score_against_brevity(judged.values()),
        longer_passes=longer_passes(judged.values()),
        outliers=tuple(name for group in judged.values() for name in outliers(group)),
    )


def judged_attempt(trajectory: Trajectory) -> Judged | None:
    """Reduce an attempt to what is compared; None of one without a judgement."""
    if trajectory.reward is None:
        return None
    texts = [content_text(step.message) for step in trajectory.steps if step.source == "agent"]
    words = np.zeros(BUCKETS, np.float32)
    for word in re.findall(r"\w+", "\n".join(texts)):
        words[zlib.crc32(word.lower().encode()) % BUCKETS] += 1
    answer = string(trajectory.harness.get("answer")) or "\n".join(texts)
    passed = trajectory.outcome == "pass"
    return Judged(trajectory.trajectory_id, passed, trajectory.reward, len(answer), words)


def score_against_brevity(groups: Iterable[list[Judged]]) -> float | None:
    """See :class:`TrajectoryStats`: GD2PO's rate of conflicts (arXiv 2606.16771) of two rewards."""
    conflicts: list[bool] = []
    for group in groups:
        score, length = fmean(a.score for a in group), fmean(a.length for a in group)
        if len(group) > 1:
            conflicts += [(a.score - score) * (length - a.length) < 0 for a in group]
    return fmean(conflicts) if conflicts else None


def longer_passes(groups: Iterable[list[Judged]]) -> float | None:
    """See :class:`TrajectoryStats`: what DIR (arXiv 2512.23461) takes out of a reward model."""
    longer: list[float] = []
    for group in groups:
        passes, fails = ([a.length for a in group if a.passed == side] for side in (True, False))
        longer += [(a > b) + 0.5 * (a == b) for a, b in product(passes, fails)]
    return fmean(longer) if longer else None


def outliers(group: list[Judged]) -> list[str]:
    """See :class:`TrajectoryStats`; by a mean, which found more than CLIPO's loss when measured."""
    passes = [attempt for attempt in group if attempt.passed and attempt.words.any()]
    if len(passes) < 3:
        return []
    rows = np.stack([attempt.words / np.linalg.norm(attempt.words) for attempt in passes])
    sums_of_others = rows.sum(0) - rows
    near = (rows * sums_of_others).sum(1) / np.linalg.norm(sums_of_others, axis=1)
    return [attempt.name for attempt, value in zip(passes, near, strict=True) if value < APART]


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
