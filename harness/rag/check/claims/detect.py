"""Checkable spans of an answer, found by rule: what a checker has to have asked about.

The detector knows nothing of what was extracted, so that extracting less lowers the coverage
instead of raising the score (MARCH's "say less, err less").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from harness.rag.check.claims.names import names
from harness.rag.check.numbers import Period, read
from harness.rag.check.numbers.context import words
from harness.rag.check.types import Claim, ClaimType
from harness.rag.retrieve import sentence_spans

NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|fail(?:s|ed)? to"
    r"|lack(?:s|ed)?|den(?:y|ies|ied)|refus(?:e|es|ed)|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
COMPARISON = re.compile(
    r"\b(?:than|more|less|fewer|most|least|larger|smaller|higher|lower|greater|earlier|later|before"
    r"|after|older|younger|longer|shorter|faster|slower|better|worse|first|last|exceed(?:s|ed)?"
    r"|outperform(?:s|ed)?|same as|twice|\w{3,}est)\b",
    re.IGNORECASE,
)
EXISTENCE = re.compile(
    r"\bthere (?:is|are|was|were|exists?|has been|have been)\b|\b(?:exists?|existed|contains?"
    r"|contained|includes?|included)\b",
    re.IGNORECASE,
)
DERIVED = re.compile(
    r"\b(?:total(?:ed|led)?|sum|combined|average|mean|median|ratio|difference|net of|growth|grew"
    r"|increas(?:e|ed)|decreas(?:e|ed)|ris(?:e|en)|rose|f[ae]ll|declin(?:e|ed)|share of|percent of"
    r"|proportion|times (?:as|that|the)|twice|doubled|halved)\b",
    re.IGNORECASE,
)
_VERB = re.compile(r"[a-z]")
_ASKS = re.compile(r"\?\s*$")
_OPINION = re.compile(
    r"^(?:i (?:think|believe|hope|am sorry|cannot|can't|don't)|sure|certainly|of course|let me|here"
    r" (?:is|are)|please|note that this|hope this)\b",
    re.IGNORECASE,
)


class Checkable(NamedTuple):
    """A span that documents could confirm or deny."""

    start: int
    end: int
    kind: ClaimType


def checkable(answer: str) -> list[Checkable]:
    """Numbers, dates and names of `answer`, and the sentences that state something; in order."""
    found: list[Checkable] = []
    for start, end in statements(answer):
        text = answer[start:end]
        if says_something(text):
            found.append(Checkable(start, end, sentence_kind(text)))
        values = read(text)
        for one in values:
            kind: ClaimType = "date" if isinstance(one, Period) else "number"
            found.append(Checkable(start + one.start, start + one.end, kind))
        for left, right in names(text):
            if not any(left < one.end and one.start < right for one in values):
                found.append(Checkable(start + left, start + right, "entity"))
    return sorted(found)


def statements(answer: str) -> list[tuple[int, int]]:
    """Spans of the sentences that state something: no question, no courtesy, no bare heading."""
    return [
        (start, end)
        for start, end in sentence_spans(answer)
        if _VERB.search(answer[start:end]) or read(answer[start:end]) or names(answer[start:end])
        if not _ASKS.search(answer[start:end]) and not _OPINION.match(answer[start:end])
    ]


def says_something(sentence: str) -> bool:
    """Whether there are words beside values: a bare value has nothing else to be wrong about."""
    rest = list(sentence)
    for one in read(sentence):
        rest[one.start : one.end] = " " * (one.end - one.start)
    return bool(words("".join(rest)))


def sentence_kind(sentence: str) -> ClaimType:
    """What kind of statement a sentence makes; the rarest kind that applies."""
    if NEGATION.search(sentence):
        return "negation"
    if is_list(sentence):
        return "list"
    if COMPARISON.search(sentence):
        return "comparison"
    if EXISTENCE.search(sentence):
        return "existence"
    return "relation"


def is_list(sentence: str) -> bool:
    """Three or more members joined by commas and a last "and" or "or"."""
    plain = re.sub(r"(?<=\d),(?=\d)", "", sentence)
    return plain.count(",") >= 2 and re.search(r",? (?:and|or) [^,]+$", plain) is not None


def coverage(answer: str, claims: Sequence[Claim]) -> float:
    """Share of the checkable spans that a claim of their kind covers, 0 to 1; 1 without any.

    A value or name counts only where a claim spans no more than it and what belongs to it: a
    claim about a whole sentence asks about none of its values in particular.
    """
    spans = checkable(answer)
    if not spans:
        return 1.0
    return sum(_covered(span, claims) for span in spans) / len(spans)


def _covered(span: Checkable, claims: Sequence[Claim]) -> bool:
    value = span.kind in ("number", "date", "entity")
    for claim in claims:
        shared = min(span.end, claim.end) - max(span.start, claim.start)
        if shared * 2 < span.end - span.start:
            continue
        if not value or claim.end - claim.start <= 3 * (span.end - span.start) + 10:
            return True
    return False
