"""What of an answer is rewritten: the innermost failing spans, their sentences if that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.rag.check.claims.detect import statements
from harness.rag.check.policies import is_fault
from harness.rag.check.types import Checked, Evidence


class Fault(NamedTuple):
    """A span to rewrite.

    Attributes:
        start: first character in the answer.
        end: character behind the last one.
        left: where its sentence begins.
        right: where it ends.
        reasons: of all failing claims in it.
        evidence: what the documents say instead.
    """

    start: int
    end: int
    left: int
    right: int
    reasons: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def faults_of(answer: str, claims: Sequence[Checked], *, whole: bool = False) -> list[Fault]:
    """Failing spans in order, none overlapping another.

    A sentence that fails is left alone where a value in it fails: the value comes first.

    Args:
        answer: that was checked.
        claims: as its report has them.
        whole: take the sentences around failing claims in place of the claims.
    """
    sentences = statements(answer)
    failing = sorted(filter(is_fault, claims), key=lambda one: one.end - one.start)
    chosen: list[tuple[int, int]] = []
    for claim in failing:
        span = _sentence(claim, sentences) if whole else (claim.start, claim.end)
        if not any(start < span[1] and span[0] < end for start, end in chosen):
            chosen.append(span)
    return [_fault(span, failing, sentences) for span in sorted(chosen)]


def _fault(
    span: tuple[int, int], failing: Sequence[Checked], sentences: Sequence[tuple[int, int]]
) -> Fault:
    within = [one for one in failing if one.start < span[1] and span[0] < one.end]
    left, right = _sentence(within[0], sentences)
    reasons = tuple(dict.fromkeys(one.reason for one in within))
    evidence = tuple(dict.fromkeys(quote for one in within for quote in one.evidence))
    return Fault(*span, min(left, span[0]), max(right, span[1]), reasons, evidence)


def _sentence(claim: Checked, sentences: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The sentence around a claim; the claim itself where it lies in none."""
    around = (one for one in sentences if one[0] <= claim.start and claim.end <= one[1])
    return next(around, (claim.start, claim.end))
