"""Lessons and rules that say the same: one of them then speaks for the others.

Alike in words is not the same: a number, a name or a negation may make the difference
(:func:`distinct`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from harness.evolve.merge.answers import named_answers
from harness.evolve.merge.contradictions import disagreement, facts, sides
from harness.evolve.merge.lessons import Cause, Lesson, Lessons, best_supported_first, support
from harness.evolve.merge.similarity import CHUNK, similarities, word_similarities
from harness.evolve.merge.wording import content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rules at least so similar say the same; and rules whose lessons together are so similar. There,
# groups of labelled lessons that were cut in two are told best from others, if pairs on which the
# annotators disagree are left out: few groups, but both halves of the patches agree.
SAME, KINDRED = 0.6, 0.26
# Share of the words of two lessons that both hold, if a negation is all that tells them apart.
REPEATED = 0.7
# Lessons of a side that another lesson is compared with.
COMPARED = 20
_AMOUNTS = {
    "half": "0.5", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*|\b(?:{'|'.join(_AMOUNTS)})\b", re.IGNORECASE)
# When a rule applies; the rest of its sentence is what it asks for.
_CASE = re.compile(r"\b(?:for|if|when|where|unless)\b([^,;.]*)", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:.](?=\s|$)")
# Words that turn a sentence round: it denies, or a value lies on the other side of a bound.
_OPPOSED = (
    re.compile(r"\b(?:not?|never|avoid|without|cannot)\b|n't\b", re.IGNORECASE),
    re.compile(r"\b(?:over|above|more|greater|longer|later|after|exceeds?|least)\b", re.IGNORECASE),
    re.compile(r"\b(?:under|below|less|fewer|shorter|earlier|before|within|most)\b", re.IGNORECASE),
)

_TURNING = re.compile("|".join(pattern.pattern for pattern in _OPPOSED), re.IGNORECASE)


@lru_cache(maxsize=65536)
def distinct(first: str, second: str, labels: tuple[str, ...] = ()) -> str:
    """Name what tells two lessons apart, however alike their words are; "" if nothing does.

    It is a `number` that either has and the other lacks; an `answer` that they ask for; a `case`,
    where an amount is due for something else; a `name`, where all words are the same but the
    last of one clause; or a `denial` of what the other says, or the other side of a bound, in much
    the same words.

    Args:
        first: text of a lesson.
        second: of another.
        labels: answers that agents choose among.
    """
    texts = first, second
    numbers, other_numbers = map(_amounts, texts)
    answers, second_answers = (named_answers(text, labels)[0] for text in texts)
    if numbers - other_numbers and other_numbers - numbers:
        return "number"
    if answers and second_answers and answers.isdisjoint(second_answers):
        return "answer"
    amount, other_amount = (_amounts(_CASE.sub(" ", text)) for text in texts)
    case, other_case = ({*content_words(" ".join(_CASE.findall(text)))} for text in texts)
    if amount and other_amount and amount.isdisjoint(other_amount):
        return "number"
    if (amount or other_amount) and case and other_case and case.isdisjoint(other_case):
        return "case"
    clauses = [[content_words(part) for part in _CLAUSE.split(text)] for text in texts]
    unlike = [pair for pair in zip(*clauses, strict=False) if pair[0] != pair[1]]
    if len(unlike) == 1 and len(clauses[0]) == len(clauses[1]):
        ((clause, changed),) = unlike
        if len(clause) == len(changed) > 2 and clause[:-1] == changed[:-1]:
            return "name"
    turned = [tuple(bool(pattern.search(text)) for pattern in _OPPOSED) for text in texts]
    contents = [set(content_words(_TURNING.sub(" ", text))) for text in texts]
    repeated = len(contents[0] & contents[1]) >= REPEATED * len(contents[0] | contents[1])
    return "denial" if repeated and turned[0] != turned[1] else ""


def _amounts(text: str) -> set[str]:
    """Numbers of a text, in digits where they are words."""
    return {_AMOUNTS.get(match[0].lower()) or match[0] for match in _NUMBER.finditer(text)}


def parted(
    group: Sequence[int], lessons: Sequence[Lesson], labels: tuple[str, ...] = ()
) -> list[list[int]]:
    """A group of lessons that sound alike, cut into those that differ in nothing that matters.

    Args:
        group: numbers of lessons, the most central first.
        lessons: all of them.
        labels: answers that agents choose among.
    """

    def opposed(number: int, text: str) -> str:
        second = lessons[number].text
        return distinct(text, second, labels) or disagreement(sides(text), sides(second))

    parts: list[list[int]] = []
    for number in group:
        text = lessons[number].text
        fitting = (p for p in parts if not any(opposed(n, text) for n in p[:COMPARED]))
        part = next(fitting, None)
        if part is None:
            parts.append([number])
        else:
            part.append(number)
    return parts


def speakers(
    lessons: Lessons, causes: Sequence[Cause], labels: tuple[str, ...] = ()
) -> list[Cause]:
    """Return for every cause the best supported one whose rule says the same.

    Rules say the same whose wordings are alike, or state the same fact of code and ask for nothing;
    and, where they quote nothing by which they could be told apart, rules whose lessons are alike.
    Of the first :data:`CHUNK`; the others cost more to compare than they take.
    """
    first = list(causes)
    if not causes:
        return first
    stated = [facts(cause.wording.text) for cause in causes[:CHUNK]]
    alike = similarities([cause.wording.wording for cause in causes[:CHUNK]]) >= SAME
    near = kindred(lessons, causes[: len(alike)])
    alike |= near
    words = [cause.wording.text for cause in causes[: len(alike)]]
    pairs: list[tuple[int, int]] = list(zip(*alike.nonzero(), strict=True))
    for index, better in pairs:
        alike[index, better] &= not distinct(words[index], words[better], labels)
    near &= alike
    for index, claims in enumerate(stated):
        same = (n for n in range(index) if alike[index, n] or claims & stated[n])
        first[index] = causes[next((n for n in same if first[n] is causes[n]), index)]
    # Praise stands behind blame, however many tasks gave it.
    for index, cause in enumerate(causes[: len(stated)]):
        later = (n for n in range(index + 1, len(stated)) if near[index, n])
        better = causes[next((n for n in later if first[n] is causes[n]), index)]
        first = [better if speaker is cause else speaker for speaker in first]
    return first


def joined(
    lessons: Lessons, causes: Sequence[Cause], speaking: Sequence[Cause]
) -> list[tuple[Cause, list[Sequence[int]]]]:
    """Causes that speak for themselves, best supported first, each with the lessons of praise that
    its rule of blame speaks for.

    Every other cause is a part of the one that speaks for it, whatever its runs show: its tasks
    support that one.

    Args:
        lessons: all of them.
        causes: that have a wording.
        speaking: of each, the cause whose rule says it.
    """
    parts: dict[int, list[int]] = defaultdict(list)  # number of a cause -> its lessons
    echoes: dict[int, list[Sequence[int]]] = defaultdict(list)
    for cause, speaker in sorted(
        zip(causes, speaking, strict=True), key=lambda pair: pair[0] is not pair[1]
    ):
        quoted = any(lessons.quotes[n] for n in (*cause.members, *speaker.members))
        if quoted and cause.praise != speaker.praise:
            echoes[speaker.number].append(cause.members)
        else:
            parts[speaker.number] += cause.members
    merged = [
        replace(cause, members=parts[cause.number], sources=lessons.sources(parts[cause.number]))
        for cause, speaker in zip(causes, speaking, strict=True)
        if cause is speaker
    ]
    return [(cause, echoes[cause.number]) for cause in best_supported_first(lessons, merged)]


def kindred(lessons: Lessons, causes: Sequence[Cause]) -> NDArray[np.bool_]:
    """Mark causes without quotes that say much the same as one of no fewer tasks [causes, causes].

    Compared are all words of the lessons of either.
    """
    import numpy as np

    alike = np.zeros((len(causes), len(causes)), dtype=np.bool_)
    quoted = [any(lessons.quotes[number] for number in cause.members) for cause in causes]
    unquoted = [index for index in range(len(causes)) if not quoted[index]]
    if len(unquoted) > 1:
        wordings = [lessons.by_wording(causes[index].members) for index in unquoted]
        tasks = np.array([support(causes[index].sources, lessons.tasks) for index in unquoted])
        near = word_similarities([" ".join(texts) for texts in wordings]) >= KINDRED
        alike[np.ix_(unquoted, unquoted)] = near & (tasks >= tasks[:, None])
    return alike
