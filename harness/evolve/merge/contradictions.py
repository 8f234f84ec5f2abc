"""Lessons that tell an agent opposite things about the same object.

Lexical and deliberately cautious: a directive is the clause behind a cue of approval (always,
prefer, use, must) or of refusal (never, avoid, do not). Two lessons contradict each other if one
approves what the other refuses, or if they approve opposite ends of one scale (ascending and
descending). Paraphrases that share no words are not found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product

from harness.core import Value
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.wording import content_words, stem

_CUE = re.compile(
    r"(?:(?P<no>\b(?:never|avoid|refrain from)\b|(?:^|[.;:,\u2014] ?|\band )(?:do not|don't)\b)"
    r"|\b(?P<yes>always|prefer|use|must|instantiate|create)\b)\s+(?P<what>[^.;:(]+(?:\.\w[^.;:(]*)*)",
    re.IGNORECASE,
)
# What follows these words is a condition or a reason, not what the directive is about.
_STOP = re.compile(
    r",|\b(?:unless|except|instead|rather|when|if|before|after|while|for|to|because|as|until|since"
    r"|by|so|which|that|even|without|in order)\b",
    re.IGNORECASE,
)
_OPPOSITES = (
    ("ascending", "descending"), ("forward", "reverse"), ("absolute", "relative"),
    ("uppercase", "lowercase"), ("in-place", "new file"), ("top-down", "bottom-up"),
)  # fmt: skip
# Share of the words of the shorter clause that both must hold, and the words that two short clauses
# have together.
OVERLAP, SHORT = 0.8, 3
Directives = tuple[tuple[bool, tuple[str, ...]], ...]


class Contradiction(Value):
    """Two sets of lessons that disagree.

    Attributes:
        one: indices of the lessons on the first side.
        two: indices of those that say the opposite.
        about: the words that they disagree on.
    """

    one: tuple[int, ...]
    two: tuple[int, ...]
    about: str


def contradictions(lessons: Sequence[Lesson]) -> list[Contradiction]:
    """Contradicting lessons of different trajectories.

    Lessons of the same directives are compared once, and only with those that share the first
    word of a clause or stand on the same scale.
    """
    lessons_of: dict[Directives, list[int]] = defaultdict(list)
    for index, lesson in enumerate(lessons):
        if clauses := directives(lesson.wording):
            lessons_of[clauses].append(index)
    scales = {
        stem(end): f"scale {number}" for number, ends in enumerate(_OPPOSITES) for end in ends
    }
    distinct = list(lessons_of)
    places: dict[str, set[int]] = defaultdict(set)
    for place, clauses in enumerate(distinct):
        for _, words in clauses:
            for key in (words[0], *(scales[word] for word in words if word in scales)):
                places[key].add(place)
    pairs: list[Contradiction] = []
    for first, second in {
        pair for group in places.values() for pair in combinations(sorted(group), 2)
    }:
        about = _disagreement(distinct[first], distinct[second])
        lessons_a, lessons_b = lessons_of[distinct[first]], lessons_of[distinct[second]]
        if about and len({lessons[index].sources for index in (*lessons_a, *lessons_b)}) > 1:
            pairs.append(Contradiction(one=tuple(lessons_a), two=tuple(lessons_b), about=about))
    return sorted(pairs, key=lambda pair: (pair.one, pair.two))


@cache
def directives(text: str) -> Directives:
    """(approves, stemmed content words of its object) of every directive in a text."""
    clauses: list[tuple[bool, tuple[str, ...]]] = []
    for cue in _CUE.finditer(text):
        words = content_words(_STOP.split(cue["what"], maxsplit=1)[0])
        if words and (cue["yes"] or "").lower() in ("instantiate", "create"):
            words = ("create", *words)
        if words:
            clauses.append((cue["no"] is None, words))
    return tuple(clauses)


def _disagreement(first: Directives, second: Directives) -> str:
    """The words that two sets of directives disagree on, "" if they do not."""
    for (approves, words), (also_approves, opposite) in product(first, second):
        shared = [word for word in words if word in opposite]
        if approves != also_approves:
            # Both begin alike, and nearly all words of the shorter are in the other. One shared
            # word is enough only where both clauses are short ("never pandas", "use pandas").
            alike = words[0] == opposite[0] and len(shared) >= OVERLAP * min(
                len(words), len(opposite)
            )
            if alike and (len(shared) > 1 or len(words) + len(opposite) <= SHORT):
                return " ".join(shared)
        elif approves:
            common = set(words) & set(opposite)
            for low, high in _OPPOSITES:
                ends = {stem(low), stem(high)}
                end, other_end = ends & set(words), ends & set(opposite)
                if len(end) == len(other_end) == 1 and end != other_end and len(common) >= 2:
                    return f"{low} or {high} {' '.join(sorted(common))}"
    return ""
