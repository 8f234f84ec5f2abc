"""A claimed value against what a blind Checker answered: contradiction is judged, not agreement.

"Cannot answer" is no contradiction, and two answers that are none are no match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.rag.check.blind.replies import Answered
from harness.rag.check.claims.detect import NEGATION
from harness.rag.check.numbers import Agreement, agreement, read
from harness.rag.check.numbers.context import coverage, words
from harness.rag.check.quotes import locate
from harness.rag.check.types import Claim, Evidence, Finding, Verdict
from harness.rag.retrieve import Document

_STATEMENTS = ("relation", "comparison", "negation", "existence", "list")
_WORD = re.compile(r"\w+")


def compare(claim: Claim, said: Answered | None, documents: Sequence[Document]) -> Finding:
    """The verdict of one reply on one claim; evidence is located in the documents."""
    if said is None:
        return _finding(Verdict.INVALID, "the Checker's reply could not be read", ())
    if not said.answer:
        return _finding(Verdict.NOT_FOUND, "the Checker found no answer in the documents", ())
    verdict, reason = _compared(claim, said.answer)
    quote = locate(said.evidence, documents) or locate(said.answer, documents)
    if quote is None and verdict in (Verdict.SUPPORTED, Verdict.CONTRADICTED):
        reason = f"the evidence {said.evidence[:60]!r} is not in the documents"
        return _finding(Verdict.INVALID, reason, ())
    return _finding(verdict, reason, (quote,) if quote else ())


def _compared(claim: Claim, answer: str) -> tuple[Verdict, str]:
    if claim.type in _STATEMENTS and claim.value == claim.sentence:
        return _statement(claim, answer)
    claimed, stated = read(claim.value), read(answer)
    if claimed and claim.type != "entity":
        return _values(claim, answer, [agreement(claimed[0], one) for one in stated])
    mine, theirs = _tokens(claim.value), _tokens(answer)
    if mine and theirs and (mine <= theirs or theirs <= mine):
        return Verdict.SUPPORTED, f"the Checker answered {answer[:60]!r}"
    if mine & theirs:
        reason = f"claimed {claim.value!r}, the Checker answered {answer[:60]!r}: partly the same"
        return Verdict.NOT_FOUND, reason
    return Verdict.CONTRADICTED, f"claimed {claim.value!r}, the Checker answered {answer[:60]!r}"


def _values(claim: Claim, answer: str, found: Sequence[Agreement]) -> tuple[Verdict, str]:
    if Agreement.SAME in found:
        return Verdict.SUPPORTED, f"the Checker answered {answer[:60]!r}"
    if Agreement.DIFFERENT in found:
        reason = f"claimed {claim.value!r}, the Checker answered {answer[:60]!r}"
        return Verdict.CONTRADICTED, reason
    return Verdict.NOT_FOUND, f"the Checker's {answer[:60]!r} is no value of that kind"


def _statement(claim: Claim, answer: str) -> tuple[Verdict, str]:
    share = coverage(words(claim.sentence), words(answer))
    opposed = bool(NEGATION.search(claim.sentence)) != bool(NEGATION.search(answer))
    if share >= 0.7 and opposed:
        return Verdict.CONTRADICTED, f"the Checker says the opposite: {answer[:80]!r}"
    if share >= 0.5 and not opposed:
        return Verdict.SUPPORTED, f"the Checker says the same: {answer[:80]!r}"
    return Verdict.NOT_FOUND, f"the Checker speaks of something else: {answer[:80]!r}"


def _tokens(text: str) -> frozenset[str]:
    return frozenset(one.casefold() for one in _WORD.findall(text)) - {"the", "a", "an", "of"}


def _finding(verdict: Verdict, reason: str, evidence: tuple[Evidence, ...]) -> Finding:
    confidence = 0.0 if verdict is Verdict.INVALID else 1.0
    return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=confidence)
