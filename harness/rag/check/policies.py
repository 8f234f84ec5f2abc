"""From verdicts on claims to one outcome: pass, fail, a person should look, or no verdict at all.

Zero tolerance and the error rate are MARCH's two rewards (section 4 of the paper) read as
policies; review-on-single is what fits a checker that errs itself: one soft fault asks for a
person, a wrong value or order or a second fault fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.rag.check.types import Checked, ClaimType, Outcome, PolicyName, Verdict

LEAST_COVERAGE = 0.7
"""Share of the checkable spans that must have been checked."""
ABSTAIN = 0.55
"""Confidence below which a fault is a matter for a person."""
MOST_ERRORS = 0.1
"""Share of faulty claims that the error-rate policy lets pass."""
_EXACT: frozenset[ClaimType] = frozenset(("number", "cell", "derived", "date", "comparison"))
_GRAVE, _MILD = 1.0, 0.5


@dataclass(frozen=True)
class Decision:
    """An outcome and why, in one sentence."""

    outcome: Outcome
    reason: str


def decide(policy: PolicyName, claims: Sequence[Checked], coverage: float) -> Decision:
    """What `policy` makes of the verdicts.

    Whatever the policy: an answer of whose claims more than half have no verdict is `INVALID`,
    one without a claim is for review, and one that was checked in too small a part fails.
    """
    invalid = [one for one in claims if one.verdict is Verdict.INVALID]
    if claims and 2 * len(invalid) > len(claims):
        return Decision(
            Outcome.INVALID,
            f"{len(invalid)} of {len(claims)} claims have no verdict: {invalid[0].reason}",
        )
    if not claims:
        return Decision(Outcome.REVIEW, "the answer claims nothing that could be checked")
    if coverage < LEAST_COVERAGE:
        return Decision(
            Outcome.FAIL,
            f"{coverage:.0%} of what is checkable was checked, at least {LEAST_COVERAGE:.0%} must",
        )
    return _POLICIES[policy](claims)


def is_fault(claim: Checked) -> bool:
    """Whether documents deny a claim or say nothing of it."""
    return claim.verdict in (Verdict.CONTRADICTED, Verdict.NOT_FOUND)


def zero_tolerance(claims: Sequence[Checked]) -> Decision:
    """One certain fault fails; an uncertain one, or a claim without a verdict, is for review."""
    faults = [one for one in claims if is_fault(one)]
    certain = [one for one in faults if one.confidence >= ABSTAIN]
    if certain:
        first = certain[0]
        return Decision(
            Outcome.FAIL, f"{len(certain)} of {len(claims)} claims fail, first {first.text[:60]!r}"
        )
    unclear = [one for one in claims if is_fault(one) or one.verdict is Verdict.INVALID]
    if unclear:
        return Decision(Outcome.REVIEW, f"{len(unclear)} claims without a certain verdict")
    return Decision(Outcome.PASS, f"all {len(claims)} claims are supported or follow")


def error_rate(claims: Sequence[Checked]) -> Decision:
    """The share of faults decides."""
    rate = sum(is_fault(one) for one in claims) / len(claims)
    outcome = Outcome.PASS if rate <= MOST_ERRORS else Outcome.FAIL
    return Decision(outcome, f"{rate:.0%} of claims are faults, {MOST_ERRORS:.0%} may be")


def severity(claims: Sequence[Checked]) -> Decision:
    """The sum of weights: 1 for a wrong value or order, 0.6 for another contradiction, 0.25 for
    what was not found; 1 fails, 0.5 is for review."""
    total = sum(_weight(one) for one in claims)
    outcome = (
        Outcome.FAIL if total >= _GRAVE else Outcome.REVIEW if total >= _MILD else Outcome.PASS
    )
    return Decision(outcome, f"faults weigh {total:.2f}; {_GRAVE:g} fails, {_MILD:g} is reviewed")


def _weight(claim: Checked) -> float:
    if claim.verdict is Verdict.CONTRADICTED:
        return _GRAVE if claim.type in _EXACT else 0.6
    return 0.25 if claim.verdict is Verdict.NOT_FOUND else 0.0


def review_on_single(claims: Sequence[Checked]) -> Decision:
    """A wrong value or order, or two contradictions, fail; one, or no answer, is reviewed."""
    denied = [one for one in claims if one.verdict is Verdict.CONTRADICTED]
    exact = [one for one in denied if one.type in _EXACT]
    if exact or len(denied) > 1:
        first = (exact or denied)[0]
        return Decision(Outcome.FAIL, f"{len(denied)} contradictions, first {first.text[:60]!r}")
    if denied:
        return Decision(Outcome.REVIEW, f"one contradiction: {denied[0].text[:60]!r}")
    if not any(one.verdict in (Verdict.SUPPORTED, Verdict.DERIVED) for one in claims):
        return Decision(Outcome.REVIEW, "the documents support none of the claims")
    return Decision(Outcome.PASS, "no contradiction")


_POLICIES: dict[PolicyName, Callable[[Sequence[Checked]], Decision]] = {
    "zero-tolerance": zero_tolerance,
    "error-rate": error_rate,
    "severity": severity,
    "review-on-single": review_on_single,
}
