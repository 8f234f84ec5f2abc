"""Five ways from the scores of steps to the score of a solution (EVPV, section 4.3).

A score is in [-1, 1]; a step counts as right at exactly 1, so a gated step does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import prod
from typing import Literal

Aggregator = Literal[
    "correctness_rate",
    "weighted_correctness",
    "streak_score",
    "geometric_mean",
    "first_error_position",
]
_WRONG = 0.1
"""What a step that is not right contributes to the geometric mean."""


def correctness_rate(scores: Sequence[float]) -> float:
    """Share of right steps."""
    return sum(map(_right, scores)) / len(scores)


def weighted_correctness(scores: Sequence[float]) -> float:
    """Mean of the scores, each weighted by its place from 1, brought from [-1, 1] to [0, 1]."""
    weights = len(scores) * (len(scores) + 1) / 2
    return (sum(at * score for at, score in enumerate(scores, 1)) / weights + 1) / 2


def streak_score(scores: Sequence[float]) -> float:
    """Right steps, the k-th of an unbroken run counting k + 1, by what one whole run would give."""
    runs = [len(list(run)) for right, run in groupby(scores, _right) if right]
    return sum(map(_run, runs)) / _run(len(scores))


def geometric_mean(scores: Sequence[float]) -> float:
    """Geometric mean, a right step counting 1 and any other 0.1."""
    return prod(1.0 if _right(score) else _WRONG for score in scores) ** (1 / len(scores))


def first_error_position(scores: Sequence[float]) -> float:
    """Share of the steps before the first wrong one (a score of -1); 1 where there is none."""
    wrong = [at for at, score in enumerate(scores) if score <= -1]
    return wrong[0] / len(scores) if wrong else 1.0


AGGREGATORS: dict[Aggregator, Callable[[Sequence[float]], float]] = {
    "correctness_rate": correctness_rate,
    "weighted_correctness": weighted_correctness,
    "streak_score": streak_score,
    "geometric_mean": geometric_mean,
    "first_error_position": first_error_position,
}
"""Name -> aggregator; each takes at least one score and gives a value in [0, 1]."""


def _right(score: float) -> bool:
    return score == 1


def _run(length: int) -> float:
    return length * (length + 3) / 2
