"""Quotes are verbatim or they are no evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.rag.check.types import Evidence, Finding, Verdict
from harness.rag.retrieve import Document

_SPACE = re.compile(r"\s+")
_FOLD = str.maketrans("\u2018\u2019\u201c\u201d\u00a0\u2013\u2014", "''\"\" --")


def locate(quote: str, documents: Sequence[Document]) -> Evidence | None:
    """Where a quote stands: verbatim, or else with other white space, quotation marks and dashes.

    Returns:
        The place with the document's own characters; None if no document holds the quote.
    """
    wanted = quote.strip().strip("\"'\u201c\u201d")
    if not wanted:
        return None
    for document in documents:
        start = document.text.find(wanted)
        if start >= 0:
            return _evidence(document, start, start + len(wanted))
    pattern = _loose(wanted)
    for document in documents:
        found = pattern.search(document.text.translate(_FOLD))
        if found:
            return _evidence(document, *found.span())
    return None


def _loose(quote: str) -> re.Pattern[str]:
    parts = _SPACE.split(quote.translate(_FOLD).strip(" .\u2026"))
    return re.compile(r"\s+".join(re.escape(part) for part in parts), re.IGNORECASE)


def _evidence(document: Document, start: int, end: int) -> Evidence:
    return Evidence(doc=document.id, start=start, end=end, quote=document.text[start:end])


def is_verbatim(evidence: Evidence, documents: Sequence[Document]) -> bool:
    """Whether a document of that id holds the quote at that place."""
    return any(
        document.id == evidence.doc
        and 0 <= evidence.start < evidence.end
        and document.text[evidence.start : evidence.end] == evidence.quote
        for document in documents
    )


def verbatim_only(finding: Finding, documents: Sequence[Document]) -> Finding:
    """The finding without quotes that are not in the documents.

    A support or contradiction that loses all its evidence was never read anywhere: it becomes
    `INVALID`.
    """
    kept = tuple(one for one in finding.evidence if is_verbatim(one, documents))
    if len(kept) == len(finding.evidence):
        return finding
    if kept or finding.verdict in (Verdict.NOT_FOUND, Verdict.INVALID):
        return finding.model_copy(update={"evidence": kept})
    reason = f"the quote {finding.evidence[0].quote[:60]!r} is not in the documents"
    return Finding(verdict=Verdict.INVALID, reason=reason, confidence=0.0)
