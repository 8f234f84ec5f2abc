"""Verification of a solution's premises with models: extract, audit claim by claim, judge, gate.

Scores of steps, in [-1, 1], are lowered where the premises are unreliable, and brought to the score
of a solution in one of five ways (EVPV, section 4.3); a step counts as right at exactly 1, so a
gated step does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from math import prod
from typing import Any, Literal, TypeVar

from harness.core import render
from harness.models import Message, Model, Sampling
from harness.vision.premises.values import (
    Constraints,
    Finding,
    Solution,
    Verified,
    read_audit,
    read_constraints,
    read_judgement,
)

Part = dict[str, Any]
"""A part of a message in the form of the OpenAI API: an image, or text."""
_TRIES = 3
"""Calls for one reply that can be read."""
_Value = TypeVar("_Value")
OnUnreadable = Literal["invalid", "zero"]
"""What an unreadable audit makes: no verdict, or p = 0 as the official script has it."""


async def extract_constraints(
    model: Model, images: Sequence[Part], question: str, sampling: Sampling | None = None
) -> Constraints | None:
    """Have the content of images written down without a solution in sight; None if unreadable.

    Args:
        model: sees the images; must be given no solution, or it would copy its mistakes.
        images: message parts.
        question: tells what to look at; the prompt forbids to answer it.
        sampling: of the call.
    """
    prompt = render("evpv_extract", question=question)
    content = [*images, {"type": "text", "text": prompt}]
    return await _asked(model, content, read_constraints, sampling)


async def _asked(
    model: Model,
    content: str | list[Part],
    read: Callable[[str], _Value | None],
    sampling: Sampling | None,
) -> _Value | None:
    """Ask until a reply can be read; None where none of three can."""
    messages: list[Message] = [{"role": "user", "content": content}]
    for _ in range(_TRIES):
        reply = await model.complete(messages, sampling=sampling)
        if (value := read(reply.text)) is not None:
            return value
        again = "That could not be read. Reply with one JSON object as described, nothing else."
        messages += [
            {"role": "assistant", "content": reply.text},
            {"role": "user", "content": again},
        ]
    return None


async def audit(
    model: Model, solution: Solution, constraints: Constraints, sampling: Sampling | None = None
) -> tuple[tuple[Finding, ...], bool]:
    """Contradictions of every premise with the constraints, and whether every audit could be read.

    One call a premise, and more where a reply cannot be read. The auditor sees neither image nor
    solution, only one claim and the numbered constraints.
    """
    lines = constraints.lines()
    findings: list[Finding] = []
    complete = True
    for number, step in enumerate(solution.steps):
        if step.premise is None or not lines:
            continue
        prompt = render("evpv_audit", claim=step.premise, constraints=lines)
        read = partial(read_audit, step=number, claim=step.premise, constraints=lines)
        contradictions = await _asked(model, prompt, read, sampling)
        complete = complete and contradictions is not None
        findings += contradictions or ()
    return tuple(findings), complete


async def judge_steps(
    model: Model,
    images: Sequence[Part],
    question: str,
    solution: Solution,
    constraints: Constraints,
    sampling: Sampling | None = None,
) -> tuple[float, ...] | None:
    """A score in {-1, 1} for every step, given the steps before it; None if one is unreadable."""
    scores: list[float] = []
    for number, step in enumerate(solution.steps):
        prompt = render(
            "evpv_step",
            question=question,
            constraints=constraints.lines(),
            before=[earlier.text for earlier in solution.steps[:number]],
            step=step.text,
        )
        content = [*images, {"type": "text", "text": prompt}]
        score = await _asked(model, content, read_judgement, sampling)
        if score is None:
            return None
        scores.append(score)
    return tuple(scores)


async def verify(
    model: Model,
    images: Sequence[Part],
    question: str,
    solution: Solution,
    *,
    constraints: Constraints | None = None,
    sampling: Sampling | None = None,
    on_unreadable: OnUnreadable = "invalid",
) -> Verified:
    """Verify one solution (EVPV, figure 2).

    Args:
        model: extractor, auditor and judge.
        images: message parts.
        question: what was asked.
        solution: in steps.
        constraints: extracted before, so that all candidates of a question share them; None
            extracts them now.
        sampling: of every call.
        on_unreadable: what becomes of an audit that cannot be read.

    Returns:
        A verdict, or an invalid one with the reason, and with the findings and scores that could
        be read.
    """
    if constraints is None:
        constraints = await extract_constraints(model, images, question, sampling)
        if constraints is None:
            return Verified(solution=solution, invalid="the constraints could not be read")
    findings, complete = await audit(model, solution, constraints, sampling)
    judged = await judge_steps(model, images, question, solution, constraints, sampling)
    if judged is None or (not complete and on_unreadable == "invalid"):
        unread = "an audit" if judged is not None else "the judgement of a step"
        reason = f"{unread} could not be read"
        return Verified(solution=solution, findings=findings, judged=judged or (), invalid=reason)
    return verified(solution, judged, findings, reliability(findings) if complete else 0.0)


def verified(
    solution: Solution, judged: Sequence[float], findings: Sequence[Finding], p: float
) -> Verified:
    """A verdict out of its parts: scores gated by p."""
    return Verified(
        solution=solution,
        findings=tuple(findings),
        reliability=p,
        judged=tuple(judged),
        gated=gate(judged, solution, p),
    )


def solution_score(verdict: Verified, aggregator: Aggregator) -> float | None:
    """The aggregated *gated* scores of a solution in [0, 1]; None for an invalid verdict."""
    return AGGREGATORS[aggregator](verdict.gated) if verdict.invalid is None else None


def best_of(verdicts: Sequence[Verified], aggregator: Aggregator = "geometric_mean") -> int | None:
    """Choose the solution that scores best behind the gate; the first of equals.

    Invalid ones are passed over, but that none without a contradiction loses to a contradicted one:
    what could not be audited may be right. None where all are invalid and none is contradicted.
    """
    scores = {
        index: score
        for index, verdict in enumerate(verdicts)
        if (score := solution_score(verdict, aggregator)) is not None
    }
    best = max(scores, key=lambda index: scores[index], default=None)
    rivals = verdicts if best is None else [verdicts[best]]
    unaudited = [
        index
        for index, verdict in enumerate(verdicts)
        if verdict.invalid is not None and not verdict.findings
    ]
    if not unaudited or not any(verdict.findings for verdict in rivals):
        return best

    def judged(index: int) -> float:
        scores = verdicts[index].judged
        return AGGREGATORS[aggregator](scores) if scores else 0.0

    return max(unaudited, key=judged)


# What a contradiction takes off the reliability, by severity (EVPV, section 4.2).
_COST = {"high": 0.5, "low": 0.2}


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


Aggregator = Literal[
    "correctness_rate",
    "weighted_correctness",
    "streak_score",
    "geometric_mean",
    "first_error_position",
]
# What a step that is not right contributes to the geometric mean.
_WRONG = 0.1


def correctness_rate(scores: Sequence[float]) -> float:
    """Share of right steps."""
    return sum(score == 1 for score in scores) / len(scores)


def weighted_correctness(scores: Sequence[float]) -> float:
    """Mean of the scores, each weighted by its place from 1, brought from [-1, 1] to [0, 1]."""
    weights = len(scores) * (len(scores) + 1) / 2
    return (sum(position * score for position, score in enumerate(scores, 1)) / weights + 1) / 2


def streak_score(scores: Sequence[float]) -> float:
    """Right steps, the k-th of an unbroken run counting k + 1, by what one whole run would give."""
    streaks = groupby(score == 1 for score in scores)
    runs = [len(list(run)) for right, run in streaks if right]
    weights = [length * (length + 3) / 2 for length in (*runs, len(scores))]
    return sum(weights[:-1]) / weights[-1]


def geometric_mean(scores: Sequence[float]) -> float:
    """Geometric mean, a right step counting 1 and any other 0.1."""
    return prod(1.0 if score == 1 else _WRONG for score in scores) ** (1 / len(scores))


def first_error_position(scores: Sequence[float]) -> float:
    """Share of the steps before the first wrong one (a score of -1); 1 where there is none."""
    first = next((position for position, score in enumerate(scores) if score <= -1), len(scores))
    return first / len(scores)


AGGREGATORS: dict[Aggregator, Callable[[Sequence[float]], float]] = {
    "correctness_rate": correctness_rate,
    "weighted_correctness": weighted_correctness,
    "streak_score": streak_score,
    "geometric_mean": geometric_mean,
    "first_error_position": first_error_position,
}
"""Name -> aggregator; each takes at least one score and gives a value in [0, 1]."""
