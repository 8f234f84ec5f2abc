"""Questions that give nothing away, and the vault that stops a request which does.

A text gives away what a Checker must find by itself in three ways: by the claimed value in any form
(normalised, rescaled, spelled out), by a long quote of the response, and by a question that can be
agreed with. Questions stay as proposed where they may, else they are asked again neutrally.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Literal, NamedTuple

from harness.core import HarnessError, render
from harness.models import Message
from harness.rag.check.claims import MOST_KEYWORDS, keywords_of, question_for
from harness.rag.check.numbers import Mention, equal, normalise, read
from harness.rag.check.types import Claim

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


# Requests that the questions of one response are divided into; more than two only where no
# wording lets them stand together.
_FEW_REQUESTS, _MOST_REQUESTS = 2, 4
# Keywords that a shortened question must keep.
_LEAST_KEYWORDS = 2
_Request = list[tuple[Claim, str]]


class Leak(NamedTuple):
    """Leak of a value: the way it is given away, and the words that do."""

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
    """Return True if a question asks for yes or no; one that offers a choice does not."""
    if _AGREE.search(question):
        return True
    return _OPENING.search(question) is not None and not _CHOICE.search(question)


def holds_value(text: str, value: str) -> bool:
    """Return True if `text` states `value` in any form.

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
    return any(equal(mentions[0], mention) for mention in _read(text))


@lru_cache(maxsize=4096)
def _digits(text: str) -> frozenset[str]:
    return frozenset(re.sub("[.,]", "", digits) for digits in _DIGITS.findall(normalise(text)))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(normalise(text).casefold().split())


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
    return tuple(word.casefold() for word in _WORD.findall(normalise(text)))


class Vault:
    """The response under check and the values claimed of it: what the Checker must not see.

    Fails closed: before it is sealed no request to a Checker passes.
    """

    def __init__(self) -> None:
        self._response: str | None = None
        self._values: tuple[tuple[str, ...], ...] = ()

    def seal(self, response: str, values: Sequence[Sequence[str]]) -> None:
        """Remember what must not leave; `values` are those that each request asks for."""
        self._response, self._values = response, tuple(tuple(group) for group in values)

    def leaks(
        self, messages: Sequence[Message], passages: Sequence[str], request: int = 0
    ) -> list[Leak]:
        """Find parts of the response in the messages, their documents and fixed words taken out.

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


@dataclass(frozen=True)
class Group:
    """Claims whose questions go out in one request, in the order of `questions`."""

    claims: tuple[Claim, ...]
    questions: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """Values that the request must not hold."""
        return tuple(claim.value for claim in self.claims)


@dataclass(frozen=True)
class Blinded:
    """Questions that may be asked.

    Attributes:
        groups: requests; no question of one gives away a value that another of it asks for.
        reworded: claims whose question leaked and was replaced.
        unaskable: claims for which every wording gives something away.
    """

    groups: tuple[Group, ...]
    reworded: int
    unaskable: tuple[Claim, ...]


def blinded(claims: Sequence[Claim], response: str) -> Blinded:
    """Questions for claims, divided into requests none of which leaks.

    A question that holds its own value, quotes the response or asks for yes or no is replaced by
    keywords of the sentence; keywords that still give the value away are left out. Questions that
    answer one another go out apart, or, to save a request, without the keywords that do; so do
    neighbours that quote the response together, the end of one and the beginning of the next.
    """
    requests: list[_Request] = []
    reworded, unaskable = 0, list[Claim]()
    for claim in claims:
        question = neutral(claim, response)
        if question is None or not _place(claim, question, requests, response):
            unaskable.append(claim)
        reworded += question not in (None, claim.question)
    groups = tuple(
        Group(tuple(claim for claim, _ in request), tuple(question for _, question in request))
        for request in requests
    )
    return Blinded(groups, reworded, tuple(unaskable))


def neutral(claim: Claim, response: str) -> str | None:
    """The claim's question if it gives nothing away, else a neutral one; None if there is none."""
    lead, keywords = _keywords(claim, [claim.value])
    shorter = [f"{lead}: {', '.join(keywords[:n])}?" for n in range(len(keywords), 0, -1)]
    general = re.sub(r" \(.*?\)", "", lead) + ", on the whole?"
    for worded in (claim.question, question_for(claim)[0], *shorter, general):
        question = " ".join(worded.split())
        if question and _gives_nothing_away(question, claim, response):
            return question
    return None


def _gives_nothing_away(question: str, claim: Claim, response: str) -> bool:
    return not is_polar(question) and not leaks_of(question, [claim.value], response)


def _keywords(claim: Claim, values: Sequence[str]) -> tuple[str, list[str]]:
    """Lead and keywords of the keyword question, but for those that hold one of `values`."""
    harmless = [
        word for word in keywords_of(claim) if not any(holds_value(word, value) for value in values)
    ]
    return question_for(claim)[0].partition(": ")[0], harmless[:MOST_KEYWORDS]


def _place(claim: Claim, question: str, requests: list[_Request], response: str) -> bool:
    """Put a question where it neither gives away nor is given away; a new request if need be.

    Before a third request is made, it goes where the fewest questions must be shortened for it.
    """
    for request in requests:
        clash = any(
            holds_value(question, rival.value) or holds_value(worded, claim.value)
            for rival, worded in request
        )
        neighbours = "\n".join([*(worded for _, worded in request[-QUOTE:]), question])
        if not clash and not quote_of(neighbours, response):
            request.append((claim, question))
            return True
    options: list[tuple[int, _Request, _Request]] = []
    for request in requests if len(requests) >= _FEW_REQUESTS else ():
        longer = [*request, (claim, question)]
        shortened = _shortened(longer, response)
        if shortened and not quote_of("\n".join(worded for _, worded in shortened), response):
            pairs = zip(longer, shortened, strict=True)
            changed = sum(before[1] != after[1] for before, after in pairs)
            options.append((changed, request, shortened))
    if options:
        _, request, shortened = min(options, key=itemgetter(0))
        request[:] = shortened
    elif len(requests) < _MOST_REQUESTS:
        requests.append([(claim, question)])
    else:
        return False
    return True


def _shortened(request: _Request, response: str) -> _Request | None:
    """The request with no question giving away what another asks for; None if impossible."""
    shortened: _Request = []
    for claim, worded in request:
        question = worded
        rivals = [rival.value for rival, _ in request if rival is not claim]
        if any(holds_value(question, value) for value in rivals):
            lead, keywords = _keywords(claim, [claim.value, *rivals])
            question = f"{lead}: {', '.join(keywords)}?"
            gives = any(holds_value(question, value) for value in rivals)
            few = len(keywords) < _LEAST_KEYWORDS
            if few or gives or not _gives_nothing_away(question, claim, response):
                return None
        shortened.append((claim, question))
    return shortened
