"""One answer against documents: claims, verdicts with verified quotes, coverage, a decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.core import BadInput
from harness.rag.check.claims import coverage, extract
from harness.rag.check.policies import decide
from harness.rag.check.quotes import verbatim_only
from harness.rag.check.types import (
    Checked,
    Claim,
    Finding,
    PolicyName,
    Report,
    Verdict,
    Verifier,
)
from harness.rag.check.verifiers import open_verifier
from harness.rag.retrieve import Document

Documents = str | Document | Path | Sequence[str | Document | Path]


def check(
    answer: str,
    documents: Documents,
    *,
    question: str = "",
    policy: PolicyName = "zero-tolerance",
    verifier: str | Verifier = "auto",
) -> Report:
    """Check what `answer` claims against documents, without asking a language model.

    Args:
        answer: the text to check.
        documents: texts (named `text-1`, ...), parsed documents, files or folders.
        question: what the user asked.
        policy: how verdicts become an outcome.
        verifier: a name of :func:`open_verifier`, or one of your own.

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
    read, warnings = read_documents(documents)
    using = open_verifier(verifier) if isinstance(verifier, str) else verifier
    claims = extract(answer, question)
    findings = using.verify(claims, read)
    return report(answer, claims, findings, read, policy, using.name, warnings)


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
    checked = tuple(
        _checked(claim, verbatim_only(finding, documents))
        for claim, finding in zip(claims, findings, strict=True)
    )
    judged = [
        claim
        for claim, one in zip(claims, checked, strict=True)
        if one.verdict is not Verdict.INVALID
    ]
    share = coverage(answer, judged)
    decision = decide(policy, checked, share)
    return Report(
        verdict=decision.outcome,
        claims=checked,
        coverage=share,
        policy=policy,
        reason=decision.reason,
        verifier=verifier,
        warnings=tuple(warnings),
    )


def _checked(claim: Claim, finding: Finding) -> Checked:
    return Checked(
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


def read_documents(documents: Documents) -> tuple[list[Document], list[str]]:
    """Parsed documents, and what a reader should know about them.

    Raises:
        BadInput: if a path cannot be read, or two documents have one id.
    """
    given = [documents] if isinstance(documents, str | Document | Path) else list(documents)
    found: list[Document] = []
    warnings: list[str] = []
    for number, one in enumerate(given, start=1):
        if isinstance(one, Path):
            parsed, said = _parsed(one)
            found += parsed
            warnings += said
        else:
            found.append(Document(f"text-{number}", one) if isinstance(one, str) else one)
    ids = [document.id for document in found]
    doubled = next((id_ for id_ in ids if ids.count(id_) > 1), None)
    if doubled is not None:
        raise BadInput(f"expected distinct ids of documents, found {doubled!r} twice")
    return found, warnings


def _parsed(path: Path) -> tuple[list[Document], list[str]]:
    from harness.rag.retrieve import parse_paths

    parsed = parse_paths([path])
    warnings = [f"{one.id}: {text}" for one in parsed.documents for text in one.warnings]
    warnings += [f"{one.path}: {one.reason}" for one in parsed.passed_over]
    return list(parsed.documents), warnings
