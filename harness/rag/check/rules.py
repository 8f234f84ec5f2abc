"""Verdicts without any model: the numeric engine for values, shared words for everything else.

The floor that every other verifier has to beat, and what runs where nothing is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from harness.rag.check.claims import NEGATION
from harness.rag.check.numbers import Source, coverage, judge, open_sources, words
from harness.rag.check.types import VALUE_TYPES, Claim, Finding, Verdict
from harness.rag.retrieve import Document

# Share of a sentence's words that support needs, and a contradiction by negation.
_SHARED, _COPIED = 0.6, 0.8
_NO_TEXT = Finding(
    verdict=Verdict.INVALID, reason="the documents hold no text to check against", confidence=0.0
)


class _Line(NamedTuple):
    """A sentence or a table row of a document, with its words."""

    source: Source
    start: int
    end: int
    words: frozenset[str]

    @property
    def text(self) -> str:
        return self.source.document.text[self.start : self.end]

    def finding(self, verdict: Verdict, reason: str, confidence: float) -> Finding:
        """A verdict that rests on the line."""
        evidence = (self.source.quote(self.start, self.end),)
        return Finding(verdict=verdict, evidence=evidence, reason=reason, confidence=confidence)


class RulesVerifier:
    """Numbers by the numeric engine; sentences and names by the words they share."""

    name = "rules"

    def verify(self, claims: Sequence[Claim], documents: Sequence[Document]) -> list[Finding]:
        """One finding for every claim."""
        readable = [document for document in documents if document.text.strip()]
        if not readable:
            return [_NO_TEXT for _ in claims]
        sources = open_sources(readable)
        lines: list[_Line] = []
        for source in sources:
            lines += [_Line(source, each.start, each.end, each.words) for each in source.sentences]
            rows: dict[tuple[int, int], _Line] = {}
            for cell in source.cells:
                row = (cell.table, cell.place[0])
                start = source.document.text.rfind("\n", 0, cell.start) + 1
                labels = cell.label_words | (rows[row].words if row in rows else frozenset[str]())
                rows[row] = _Line(source, start, cell.end, labels)
            lines += rows.values()
        findings: list[Finding] = []
        for claim in claims:
            finding = judge(claim, sources) if claim.type in VALUE_TYPES else None
            look_up = _look_up_name if claim.type == "entity" else _look_up_sentence
            findings.append(finding or look_up(claim, lines))
        return findings


def _look_up_name(claim: Claim, lines: list[_Line]) -> Finding:
    """A name is supported where it stands, best in a line about the same."""
    name = re.compile(rf"(?<!\w){re.escape(claim.text)}(?!\w)", re.IGNORECASE)
    about = words(claim.sentence)
    naming = [
        (coverage(about, line.words), line)
        for line in lines
        if name.search(line.source.document.text, line.start, line.end)
    ]
    if not naming:
        reason = f"no document names {claim.text!r}"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.7)
    score, line = max(naming, key=lambda pair: pair[0])
    return line.finding(Verdict.SUPPORTED, f"{claim.text!r} is named", 0.5 + 0.45 * score)


def _look_up_sentence(claim: Claim, lines: list[_Line]) -> Finding:
    """By the line that shares most of its words; a negation on one side alone contradicts."""
    about = words(claim.sentence or claim.text)
    scored = ((coverage(about, line.words), line) for line in lines)
    score, line = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    if line is None or score < _SHARED:
        reason = f"the closest sentence shares {score:.0%} of the words"
        return Finding(verdict=Verdict.NOT_FOUND, reason=reason, confidence=0.9 - score / 2)
    opposed = bool(NEGATION.search(line.text)) != bool(NEGATION.search(claim.sentence))
    if opposed and score >= _COPIED:
        reason = "the closest sentence says it with the opposite negation"
        return line.finding(Verdict.CONTRADICTED, reason, score - 0.2)
    reason = f"a sentence shares {score:.0%} of the words"
    return line.finding(Verdict.SUPPORTED, reason, 0.3 + 0.6 * score)
