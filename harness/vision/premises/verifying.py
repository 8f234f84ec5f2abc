"""Verification of a solution's premises with models: extract, audit claim by claim, judge, gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from harness.core import render
from harness.models import Model, Sampling
from harness.vision.premises.aggregate import AGGREGATORS, Aggregator
from harness.vision.premises.gating import gate, reliability
from harness.vision.premises.reading import read_audit, read_constraints, read_judgement
from harness.vision.premises.types import Constraints, Finding, Solution, Verified

Part = dict[str, Any]
"""A part of a message in the form of the OpenAI API: an image, or text."""
OnUnreadable = Literal["invalid", "zero"]
"""What an unreadable audit makes: no verdict, or p = 0 as the official script has it."""


async def extract_constraints(
    model: Model, images: Sequence[Part], question: str, sampling: Sampling | None = None
) -> Constraints | None:
    """What the images show, written down without a solution in sight; None if unreadable.

    Args:
        model: sees the images; must be given no solution, or it would copy its mistakes.
        images: message parts.
        question: tells what to look at; the prompt forbids to answer it.
        sampling: of the call.
    """
    prompt = render("evpv_extract", question=question)
    content = [*images, {"type": "text", "text": prompt}]
    reply = await model.complete([{"role": "user", "content": content}], sampling=sampling)
    return read_constraints(reply.text)


async def audit(
    model: Model, solution: Solution, constraints: Constraints, sampling: Sampling | None = None
) -> tuple[Finding, ...] | None:
    """Contradictions of every premise with the constraints, one call a premise; None if unreadable.

    The auditor sees neither image nor solution, only one claim and the numbered constraints.
    """
    lines = constraints.lines()
    found: list[Finding] = []
    for number, step in enumerate(solution.steps):
        if step.premise is None or not lines:
            continue
        prompt = render("evpv_audit", claim=step.premise, constraints=lines)
        reply = await model.complete([{"role": "user", "content": prompt}], sampling=sampling)
        findings = read_audit(reply.text, number, step.premise, lines)
        if findings is None:
            return None
        found += findings
    return tuple(found)


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
            before=[one.text for one in solution.steps[:number]],
            step=step.text,
        )
        content = [*images, {"type": "text", "text": prompt}]
        reply = await model.complete([{"role": "user", "content": content}], sampling=sampling)
        score = read_judgement(reply.text)
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
        A verdict, or an invalid one with the reason.
    """
    if constraints is None:
        constraints = await extract_constraints(model, images, question, sampling)
        if constraints is None:
            return Verified(solution=solution, invalid="the constraints could not be read")
    findings = await audit(model, solution, constraints, sampling)
    if findings is None and on_unreadable == "invalid":
        return Verified(solution=solution, invalid="an audit could not be read")
    judged = await judge_steps(model, images, question, solution, constraints, sampling)
    if judged is None:
        return Verified(solution=solution, invalid="the judgement of a step could not be read")
    p = 0.0 if findings is None else reliability(findings)
    return verified(solution, judged, findings or (), p)


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
    """Which of several solutions scores best behind the gate; the first of equals.

    Invalid ones are passed over; None where all are.
    """
    scores = [solution_score(verdict, aggregator) for verdict in verdicts]
    known = [(score, -at) for at, score in enumerate(scores) if score is not None]
    return -max(known)[1] if known else None
