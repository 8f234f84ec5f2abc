"""Questions that give nothing away: as proposed where they may stay, else asked again neutrally."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.rag.check.blind.leaks import QUOTE, holds_value, is_polar, leaks_of, quote_of
from harness.rag.check.claims import MOST_KEYWORDS, keywords_of, question_for
from harness.rag.check.types import Claim

# Requests that the questions of one response are divided into; more than two only where no
# wording lets them stand together.
_FEW_REQUESTS, _MOST_REQUESTS = 2, 4
# Keywords that a shortened question must keep.
_LEAST_KEYWORDS = 2
_Request = list[tuple[Claim, str]]


@dataclass(frozen=True)
class Group:
    """Claims whose questions go out in one request, in the order of `questions`."""

    claims: tuple[Claim, ...]
    questions: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """What the request must not hold."""
        return tuple(claim.value for claim in self.claims)


@dataclass(frozen=True)
class Blinded:
    """What may be asked.

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
    """Put a question where it neither gives away nor is given away; a new request if need be."""
    for request in requests:
        clash = any(
            holds_value(question, rival.value) or holds_value(worded, claim.value)
            for rival, worded in request
        )
        neighbours = "\n".join([*(worded for _, worded in request[-QUOTE:]), question])
        if not clash and not quote_of(neighbours, response):
            request.append((claim, question))
            return True
    if len(requests) >= _FEW_REQUESTS and _squeeze_in(claim, question, requests, response):
        return True
    if len(requests) < _MOST_REQUESTS:
        requests.append([(claim, question)])
        return True
    return False


def _squeeze_in(claim: Claim, question: str, requests: list[_Request], response: str) -> bool:
    """Put a question into the request where the fewest questions must be shortened for it."""
    options: list[tuple[int, _Request, _Request]] = []
    for request in requests:
        longer = [*request, (claim, question)]
        shortened = _shortened(longer, response)
        if shortened and not quote_of("\n".join(worded for _, worded in shortened), response):
            pairs = zip(longer, shortened, strict=True)
            changed = sum(before[1] != after[1] for before, after in pairs)
            options.append((changed, request, shortened))
    if not options:
        return False
    _, request, shortened = min(options, key=lambda option: option[0])
    request[:] = shortened
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
