"""A neutral question for a claim, without a model: a list of keywords in place of the sentence.

The documents must decide, so the question holds neither the value nor its wording, neither the
sentence nor a yes or no to agree with: names, periods and content words alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from harness.rag.check.claims.names import names
from harness.rag.check.numbers import Period, read
from harness.rag.check.numbers.context import words
from harness.rag.check.types import Claim

_LEAD = {
    "number": "Which number (with its unit, if it has one) do the documents state for: ",
    "cell": "Which number (with its unit, if it has one) do the documents state for: ",
    "derived": "Which number (with its unit, if it has one) follows from the documents for: ",
    "date": "Which date or time do the documents state for: ",
    "entity": "Which name do the documents state for: ",
}
_OTHER = "What do the documents say about: "
MOST = 8
"""Keywords of a question."""


def question_for(claim: Claim) -> tuple[str, str]:
    """(question, value that it must be answered with) for one claim."""
    lead = _LEAD.get(claim.type)
    keywords = ", ".join(keywords_of(claim)[:MOST]) or "the subject of the documents"
    if lead is None:
        return f"{_OTHER}{keywords}?", claim.sentence
    return f"{lead}{keywords}?", claim.text


def keywords_of(claim: Claim) -> list[str]:
    """Names, periods and content words of the sentence, in order, but for the claimed value."""
    return list(_keywords(claim.sentence, claim.text if claim.type in _LEAD else ""))


@lru_cache(maxsize=1024)  # a response's questions are worded again and again
def _keywords(sentence: str, value: str) -> tuple[str, ...]:
    spans = [(start, end) for start, end in names(sentence)]
    values = read(sentence)
    spans += [(one.start, one.end) for one in values if isinstance(one, Period)]
    taken = [*spans, *((one.start, one.end) for one in values)]
    for match in re.finditer(r"[A-Za-z][\w'-]+", sentence):
        start, end = match.span()
        if words(match[0]) and not any(left < end and start < right for left, right in taken):
            spans.append((start, end))
    found = (sentence[start:end] for start, end in sorted(spans))
    return tuple(one for one in dict.fromkeys(found) if not _holds(one, value))


def _holds(keyword: str, value: str) -> bool:
    """Whether a keyword gives the value away, whole or in a part of its words."""
    said = set(re.findall(r"\w+", keyword.lower()))
    return bool(value) and bool(said & set(re.findall(r"\w+", value.lower())))
