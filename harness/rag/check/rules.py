"""Verdicts without any model: the numeric engine for values, shared words for everything else.

The floor that every other verifier has to beat, and what runs where nothing is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.rag.check.claims.detect import NEGATION
from harness.rag.check.numbers.context import coverage, words
from harness.rag.check.numbers.judging import judge, quote
from harness.rag.check.numbers.sources import Sources, open_sources
from harness.rag.check.types import Claim, Finding, Verdict
from harness.rag.retrieve import Document

SAID, COPIED = 0.6, 0.8
"""Share of a sentence's words that support needs, and a contradiction by negation."""
_NO_TEXT = Finding(
    verdict=Verdict.INVALID, reason="the documents hold no text to check against", confidence=0.0
)


@dataclass(frozen=True)
class _Line:
    """A sentence or a table row: position of its document, place and words."""

    doc: int
    start: int
    end: int
    words: frozenset[str]


class RulesVerifier:
    """Numbers by the numeric engine; sentences and names by the words they share."""

    name = "rules"

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim."""
        readable = [one for one in documents if one.text.strip()]
        if not readable:
            return [_NO_TEXT for _ in claims]
        sources = open_sources(readable)
        lines = _lines(sources)
        return [self._one(claim, sources, lines) for claim in claims]

    def _one(self, claim: Claim, sources: Sources, lines: list[_Line]) -> Finding:
        if claim.type in ("number", "cell", "derived", "date"):
            found = judge(claim, sources)
            if found is not None:
                return found
        if claim.type == "entity":
            return _name(claim, sources, lines)
        return _sentence(claim, sources, lines)


def _lines(sources: Sources) -> list[_Line]:
    found = [_Line(one.doc, one.start, one.end, one.words) for one in sources.sentences]
    rows: dict[tuple[int, int, int], _Line] = {}
    for placed in sources.cells:
        text = sources.documents[placed.doc].text
        key = (placed.doc, placed.cell.table, placed.cell.at[0])
        start = text.rfind("\n", 0, placed.cell.start) + 1
        seen = rows[key].words if key in rows else frozenset[str]()
        rows[key] = _Line(placed.doc, start, placed.cell.end, seen | placed.labels)
    return [*found, *rows.values()]


def _name(claim: Claim, sources: Sources, lines: list[_Line]) -> Finding:
    """A name is supported where it stands, best in a line about the same."""
    pattern = re.compile(rf"(?<!\w){re.escape(claim.text)}(?!\w)", re.IGNORECASE)
    about = words(claim.sentence)
    best: tuple[float, _Line] | None = None
    for line in lines:
        if pattern.search(sources.documents[line.doc].text, line.start, line.end):
            score = coverage(about, line.words)
            best = (score, line) if best is None or score > best[0] else best
    if best is None:
        reason = f"no document names {claim.text!r}"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.7)
    reason = f"{claim.text!r} is named"
    return _found(Verdict.SUPPORTED, best[1], reason, 0.5 + 0.45 * best[0], sources)


def _sentence(claim: Claim, sources: Sources, lines: list[_Line]) -> Finding:
    """By the line that shares most of its words; a negation on one side alone contradicts."""
    about = words(claim.sentence or claim.text)
    score, line = max(
        ((coverage(about, one.words), one) for one in lines),
        key=lambda one: one[0],
        default=(0.0, None),
    )
    if line is None or score < SAID:
        reason = f"the closest sentence shares {score:.0%} of the words"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.9 - score / 2)
    said = sources.documents[line.doc].text[line.start : line.end]
    opposed = bool(NEGATION.search(said)) != bool(NEGATION.search(claim.sentence))
    if opposed and score >= COPIED:
        reason = "the closest sentence says it with the opposite negation"
        return _found(Verdict.CONTRADICTED, line, reason, score - 0.2, sources)
    reason = f"a sentence shares {score:.0%} of the words"
    return _found(Verdict.SUPPORTED, line, reason, 0.3 + 0.6 * score, sources)


def _found(
    verdict: Verdict, line: _Line, reason: str, confidence: float, sources: Sources
) -> Finding:
    document = sources.documents[line.doc]
    evidence = quote(document.id, document.text, line.start, line.end)
    return Finding(verdict=verdict, evidence=(evidence,), reason=reason, confidence=confidence)
