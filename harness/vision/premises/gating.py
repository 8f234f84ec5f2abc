"""How reliable the premises of a solution are, and what that does to its step scores."""

from __future__ import annotations

from collections.abc import Sequence

from harness.vision.premises.types import Finding, Solution

_COST = {"high": 0.5, "low": 0.2}
"""What a contradiction takes off the reliability, by severity (EVPV, section 4.2)."""


def reliability(findings: Sequence[Finding]) -> float:
    """p = max(0, 1 - 0.5 high - 0.2 low), in [0, 1]."""
    return max(0.0, 1.0 - sum(_COST[finding.severity] for finding in findings))


def gate(scores: Sequence[float], solution: Solution, p: float) -> tuple[float, ...]:
    """Scores of steps, those that rest on the image lowered to p times their value.

    A score is never raised: wrong steps (-1, or any score below 0) and steps that look at nothing
    keep theirs.

    Args:
        scores: one a step, in [-1, 1].
        solution: says which steps have a premise.
        p: reliability, in [0, 1].

    Raises:
        ValueError: if there is not one score a step, or p lies outside [0, 1].
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"expected a reliability in [0, 1], found {p!r}")
    return tuple(
        p * score if step.premise is not None and score > 0 else score
        for score, step in zip(scores, solution.steps, strict=True)
    )
