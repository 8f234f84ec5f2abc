"""One answer against documents: claims, verdicts with verified quotes, coverage, an outcome.

From verdicts on claims to one outcome: pass, fail, a person should look, or no verdict at all. Zero
tolerance and the error rate are MARCH's two rewards (section 4 of the paper) read as policies;
review-on-single is what fits a checker that errs itself: one soft fault asks for a person, a wrong
value or order or a second fault fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.core import BadInput
from harness.rag.check.claims import coverage, extract, statements
from harness.rag.check.overlap import OverlapVerifier
from harness.rag.check.rules import RulesVerifier, with_wrong_values
from harness.rag.check.types import (
    FAULTS,
    VALUE_TYPES,
    Checked,
    Claim,
    Finding,
    Outcome,
    PolicyName,
    Report,
    Verdict,
    Verifier,
)
from harness.rag.retrieve import Document

Documents = str | Document | Path | Sequence[str | Document | Path]

LEAST_COVERAGE = 0.7
"""Share of the checkable spans that must have been checked."""
# Confidence below which a fault is a matter for a person.
_CERTAIN = 0.55
# Share of faulty claims that the error-rate policy lets pass.
_MOST_ERRORS = 0.1
# Claims whose contradiction is grave, and the weight from which a person should look.
_EXACT = (*VALUE_TYPES, "comparison")
_MILD = 0.5
_VERIFIERS = ("auto", "rules", "overlap")
# Passages of each statement that are looked up; documents that are read in the end.
_PASSAGES, _MOST_DOCUMENTS = 5, 20


def check(
    answer: str,
    documents: Documents,
    *,
    question: str = "",
    policy: PolicyName = "zero-tolerance",
    verifier: str | Verifier = "auto",
    follow_links: bool = False,
) -> Report:
    """Check what `answer` claims against documents, without asking a language model.

    Args:
        answer: the text to check.
        documents: texts (named `text-1`, ...), parsed documents, files or folders (as `Path`: a
            string is a text, and one that names a file of the working folder is refused).
        question: what the user asked.
        policy: how verdicts become an outcome.
        verifier: a name of :func:`open_verifier`, or one of your own.
        follow_links: read what links in a folder lead to.

    Returns:
        The report. Documents without any text give the outcome `INVALID`, never a pass.

    Raises:
        BadInput: if the answer is empty, or a path cannot be read.

    Example:
        >>> text = "The pump was replaced in 2019."
        >>> check("The pump was replaced in 2019.", text, verifier="rules").verdict.value
        'PASS'
        >>> check("The pump was replaced in 2018.", text, verifier="rules").verdict.value
        'FAIL'
    """
    if not answer.strip():
        raise BadInput("expected an answer to check, found no visible character in it")
    sources, warnings = read_documents(documents, follow_links)
    judge = open_verifier(verifier) if isinstance(verifier, str) else verifier
    claims = extract(answer, question)
    findings = with_wrong_values(claims, judge.verify(claims, sources))
    return report(answer, claims, findings, sources, policy, judge.name, warnings)


def open_verifier(name: str) -> Verifier:
    """The verifier of that name.

    Args:
        name: `rules` judges values, names and differences of wording; `overlap` adds word overlap
            with the closest sentence for prose. `auto` is `overlap`: no trained verifier beat it
            on new documents.

    Raises:
        BadInput: if there is none of that name.
    """
    if name not in _VERIFIERS:
        raise BadInput(f"expected a verifier ({', '.join(_VERIFIERS)}), got {name!r}")
    return RulesVerifier() if name == "rules" else OverlapVerifier()


def report(
    answer: str,
    claims: Sequence[Claim],
    findings: Sequence[Finding],
    documents: Sequence[Document],
    policy: PolicyName,
    verifier: str,
    warnings: Sequence[str] = (),
) -> Report:
    """Findings as a report: false quotes taken out, coverage measured, the policy applied."""
    verified = [verbatim_only(finding, documents) for finding in findings]
    checked = [
        Checked(
            text=claim.text,
            type=claim.type,
            start=claim.start,
            end=claim.end,
            verdict=finding.verdict,
            evidence=finding.evidence,
            reason=finding.reason,
            confidence=max(0.0, min(1.0, finding.confidence)),
            question=claim.question,
            value=claim.value,
        )
        for claim, finding in zip(claims, verified, strict=True)
    ]
    pairs = zip(claims, verified, strict=True)
    judged = [claim for claim, finding in pairs if finding.verdict is not Verdict.INVALID]
    share = coverage(answer, judged)
    outcome, reason = decide(policy, checked, share)
    return Report(
        verdict=outcome,
        claims=tuple(checked),
        coverage=share,
        policy=policy,
        reason=reason,
        verifier=verifier,
        warnings=tuple(warnings),
    )


def no_verdict(reason: str, policy: PolicyName) -> Report:
    """The report of an answer that could not be checked."""
    return Report(
        verdict=Outcome.INVALID, claims=(), coverage=0.0, policy=policy, reason=reason,
        verifier="none",
    )  # fmt: skip


def verbatim_only(finding: Finding, documents: Sequence[Document]) -> Finding:
    """The finding without quotes that are not in the documents.

    A support or contradiction that loses all its evidence was never read anywhere: it becomes
    `INVALID`.
    """
    evidence = tuple(
        quote
        for quote in finding.evidence
        if any(
            document.id == quote.doc
            and 0 <= quote.start < quote.end
            and document.text[quote.start : quote.end] == quote.quote
            for document in documents
        )
    )
    if len(evidence) == len(finding.evidence):
        return finding
    if evidence or finding.verdict in (Verdict.NOT_FOUND, Verdict.INVALID):
        return finding.model_copy(update={"evidence": evidence})
    reason = f"the quote {finding.evidence[0].quote[:60]!r} is not in the documents"
    return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)


def read_documents(
    documents: Documents, follow_links: bool = False
) -> tuple[list[Document], list[str]]:
    """Parsed documents, and what a reader should know about them.

    Raises:
        BadInput: if a path cannot be read, or two documents have one id.
    """
    single = isinstance(documents, str | Document | Path)
    parsed: list[Document] = []
    warnings: list[str] = []
    for number, source in enumerate([documents] if single else documents, start=1):
        if isinstance(source, Path):
            from harness.rag.retrieve import ParseOptions, parse_paths

            batch = parse_paths([source], ParseOptions(follow_links=follow_links))
            parsed += batch.documents
            warnings += batch.notes
        elif isinstance(source, str):
            if os.path.exists(source):  # noqa: PTH110  # False for a text that is no name
                raise BadInput(f"a string is a text, and {source!r} is a path: Path({source!r})")
            parsed.append(Document(f"text-{number}", source))
        else:
            parsed.append(source)
    ids = [document.id for document in parsed]
    doubled = next((id_ for id_ in ids if ids.count(id_) > 1), None)
    if doubled is not None:
        raise BadInput(f"expected distinct ids of documents, found {doubled!r} twice")
    return parsed, warnings


def gather(folder: Path, answer: str, question: str = "") -> list[Document]:
    """Whole documents of an index, by the passages closest to each statement of the answer.

    Raises:
        BadInput: if the folder holds no index.
    """
    from harness.rag.retrieve import open_index

    index = open_index(folder)
    try:
        queries = [answer[start:end] for start, end in statements(answer)] or [answer]
        if question.strip():
            queries.insert(0, question)
        scores: dict[str, float] = {}
        for query in queries:
            for rank, hit in enumerate(index.search(query, _PASSAGES), start=1):
                scores[hit.doc] = scores.get(hit.doc, 0.0) + 1 / rank
        if not scores:
            raise BadInput(f"the index in {str(folder)!r} holds no document to check against")
        best = sorted(scores, key=lambda doc: -scores[doc])[:_MOST_DOCUMENTS]
        return [index.document(doc) for doc in best]
    finally:
        index.close()


def decide(policy: PolicyName, claims: Sequence[Checked], coverage: float) -> tuple[Outcome, str]:
    """Decide by `policy`, and give the reason in one sentence.

    Whatever the policy: an answer of whose claims more than half have no verdict is `INVALID`,
    one without a claim is for review, and one that was checked in too small a part fails.
    """
    if not claims:
        return Outcome.REVIEW, "the answer claims nothing that could be checked"
    invalid = [claim for claim in claims if claim.verdict is Verdict.INVALID]
    if 2 * len(invalid) > len(claims):
        reason = f"{len(invalid)} of {len(claims)} claims have no verdict: {invalid[0].reason}"
        return Outcome.INVALID, reason
    if coverage < LEAST_COVERAGE:
        return Outcome.FAIL, (
            f"{coverage:.0%} of what is checkable was checked, at least {LEAST_COVERAGE:.0%} must"
        )
    return _POLICIES[policy](claims)


def zero_tolerance(claims: Sequence[Checked]) -> tuple[Outcome, str]:
    """One certain fault fails; an uncertain one, or a claim without a verdict, is for review."""
    unclear = [
        claim for claim in claims if claim.verdict in FAULTS or claim.verdict is Verdict.INVALID
    ]
    certain = [
        claim for claim in unclear if claim.verdict in FAULTS and claim.confidence >= _CERTAIN
    ]
    if certain:
        first = certain[0].text[:60]
        return Outcome.FAIL, f"{len(certain)} of {len(claims)} claims fail, first {first!r}"
    if unclear:
        return Outcome.REVIEW, f"{len(unclear)} claims without a certain verdict"
    return Outcome.PASS, f"all {len(claims)} claims are supported or follow"


def error_rate(claims: Sequence[Checked]) -> tuple[Outcome, str]:
    """The share of faults decides."""
    rate = sum(claim.verdict in FAULTS for claim in claims) / len(claims)
    outcome = Outcome.PASS if rate <= _MOST_ERRORS else Outcome.FAIL
    return outcome, f"{rate:.0%} of claims are faults, {_MOST_ERRORS:.0%} may be"


def severity(claims: Sequence[Checked]) -> tuple[Outcome, str]:
    """The sum of weights: 1 for a wrong value or order, 0.6 for another contradiction, 0.25 for
    what was not found; 1 fails, 0.5 is for review."""
    denied = [claim for claim in claims if claim.verdict is Verdict.CONTRADICTED]
    missing = sum(claim.verdict is Verdict.NOT_FOUND for claim in claims)
    total = sum(1.0 if claim.type in _EXACT else 0.6 for claim in denied) + 0.25 * missing
    outcome = Outcome.FAIL if total >= 1 else Outcome.REVIEW if total >= _MILD else Outcome.PASS
    return outcome, f"faults weigh {total:.2f}; 1 fails, {_MILD:g} is reviewed"


def review_on_single(claims: Sequence[Checked]) -> tuple[Outcome, str]:
    """A wrong value or order, or two contradictions, fail; one, or no answer, is reviewed."""
    denied = [claim for claim in claims if claim.verdict is Verdict.CONTRADICTED]
    exact = [claim for claim in denied if claim.type in _EXACT]
    if exact or len(denied) > 1:
        first = (exact or denied)[0]
        return Outcome.FAIL, f"{len(denied)} contradictions, first {first.text[:60]!r}"
    if denied:
        return Outcome.REVIEW, f"one contradiction: {denied[0].text[:60]!r}"
    if not any(claim.verdict in (Verdict.SUPPORTED, Verdict.DERIVED) for claim in claims):
        return Outcome.REVIEW, "the documents support none of the claims"
    return Outcome.PASS, "no contradiction"


_POLICIES: dict[PolicyName, Callable[[Sequence[Checked]], tuple[Outcome, str]]] = {
    "zero-tolerance": zero_tolerance,
    "error-rate": error_rate,
    "severity": severity,
    "review-on-single": review_on_single,
}


def as_text(report: Report, answer: str) -> str:
    """Faults first, each with its reason and quote, then the counts."""
    lines = [f"{report.verdict}: {report.reason}"]
    for claim in report.claims:
        if claim.verdict in FAULTS or claim.verdict is Verdict.INVALID:
            line = answer.count("\n", 0, claim.start) + 1
            lines.append(f"  line {line}: {claim.verdict} {claim.text!r} ({claim.type})")
            lines.append(f"    {claim.reason}")
            lines += [
                f"    {quote.doc}[{quote.start}:{quote.end}] {quote.quote!r:.120}"
                for quote in claim.evidence[:2]
            ]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(report).items())
    lines.append(f"{counts or 'no claims'}; coverage {report.coverage:.0%}; {report.verifier}")
    return "\n".join(lines)


def verdict_counts(report: Report) -> dict[str, int]:
    """Claims of each verdict that occurs."""
    verdicts = [claim.verdict for claim in report.claims]
    return {verdict.value: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
