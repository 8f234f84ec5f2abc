"""A claimed value against what a blind Checker answered: contradiction is judged, not agreement.

"Cannot answer" is no contradiction, and two answers that are none are no match. Several samples
vote; over several windows of the documents the best support counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from harness.rag.check.blind.replies import Answered
from harness.rag.check.claims import NEGATION
from harness.rag.check.numbers import Agreement, agreement, coverage, read, words
from harness.rag.check.types import BY_SUPPORT, STATEMENT_TYPES, Claim, Evidence, Finding, Verdict
from harness.rag.retrieve import Document

_FOLD = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\u2013\u2014", "''\"\" --")
_ARTICLES = {"the", "a", "an", "of"}


def compare(claim: Claim, reply: Answered | None, documents: Sequence[Document]) -> Finding:
    """The verdict of one reply on one claim; evidence is located in the documents."""
    if reply is None:
        return _invalid("the Checker's reply could not be read")
    if not reply.answer:
        reason = "the Checker found no answer in the documents"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=1.0)
    verdict, reason = _verdict(claim, reply.answer)
    quote = locate(reply.evidence, documents) or locate(reply.answer, documents)
    if quote is None and verdict is not Verdict.NOT_FOUND:
        return _invalid(f"the evidence {reply.evidence[:60]!r} is not in the documents")
    evidence = (quote,) if quote else ()
    return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=1.0)


def locate(quote: str, documents: Sequence[Document]) -> Evidence | None:
    """Where a quote stands: verbatim, or else with other white space, quotation marks and dashes.

    Returns:
        The place with the document's own characters; None if no document holds the quote.
    """
    text = quote.strip().strip("\"'\u201c\u201d")
    if not text:
        return None
    parts = re.split(r"\s+", text.translate(_FOLD).strip(" .\u2026"))
    loose = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    verbatim = ((document, re.search(re.escape(text), document.text)) for document in documents)
    similar = ((document, loose.search(document.text.translate(_FOLD))) for document in documents)
    for document, match in chain(verbatim, similar):
        if match:
            start, end = match.span()
            quoted = document.text[start:end]
            return Evidence(doc=document.id, start=start, end=end, quote=quoted)
    return None


def _invalid(reason: str) -> Finding:
    return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)


def _verdict(claim: Claim, answer: str) -> tuple[Verdict, str]:
    if claim.type in STATEMENT_TYPES and claim.value == claim.sentence:
        share = coverage(words(claim.sentence), words(answer))
        opposed = bool(NEGATION.search(claim.sentence)) != bool(NEGATION.search(answer))
        if share >= 0.7 and opposed:
            return Verdict.CONTRADICTED, f"the Checker says the opposite: {answer[:80]!r}"
        if share >= 0.5 and not opposed:
            return Verdict.SUPPORTED, f"the Checker says the same: {answer[:80]!r}"
        return Verdict.NOT_FOUND, f"the Checker speaks of something else: {answer[:80]!r}"
    agreed = f"the Checker answered {answer[:60]!r}"
    differs = f"claimed {claim.value!r}, the Checker answered {answer[:60]!r}"
    values = read(claim.value)
    if values and claim.type != "entity":
        fits = [agreement(values[0], stated) for stated in read(answer)]
        if Agreement.SAME in fits:
            return Verdict.SUPPORTED, agreed
        if Agreement.DIFFERENT in fits:
            return Verdict.CONTRADICTED, differs
        return Verdict.NOT_FOUND, f"the Checker's {answer[:60]!r} is no value of that kind"
    claimed, stated = _tokens(claim.value), _tokens(answer)
    if claimed and stated and (claimed <= stated or stated <= claimed):
        return Verdict.SUPPORTED, agreed
    if claimed & stated:
        return Verdict.NOT_FOUND, f"{differs}: partly the same"
    return Verdict.CONTRADICTED, differs


def _tokens(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"\w+", text)} - _ARTICLES


def vote(findings: Sequence[Finding]) -> Finding:
    """The verdict that most samples gave, with their share as confidence.

    Samples without a verdict do not vote, but count against the confidence. A tie decides
    nothing: it is `INVALID`, with both sides named.
    """
    voting = [finding for finding in findings if finding.verdict is not Verdict.INVALID]
    if not voting:
        return findings[0]
    counts = Counter(finding.verdict for finding in voting).most_common()
    verdict, most = counts[0]
    if len(counts) > 1 and most == counts[1][1]:
        sides = ", ".join(f"{count} {side}" for side, count in counts)
        return _invalid(f"the votes tie: {sides}")
    winner = next(finding for finding in voting if finding.verdict is verdict)
    return winner.model_copy(update={"confidence": most / len(findings)})


def best_support(findings: Sequence[Finding]) -> Finding:
    """Over windows of documents: one that supports is enough, whatever the others lack."""
    return min(
        findings, key=lambda finding: (BY_SUPPORT.index(finding.verdict), -finding.confidence)
    )
