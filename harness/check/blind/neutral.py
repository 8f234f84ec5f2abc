"""Questions that give nothing away: as proposed where they may stay, else asked again neutrally."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.check.blind.leaks import holds_value, is_polar, leaks_of
from harness.check.claims.questions import question_for
from harness.check.types import Claim

MOST_GROUPS = 4
"""Requests that the questions of one response are divided into."""


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
    keywords of the sentence; keywords that still give the value away are left out.
    """
    groups: list[tuple[list[Claim], list[str]]] = []
    reworded, unaskable = 0, list[Claim]()
    for claim in claims:
        question = neutral(claim, response)
        if question is None:
            unaskable.append(claim)
            continue
        reworded += question != claim.question
        if not _placed(claim, question, groups):
            unaskable.append(claim)
    made = tuple(Group(tuple(held), tuple(asked)) for held, asked in groups)
    return Blinded(made, reworded, tuple(unaskable))


def neutral(claim: Claim, response: str) -> str | None:
    """The claim's question if it gives nothing away, else a neutral one; None if there is none."""
    for worded in (claim.question, question_for(claim)[0], *_shorter(claim)):
        question = " ".join(worded.split())
        polar = is_polar(question)
        if question and not polar and not leaks_of(question, [claim.value], response):
            return question
    return None


def _shorter(claim: Claim) -> list[str]:
    """The keyword question with ever fewer keywords."""
    lead, colon, keywords = question_for(claim)[0].partition(": ")
    parts = [part for part in keywords.rstrip("?").split(", ") if colon]
    kept = [part for part in parts if not holds_value(part, claim.value)]
    tries = [f"{lead}: {', '.join(kept[:count])}?" for count in range(len(kept), 0, -1)]
    return [*tries, re.sub(r" \(.*?\)", "", lead) + ", on the whole?"]


def _placed(claim: Claim, question: str, groups: list[tuple[list[Claim], list[str]]]) -> bool:
    """Put a question where it neither gives away nor is given away; a new request if need be."""
    for held, asked in groups:
        gives = any(holds_value(question, other.value) for other in held)
        given = any(holds_value(other, claim.value) for other in asked)
        if not gives and not given:
            held.append(claim)
            asked.append(question)
            return True
    if len(groups) < MOST_GROUPS:
        groups.append(([claim], [question]))
        return True
    return False
