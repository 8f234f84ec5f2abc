"""Claims of every kind from an answer, by rule and without a model, each with its span."""

from __future__ import annotations

import re

from harness.rag.check.claims.detect import DERIVED, says_something, sentence_kind, statements
from harness.rag.check.claims.names import names
from harness.rag.check.claims.questions import question_for
from harness.rag.check.numbers import Mention, Period, read
from harness.rag.check.types import Claim, ClaimType

_CELL = re.compile(
    r"\b(?:in|for|of|during) (?:fiscal |FY|the )?\s?(?:year )?(?:19|20)\d\d\b|\brow\b|\bcolumn\b",
    re.IGNORECASE,
)


def extract(answer: str, asked: str = "") -> list[Claim]:
    """Claims of `answer` in the order of their spans.

    Every sentence that states something is one claim of its kind (relation, comparison, negation,
    existence, list); every number, date and name in it is one more, so that a wrong value is found
    where the rest of its sentence is right. A number is a `derived` claim where the sentence
    speaks of computing, a `cell` claim where it names a period.

    Args:
        answer: the text to check.
        asked: what the user asked.
    """
    found: list[Claim] = []
    for start, end in statements(answer):
        sentence = answer[start:end]
        if says_something(sentence):
            found.append(_claim(answer, start, end, sentence_kind(sentence), sentence, asked))
        values = read(sentence)
        for one in values:
            left, right = start + one.start, start + one.end
            found.append(_claim(answer, left, right, _kind(one, sentence), sentence, asked))
        for left, right in names(sentence):
            if not any(left < one.end and one.start < right for one in values):
                found.append(_claim(answer, start + left, start + right, "entity", sentence, asked))
    return sorted(found, key=lambda claim: (claim.start, -claim.end))


def _kind(mention: Mention, sentence: str) -> ClaimType:
    if isinstance(mention, Period):
        return "date"
    if DERIVED.search(sentence):
        return "derived"
    return "cell" if _CELL.search(sentence) else "number"


def _claim(answer: str, start: int, end: int, kind: ClaimType, sentence: str, asked: str) -> Claim:
    text = answer[start:end]
    bare = Claim(
        text=text, type=kind, start=start, end=end, sentence=sentence, asked=asked, value=text
    )  # fmt: skip
    question, value = question_for(bare)
    return bare.model_copy(update={"question": question, "value": value})
