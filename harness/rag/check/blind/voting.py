"""Several findings on one claim become one: votes by majority, windows by best support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.rag.check.types import Finding, Verdict

_BEST = (
    Verdict.SUPPORTED, Verdict.DERIVED, Verdict.CONTRADICTED, Verdict.NOT_FOUND, Verdict.INVALID,
)  # fmt: skip


def vote(findings: Sequence[Finding]) -> Finding:
    """The verdict that most samples gave, with their share as confidence.

    Samples without a verdict do not vote, but count against the confidence. A tie decides
    nothing: it is `INVALID`, with both sides named.
    """
    voting = [one for one in findings if one.verdict is not Verdict.INVALID]
    if not voting:
        return findings[0]
    counts = Counter(one.verdict for one in voting).most_common()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        sides = ", ".join(f"{count} {verdict}" for verdict, count in counts)
        return Finding(verdict=Verdict.INVALID, reason=f"the votes tie: {sides}", confidence=0.0)
    winner = next(one for one in voting if one.verdict is counts[0][0])
    share = counts[0][1] / len(findings)
    return winner.model_copy(update={"confidence": share})


def best_support(findings: Sequence[Finding]) -> Finding:
    """Over windows of documents: one that supports is enough, whatever the others lack."""
    return min(findings, key=lambda one: (_BEST.index(one.verdict), -one.confidence))
