"""From verdicts on claims to one outcome: pass, fail, a person should look, or no verdict at all.

Zero tolerance and the error rate are MARCH's two rewards (section 4 of the paper) read as
policies; review-on-single is what fits a checker that errs itself: one soft fault asks for a
person, a wrong value or order or a second fault fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.rag.check.types import VALUE_TYPES, Checked, Outcome, PolicyName, Verdict

LEAST_COVERAGE = 0.7
"""Share of the checkable spans that must have been checked."""
# Confidence below which a fault is a matter for a person.
_CERTAIN = 0.55
# Share of faulty claims that the error-rate policy lets pass.
_MOST_ERRORS = 0.1
_EXACT = (*VALUE_TYPES, "comparison")
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
    if not claims:
        return Decision(Outcome.REVIEW, "the answer claims nothing that could be checked")
    invalid = [claim for claim in claims if claim.verdict is Verdict.INVALID]
    if 2 * len(invalid) > len(claims):
        reason = f"{len(invalid)} of {len(claims)} claims have no verdict: {invalid[0].reason}"
        return Decision(Outcome.INVALID, reason)
    if coverage < LEAST_COVERAGE:
        reason = (
            f"{coverage:.0%} of what is checkable was checked, at least {LEAST_COVERAGE:.0%} must"
        )
        return Decision(Outcome.FAIL, reason)
    return _POLICIES[policy](claims)


def is_fault(claim: Checked) -> bool:
    """Whether documents deny a claim or say nothing of it."""
    return claim.verdict in (Verdict.CONTRADICTED, Verdict.NOT_FOUND)


def zero_tolerance(claims: Sequence[Checked]) -> Decision:
    """One certain fault fails; an uncertain one, or a claim without a verdict, is for review."""
    unclear = [claim for claim in claims if is_fault(claim) or claim.verdict is Verdict.INVALID]
    certain = [claim for claim in unclear if is_fault(claim) and claim.confidence >= _CERTAIN]
    if certain:
        first = certain[0].text[:60]
        reason = f"{len(certain)} of {len(claims)} claims fail, first {first!r}"
        return Decision(Outcome.FAIL, reason)
    if unclear:
        return Decision(Outcome.REVIEW, f"{len(unclear)} claims without a certain verdict")
    return Decision(Outcome.PASS, f"all {len(claims)} claims are supported or follow")


def error_rate(claims: Sequence[Checked]) -> Decision:
    """The share of faults decides."""
    rate = sum(map(is_fault, claims)) / len(claims)
    outcome = Outcome.PASS if rate <= _MOST_ERRORS else Outcome.FAIL
    return Decision(outcome, f"{rate:.0%} of claims are faults, {_MOST_ERRORS:.0%} may be")


def severity(claims: Sequence[Checked]) -> Decision:
    """The sum of weights: 1 for a wrong value or order, 0.6 for another contradiction, 0.25 for
    what was not found; 1 fails, 0.5 is for review."""
    total = 0.0
    for claim in claims:
        if claim.verdict is Verdict.CONTRADICTED:
            total += _GRAVE if claim.type in _EXACT else 0.6
        elif claim.verdict is Verdict.NOT_FOUND:
            total += 0.25
    outcome = (
        Outcome.FAIL if total >= _GRAVE else Outcome.REVIEW if total >= _MILD else Outcome.PASS
    )
    return Decision(outcome, f"faults weigh {total:.2f}; {_GRAVE:g} fails, {_MILD:g} is reviewed")


def review_on_single(claims: Sequence[Checked]) -> Decision:
    """A wrong value or order, or two contradictions, fail; one, or no answer, is reviewed."""
    denied = [claim for claim in claims if claim.verdict is Verdict.CONTRADICTED]
    exact = [claim for claim in denied if claim.type in _EXACT]
    if exact or len(denied) > 1:
        first = (exact or denied)[0]
        return Decision(Outcome.FAIL, f"{len(denied)} contradictions, first {first.text[:60]!r}")
    if denied:
        return Decision(Outcome.REVIEW, f"one contradiction: {denied[0].text[:60]!r}")
    if not any(claim.verdict in (Verdict.SUPPORTED, Verdict.DERIVED) for claim in claims):
        return Decision(Outcome.REVIEW, "the documents support none of the claims")
    return Decision(Outcome.PASS, "no contradiction")


_POLICIES: dict[PolicyName, Callable[[Sequence[Checked]], Decision]] = {
    "zero-tolerance": zero_tolerance,
    "error-rate": error_rate,
    "severity": severity,
    "review-on-single": review_on_single,
}
