"""Questions that give nothing away: as proposed where they may stay, else asked again neutrally."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.rag.check.blind.leaks import QUOTE, holds_value, is_polar, leaks_of, quote_of
from harness.rag.check.claims.questions import MOST, keywords_of, question_for
from harness.rag.check.types import Claim

FEW_GROUPS, MOST_GROUPS = 2, 4
"""Requests that the questions of one response are divided into; more than two only where no
wording lets them stand together."""
LEAST_KEYWORDS = 2
"""Keywords that a shortened question must keep."""
_Requests = list[tuple[list[Claim], list[str]]]


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
    groups: _Requests = []
    reworded, unaskable = 0, list[Claim]()
    for claim in claims:
        question = neutral(claim, response)
        if question is None:
            unaskable.append(claim)
            continue
        reworded += question != claim.question
        if not _placed(claim, question, groups, response):
            unaskable.append(claim)
    made = tuple(Group(tuple(held), tuple(asked)) for held, asked in groups)
    return Blinded(made, reworded, tuple(unaskable))


def neutral(claim: Claim, response: str) -> str | None:
    """The claim's question if it gives nothing away, else a neutral one; None if there is none."""
    for worded in (claim.question, question_for(claim)[0], *_shorter(claim)):
        question = " ".join(worded.split())
        if _gives_nothing(question, claim, response):
            return question
    return None


def _gives_nothing(question: str, claim: Claim, response: str) -> bool:
    return bool(question) and not is_polar(question) and not leaks_of(
        question, [claim.value], response
    )  # fmt: skip


def _shorter(claim: Claim) -> list[str]:
    """The keyword question with ever fewer keywords."""
    lead, kept = _keywords(claim, [claim.value])
    tries = [f"{lead}: {', '.join(kept[:count])}?" for count in range(len(kept), 0, -1)]
    return [*tries, re.sub(r" \(.*?\)", "", lead) + ", on the whole?"]


def _keywords(claim: Claim, values: Sequence[str]) -> tuple[str, list[str]]:
    """Lead and keywords of the keyword question, but for those that hold one of `values`."""
    lead = question_for(claim)[0].partition(": ")[0]
    words = keywords_of(claim)
    kept = [one for one in words if not any(holds_value(one, value) for value in values)]
    return lead, kept[:MOST]


def _without(claim: Claim, values: Sequence[str], response: str) -> str | None:
    """The keyword question without what gives `values` away; None if too little is left of it."""
    lead, kept = _keywords(claim, [claim.value, *values])
    question = f"{lead}: {', '.join(kept)}?"
    gives = any(holds_value(question, value) for value in values)
    if len(kept) < LEAST_KEYWORDS or gives or not _gives_nothing(question, claim, response):
        return None
    return question


def _placed(claim: Claim, question: str, groups: _Requests, response: str) -> bool:
    """Put a question where it neither gives away nor is given away; a new request if need be."""
    for held, asked in groups:
        gives = any(holds_value(question, other.value) for other in held)
        given = any(holds_value(other, claim.value) for other in asked)
        near = "\n".join([*asked[-QUOTE:], question])
        if not gives and not given and not quote_of(near, response):
            held.append(claim)
            asked.append(question)
            return True
    if len(groups) >= FEW_GROUPS and _squeezed(claim, question, groups, response):
        return True
    if len(groups) < MOST_GROUPS:
        groups.append(([claim], [question]))
        return True
    return False


def _squeezed(claim: Claim, question: str, groups: _Requests, response: str) -> bool:
    """Put a question into the request where the fewest questions must be shortened for it."""
    best: tuple[int, int, list[str]] | None = None
    for at, (held, asked) in enumerate(groups):
        wanted = _shortened(claim, question, held, asked, response)
        if wanted is None or quote_of("\n".join(wanted), response):
            continue
        changed = sum(old != new for old, new in zip([*asked, question], wanted, strict=True))
        if best is None or changed < best[0]:
            best = (changed, at, wanted)
    if best is None:
        return False
    held, asked = groups[best[1]]
    held.append(claim)
    asked[:] = best[2]
    return True


def _shortened(
    claim: Claim, question: str, held: Sequence[Claim], asked: Sequence[str], response: str
) -> list[str] | None:
    """The questions of a request with one more, none giving another away; None if impossible."""
    everyone = [*held, claim]
    found: list[str] = []
    for one, worded in zip(everyone, [*asked, question], strict=True):
        others = [other.value for other in everyone if other is not one]
        conflict = any(holds_value(worded, value) for value in others)
        wanted = _without(one, others, response) if conflict else worded
        if wanted is None:
            return None
        found.append(wanted)
    return found
