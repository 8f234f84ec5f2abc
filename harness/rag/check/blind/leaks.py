"""Whether a text gives away what a Checker must find by itself, and the assertion that none does.

Three ways: the claimed value in any form (normalised, rescaled, spelled out), a long quote of the
response, and a question that can be agreed with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from harness.core import HarnessError, render
from harness.models import Message
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
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_LITTLE = frozenset(("", "the", "a", "an", "yes", "no", "true", "false"))


class Leak(NamedTuple):
    """What gives it away: in which of the three ways, and the words that do."""

    kind: Literal["value", "quote", "polarity"]
    what: str


class Leaked(HarnessError):
    """A request to a Checker held something of the response; it was not sent (exit code 1)."""


def leaks_of(text: str, values: Sequence[str], response: str) -> list[Leak]:
    """Everything in `text` that gives away one of `values`, or quotes the response."""
    leaks = [Leak("value", value) for value in values if holds_value(text, value)]
    if quoted := quote_of(text, response):
        leaks.append(Leak("quote", quoted))
    return leaks


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
    phrase = " ".join(_words(value))
    if phrase in _LITTLE:
        return False
    if f" {phrase} " in f" {' '.join(_words(text))} ":
        return True
    bare, plain = _plain(value).strip(" .,;:!?"), _plain(text)
    if (
        bare in plain  # in compounds: "Tim McGraw's", "COVID-19-related"
        and _LETTER.search(bare)
        and re.search(rf"(?<!\w){re.escape(bare)}(?!\w)", plain)
    ):
        return True
    mentions = _read(value)
    if len(mentions) != 1 or 2 * len(mentions[0].text) <= len(value.strip()):
        return False  # no number and little more: "Apollo 11" is a name
    # All digits in one line count, in a range, a fuller date or a name as well: 1987 in
    # "1983-1987", August 1966 in "August 23, 1966". One digit alone says nothing, and as little do
    # those of several questions: passage 6 in one, passage 9 in another.
    digits = _digits(value)
    if sum(map(len, digits)) > 1 and any(digits <= _digits(line) for line in text.splitlines()):
        return True
    return any(equal(mentions[0], each) for each in _read(text))


@lru_cache(maxsize=4096)
def _digits(text: str) -> frozenset[str]:
    return frozenset(re.sub("[.,]", "", digits) for digits in _DIGITS.findall(normalise(text)))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().replace("\u2019", "'").split())


@lru_cache(maxsize=4096)  # every question meets the values of every claim of its response
def _read(text: str) -> tuple[Mention, ...]:
    return tuple(read(text))


def quote_of(text: str, response: str) -> str:
    """The first run of :data:`QUOTE` words that `text` and the response share; "" without one."""
    shared = _runs(response)
    return next((" ".join(run) for run in _runs(text) if run in shared), "")


@lru_cache(maxsize=64)
def _runs(text: str) -> dict[tuple[str, ...], None]:
    words = _words(text)
    return dict.fromkeys(words[start : start + QUOTE] for start in range(len(words) - QUOTE + 1))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold().replace("\u2019", "'") for word in _WORD.findall(normalise(text)))


class Vault:
    """The response under check and the values claimed of it: what the Checker must not see.

    Fails closed: before it is sealed no request to a Checker passes.
    """

    def __init__(self) -> None:
        self._response: str | None = None
        self._values: tuple[tuple[str, ...], ...] = ()

    def seal(self, response: str, values: Sequence[Sequence[str]]) -> None:
        """Remember what must not leave; `values` are those that each request asks for."""
        self._response, self._values = response, tuple(tuple(each) for each in values)

    def leaks(
        self, messages: Sequence[Message], passages: Sequence[str], request: int = 0
    ) -> list[Leak]:
        """What the messages hold of the response, their documents and fixed words taken out.

        The documents, which may say anything, are taken out as one block, as they were rendered:
        taken out one by one, a passage such as "3" would take pieces out of questions as well.

        Args:
            messages: as they are sent.
            passages: documents that are in them.
            request: position of the request among those sealed.

        Raises:
            Leaked: if the vault was not sealed.
        """
        if self._response is None:
            raise Leaked("no response was sealed: a Checker may not be asked yet")
        text = "\n".join(str(message.get("content", "")) for message in messages)
        template = render("march_check", passages=passages, questions=())
        head, _, tail = template.rpartition("<questions>")
        if text.startswith(head):
            text = text[len(head) :].removeprefix("<questions>")
            text = text.removesuffix(tail if tail in text else "</questions>")
        return leaks_of(text, self._values[request], self._response)

    def assert_blind(
        self, messages: Sequence[Message], passages: Sequence[str], request: int = 0
    ) -> None:
        """Raise :class:`Leaked` if the messages hold anything of the response."""
        leaks = self.leaks(messages, passages, request)
        if leaks:
            raise Leaked(f"a request to the Checker leaks a {leaks[0].kind}: {leaks[0].what!r}")
