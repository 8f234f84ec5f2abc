"""Whether a text gives away what a Checker must find by itself.

Three ways: the claimed value in any form (normalised, rescaled, spelled out), a long quote of the
response, and a question that can be agreed with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from harness.rag.check.numbers import Mention, equal, normalise, read

QUOTE = 7
"""Consecutive words of the response that are a quote."""
_WORD = re.compile(r"\w+(?:[.,'\u2019/:-]\w+)*%?")
_OPENING = re.compile(
    r"^\W*(?:(?:and|so|but|then)\s+)?(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will"
    r"|would|shall|should|may|might|must|isn't|aren't|wasn't|weren't|don't|doesn't|didn't)\b",
    re.IGNORECASE,
)
_AGREE = re.compile(
    r"\b(?:true or false|yes or no|is it (?:true|correct|right)|correct\?$|right\?$"
    r"|(?:is|are|was|were|do|does|did)n't (?:it|they|he|she)\?$|or not\?$)",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_LITTLE = frozenset(("", "the", "a", "an", "yes", "no", "true", "false"))

Kind = Literal["value", "quote", "polarity"]


class Leak(NamedTuple):
    """What gives it away.

    Attributes:
        kind: of the three ways.
        what: the words that do.
    """

    kind: Kind
    what: str


def leaks_of(text: str, values: Sequence[str], response: str) -> list[Leak]:
    """Everything in `text` that gives away one of `values`, or quotes the response."""
    found = [Leak("value", value) for value in values if holds_value(text, value)]
    quoted = quote_of(text, response)
    if quoted:
        found.append(Leak("quote", quoted))
    return found


def is_polar(question: str) -> bool:
    """Whether a question asks for yes or no; one that offers a choice does not."""
    if _AGREE.search(question):
        return True
    return _OPENING.search(question) is not None and not _CHOICE.search(question)


def holds_value(text: str, value: str) -> bool:
    """Whether `text` states `value` in any form.

    Numbers, dates and periods are compared as values (2,500,000 in "2.5 million", "five" for 5) and
    by their digits, other values by their words, whatever their case, accents of typography and
    punctuation.
    """
    words = _words(value)
    if not words or " ".join(words) in _LITTLE:
        return False
    if f" {' '.join(words)} " in f" {' '.join(_words(text))} " or _within_words(value, text):
        return True
    claimed = _read(value)
    if len(claimed) != 1 or not _is_all(claimed[0].text, value):
        return False
    return _same_digits(value, text) or any(equal(claimed[0], one) for one in _read(text))


def _same_digits(value: str, text: str) -> bool:
    """Whether all digits of a value stand in a line, in a range, a fuller date or a name as well:
    1987 in "1983-1987", August 1966 in "August 23, 1966". One digit alone says nothing, and as
    little do those of several questions: passage 6 in one, passage 9 in another."""
    wanted = _digits(value)
    return sum(map(len, wanted)) > 1 and any(wanted <= _digits(line) for line in text.splitlines())


@lru_cache(maxsize=4096)
def _digits(text: str) -> frozenset[str]:
    found = _DIGITS.findall(normalise(text))
    return frozenset(re.sub(r"[.,]", "", one) for one in found)


def _within_words(value: str, text: str) -> bool:
    """Whether a value with letters is a part of compounds: "Tim McGraw's", "COVID-19-related"."""
    wanted = _plain(value).strip(" .,;:!?")
    said = _plain(text)
    if wanted not in said or not _LETTER.search(wanted):
        return False
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", said) is not None


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().replace("\u2019", "'").split())


@lru_cache(maxsize=4096)  # every question meets the values of every claim of its response
def _read(text: str) -> tuple[Mention, ...]:
    return tuple(read(text))


def _is_all(mention: str, value: str) -> bool:
    """Whether the value is the number and little more; "Apollo 11" is a name."""
    return len(mention) * 2 > len(value.strip())


def quote_of(text: str, response: str) -> str:
    """The first run of :data:`QUOTE` words that `text` and the response share; "" without one."""
    runs, words = _runs(response), _words(text)
    for at in range(len(words) - QUOTE + 1):
        if words[at : at + QUOTE] in runs:
            return " ".join(words[at : at + QUOTE])
    return ""


@lru_cache(maxsize=64)
def _runs(response: str) -> frozenset[tuple[str, ...]]:
    said = _words(response)
    return frozenset(said[at : at + QUOTE] for at in range(len(said) - QUOTE + 1))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold().replace("\u2019", "'") for word in _WORD.findall(normalise(text)))
