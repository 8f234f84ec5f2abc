"""What lessons point to: the patterns that the lessons of several tasks quote."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.evolve.merge.contrast import pattern
from harness.evolve.merge.lessons import Lesson

Citations = Mapping[tuple[str, str], Sequence[str]]
"""(trajectory id, text of the lesson) -> its quotes."""
SIGNS = 1000
"""Signs that are followed up, the most quoted."""
FEWEST = 2
"""Tasks that make a pattern a sign, and a group of lessons a rule."""


@dataclass(frozen=True)
class Signs:
    """The signs of lessons.

    Attributes:
        tasks: of each lesson.
        of: of each lesson, one sign a quote; none if it quotes nothing, or something of its own.
    """

    tasks: Sequence[frozenset[str]]
    of: Sequence[Sequence[str]]

    def support(self, members: Iterable[int]) -> int:
        """Distinct tasks of lessons."""
        return len(frozenset[str]().union(*(self.tasks[at] for at in members)))

    def counts(self, members: Iterable[int]) -> Counter[str]:
        """Sign -> distinct tasks that lessons of the group quote it from."""
        pairs = {(sign, task) for at in members for sign in self.of[at] for task in self.tasks[at]}
        return Counter(sign for sign, _ in sorted(pairs))

    def families(self) -> dict[str, list[int]]:
        """Sign -> the lessons that quote it."""
        found: dict[str, list[int]] = defaultdict(list)
        for at, own in enumerate(self.of):
            for sign in dict.fromkeys(own):
                found[sign].append(at)
        return found


def signs_of(lessons: Sequence[Lesson], citations: Citations, tasks: Mapping[str, str]) -> Signs:
    """Find the signs: of every quote, the most quoted pattern that it holds.

    Args:
        lessons: with their sources.
        citations: what they quote.
        tasks: trajectory id -> task id.
    """
    support = [frozenset(tasks.get(one, one) for one in lesson.sources) for lesson in lessons]
    patterns = [_patterns(lesson, citations) for lesson in lessons]
    quoted: dict[str, set[str]] = defaultdict(set)
    for own, quotes in zip(support, patterns, strict=True):
        for quote in quotes:
            quoted[quote] |= own
    common = [one for one, by in quoted.items() if len(by) >= FEWEST]
    common = sorted(common, key=lambda one: (-len(quoted[one]), one))[:SIGNS]
    held = {quote: next((one for one in common if one in quote), None) for quote in quoted}
    found: list[list[str]] = []
    for quotes in patterns:
        own_signs = [sign for quote in quotes if (sign := held[quote]) is not None]
        found.append(own_signs if len(own_signs) == len(quotes) else [])
    return Signs(support, found)


def _patterns(lesson: Lesson, citations: Citations) -> list[str]:
    quotes = (one for source in lesson.sources for one in citations.get((source, lesson.text), ()))
    return list(dict.fromkeys(pattern(one) for one in quotes))
