"""One answer against documents: claims, verdicts with verified quotes, coverage, a decision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from harness.core import BadInput
from harness.rag.check.claims import coverage, extract, statements
from harness.rag.check.policies import decide
from harness.rag.check.rules import RulesVerifier
from harness.rag.check.types import (
    Checked,
    Claim,
    Evidence,
    Finding,
    PolicyName,
    Report,
    Verdict,
    Verifier,
)
from harness.rag.retrieve import Document

Documents = str | Document | Path | Sequence[str | Document | Path]

_VERIFIERS = ("auto", "rules", "trained")
_WEIGHTS = Path(__file__).parent / "weights" / "classifier.json"
# Passages of each statement that are looked up; documents that are read in the end.
_PASSAGES, _MOST_DOCUMENTS = 5, 20
_FOLD = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\u2013\u2014", "''\"\" --")


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
    sources, warnings = read_documents(documents)
    judge = open_verifier(verifier) if isinstance(verifier, str) else verifier
    claims = extract(answer, question)
    findings = judge.verify(claims, sources)
    return report(answer, claims, findings, sources, policy, judge.name, warnings)


def open_verifier(name: str) -> Verifier:
    """The verifier of that name.

    Args:
        name: `rules` needs no model at all; `trained` adds the packaged classifier and encoder;
            `auto` is `trained` where those are installed, else `rules`.

    Raises:
        BadInput: if there is none of that name, or its weights are not there.
    """
    if name not in _VERIFIERS:
        raise BadInput(f"expected a verifier ({', '.join(_VERIFIERS)}), got {name!r}")
    if name == "trained" and not _WEIGHTS.is_file():
        raise BadInput(f"no trained classifier at {_WEIGHTS}: train one, or use 'rules'")
    installed = _WEIGHTS.is_file() and find_spec("sentence_transformers") is not None
    if name == "trained" or (name == "auto" and installed):
        from harness.rag.check.verify import TrainedVerifier

        return TrainedVerifier()
    return RulesVerifier()


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
    checked: list[Checked] = []
    for claim, finding in zip(claims, findings, strict=True):
        verified = verbatim_only(finding, documents)
        checked.append(
            Checked(
                text=claim.text,
                type=claim.type,
                start=claim.start,
                end=claim.end,
                verdict=verified.verdict,
                evidence=verified.evidence,
                reason=verified.reason,
                confidence=max(0.0, min(1.0, verified.confidence)),
                question=claim.question,
                value=claim.value,
            )
        )
    pairs = zip(claims, checked, strict=True)
    judged = [claim for claim, each in pairs if each.verdict is not Verdict.INVALID]
    share = coverage(answer, judged)
    decision = decide(policy, checked, share)
    return Report(
        verdict=decision.outcome,
        claims=tuple(checked),
        coverage=share,
        policy=policy,
        reason=decision.reason,
        verifier=verifier,
        warnings=tuple(warnings),
    )


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


def read_documents(documents: Documents) -> tuple[list[Document], list[str]]:
    """Parsed documents, and what a reader should know about them.

    Raises:
        BadInput: if a path cannot be read, or two documents have one id.
    """
    single = isinstance(documents, str | Document | Path)
    parsed: list[Document] = []
    warnings: list[str] = []
    for number, source in enumerate([documents] if single else documents, start=1):
        if isinstance(source, Path):
            from harness.rag.retrieve import parse_paths

            batch = parse_paths([source])
            parsed += batch.documents
            warnings += [f"{each.id}: {text}" for each in batch.documents for text in each.warnings]
            warnings += [f"{each.path}: {each.reason}" for each in batch.passed_over]
        else:
            parsed.append(Document(f"text-{number}", source) if isinstance(source, str) else source)
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
