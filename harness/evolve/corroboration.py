"""Rules judged by their evidence: lessons that differ in words and quote the same.

An invented lesson quotes something real, and the same words are quoted by the lessons about the
failure that they show. A rule that most of its lessons quote one sign for owns that sign; lessons
of other rules that quote it, too, support nothing there. A lesson that stands alone joins the rule
whose sign it quotes, or others that stand alone and quote the same. A rule that is no more like the
other conclusions from its sign than like lessons about anything else is a dissenting opinion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.evolve.merge.evidence import FEWEST, Signs
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.similarity import CHUNK, Measure

STRONGER = 3
"""A sign is other rules' where they quote it from so many times the tasks."""
OPINIONS = 3
"""Lessons of other rules from the same sign that are needed to call a rule dissenting."""


@dataclass(frozen=True)
class Corroborated:
    """Groups of lessons after a look at their evidence.

    Attributes:
        groups: places of lessons; every group keeps its most central wording first.
        left_out: lesson -> why it supports nothing.
    """

    groups: list[list[int]]
    left_out: dict[int, str]


def corroborated(
    groups: Sequence[Sequence[int]], lessons: Sequence[Lesson], signs: Signs, by: Measure
) -> Corroborated:
    """Judge groups of lessons that say the same by what they quote.

    Args:
        groups: places of lessons that say the same, the most central first.
        lessons: all of them.
        signs: theirs; lessons without any stay where they are.
        by: how alike lessons are.
    """
    if not any(signs.of):
        return Corroborated([list(one) for one in groups], {})
    rules = [list(one) for one in groups if signs.support(one) >= FEWEST]
    own, owner, weight = _owners(rules, signs)
    left_out: dict[int, str] = {}
    for number, members in enumerate(rules):
        counts = signs.counts(members)
        for at in members:
            apart = [sign for sign in signs.of[at] if sign != own.get(number)]
            if len(apart) < len(signs.of[at]) or not apart:
                continue
            if all(weight[sign] >= STRONGER * counts[sign] for sign in apart):
                left_out[at] = f"other rules quote the same from many more tasks: {apart[0]!r}"
    kept = [[at for at in members if at not in left_out] for members in rules]
    lone = [one for one in groups if signs.support(one) < FEWEST]
    found = _joined(kept, lone, owner, signs)
    for number in _dissenting(found, lessons, signs, by):
        told = "from the same evidence, other lessons conclude something else"
        left_out |= dict.fromkeys(found[number], told)
        found[number] = []
    return Corroborated([one for one in found if one], left_out)


def _owners(
    rules: Sequence[Sequence[int]], signs: Signs
) -> tuple[dict[int, str], dict[str, int], Counter[str]]:
    """(rule -> its sign, sign -> the rule that quotes it most, sign -> tasks of all its rules)."""
    found: list[tuple[int, int, str]] = []
    for number, members in enumerate(rules):
        for sign, count in signs.counts(members).most_common(1):
            if 2 * count > signs.support(members):
                found.append((-count, number, sign))
    owner: dict[str, int] = {}
    weight: Counter[str] = Counter()
    for less, number, sign in sorted(found):
        owner.setdefault(sign, number)
        weight[sign] -= less
    return {number: sign for _, number, sign in found}, owner, weight


def _joined(
    rules: Sequence[Sequence[int]],
    lone: Sequence[Sequence[int]],
    owner: Mapping[str, int],
    signs: Signs,
) -> list[list[int]]:
    """Rules with the lessons that stand alone and quote the same, and rules of such lessons."""
    found = [list(one) for one in rules]
    new: dict[str, list[int]] = {}
    for members in lone:
        sign = next(iter(signs.of[members[0]]), f"lesson {members[0]}")
        joined = found[owner[sign]] if sign in owner else new.setdefault(sign, [])
        joined.extend(members)
    return [*found, *new.values()]


def _dissenting(
    groups: Sequence[Sequence[int]], lessons: Sequence[Lesson], signs: Signs, by: Measure
) -> list[int]:
    """Groups that are no more like other lessons from their sign than like those from others.

    More than :data:`CHUNK` lessons are judged by a sample.
    """
    import numpy as np

    step = -(-len(lessons) // CHUNK)
    place = {at: number for number, at in enumerate(range(0, len(lessons), step))}
    everything = set(place.values())
    alike = by.similarities([lessons[at].wording for at in place])
    families = signs.families()
    found: list[int] = []
    for number, members in enumerate(groups):
        if len(members) < FEWEST:
            continue
        for sign, _ in signs.counts(members).most_common(1):
            inside = [place[at] for at in members if at in place and sign in signs.of[at]]
            family = {place[at] for at in families[sign] if at in place}
            group = {place[at] for at in members if at in place}
            rest, others = sorted(family - group), sorted(everything - family - group)
            if not inside or len(rest) < OPINIONS or not others:
                continue
            if alike[np.ix_(inside, rest)].mean() <= alike[np.ix_(inside, others)].mean():
                found.append(number)
    return found
