"""The checker's verdict on an answer of ours: against the passages that it cites or was given.

Without a model and without a call: numbers by the numeric engine, everything else by rule, or by
the packaged classifier where one asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from harness.rag.ask.types import Checker, Citation
from harness.rag.check import Outcome, check
from harness.rag.retrieve import Document
from harness.rag.tasks.reading import split_citations


def verdict_of(
    question: str, answer: str, passages: Sequence[Document], verifier: str = "rules"
) -> dict[str, JsonValue]:
    """Outcome, reason and faults of an answer in JSON.

    Numbers of citations ([1]) are no claims: blanks stand in their place, so that the places of
    faults are those of the answer.

    Args:
        question: what was asked.
        answer: with or without numbered citations.
        passages: what it should rest on; without any text there is no verdict.
        verifier: as :func:`harness.rag.check.open_verifier` names them.
    """
    bare = re.sub(r"\[\d+\]", lambda match: " " * len(match[0]), answer)
    if not bare.strip():
        return {"verdict": Outcome.INVALID.value, "reason": "there is no answer to check"}
    report = check(bare, list(passages), question=question, verifier=verifier)
    return {
        "verdict": report.verdict.value,
        "reason": report.reason,
        "coverage": round(report.coverage, 4),
        "verifier": report.verifier,
        "faults": [
            {
                "text": claim.text,
                "start": claim.start,
                "end": claim.end,
                "verdict": claim.verdict.value,
                "reason": claim.reason,
            }
            for claim in report.faults
        ],
    }


def passage_checker(verifier: str = "rules") -> Checker | None:
    """Return the checker of answers against the passages that were read.

    Args:
        verifier: as :func:`verdict_of` takes it; "none" gives None.
    """

    def checked(question: str, answer: str, passages: Sequence[Citation]) -> JsonValue:
        texts = [Document(str(passage.number), passage.text) for passage in passages]
        return verdict_of(question, answer, texts, verifier)

    return None if verifier == "none" else checked


def cited_verdict(
    question: str, answer: str, documents: Sequence[Document]
) -> dict[str, JsonValue]:
    """The verdict on an answer with citations `[document:start-end]`, against what they cite.

    An answer that cites nothing, or nothing that is there, has no verdict.
    """
    bare, citations = split_citations(answer)
    texts = {document.id: document.text for document in documents}
    passages = [
        Document(f"{citation.doc}:{citation.start}-{citation.end}", passage)
        for citation in citations
        if (passage := texts.get(citation.doc, "")[citation.start : citation.end]).strip()
    ]
    if not passages:
        return {"verdict": Outcome.INVALID.value, "reason": "it cites no passage that is there"}
    return verdict_of(question, bare, passages)
