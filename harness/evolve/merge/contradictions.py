"""Lessons that tell an agent opposite things about the same object.

Lexical and deliberately cautious: a directive is the clause behind a cue of approval (always,
prefer, use, must) or of refusal (never, avoid, do not). Two lessons contradict each other if one
approves what the other refuses, or if they approve opposite ends of one scale (ascending and
descending). Paraphrases that share no words are not found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from harness.core import Value
from harness.evolve.merge.lessons import Lesson
from harness.evolve.stems import content_words, stem

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
OVERLAP = 0.8
SHORT = 3


class Contradiction(Value):
    """Two sets of lessons that disagree.

    Attributes:
        one: indices of the lessons that say the one thing.
        two: indices of those that say the opposite.
        about: the words that they disagree on.
    """

    one: tuple[int, ...]
    two: tuple[int, ...]
    about: str


def contradictions(lessons: Sequence[Lesson]) -> list[Contradiction]:
    """Contradicting lessons of different trajectories.

    Lessons of the same directives are compared once, and only with those that share a word.
    """
    said: dict[Directives, list[int]] = {}
    for index, lesson in enumerate(lessons):
        if found := directives(lesson.wording):
            said.setdefault(found, []).append(index)
    pairs: list[Contradiction] = []
    for one, two in _candidates(list(said)):
        about = _disagreement(one, two)
        left, right = (sorted(said[side]) for side in (one, two))
        if about and len({lessons[i].sources for i in (*left, *right)}) > 1:
            pairs.append(Contradiction(one=tuple(left), two=tuple(right), about=about))
    return sorted(pairs, key=lambda pair: (pair.one, pair.two))


def _candidates(said: Sequence[Directives]) -> list[tuple[Directives, Directives]]:
    """Pairs that can disagree: alike in the first word of a clause, or on ends of one scale."""
    places: dict[str, set[int]] = {}
    scales = {
        stem(end): f"scale {number}" for number, ends in enumerate(_OPPOSITES) for end in ends
    }
    for index, found in enumerate(said):
        for _, words in found:
            for key in (words[0], *(scales[word] for word in words if word in scales)):
                places.setdefault(key, set()).add(index)
    pairs = {(one, two) for there in places.values() for one, two in combinations(sorted(there), 2)}
    return [(said[one], said[two]) for one, two in sorted(pairs)]


Directives = tuple[tuple[bool, tuple[str, ...]], ...]


@cache
def directives(text: str) -> Directives:
    """(approves, stemmed content words of its object) of every directive in a text."""
    found: list[tuple[bool, tuple[str, ...]]] = []
    for match in _CUE.finditer(text):
        clause = _STOP.split(match.group("what"), maxsplit=1)[0]
        words = content_words(clause)
        if words and (match.group("yes") or "").lower() in ("instantiate", "create"):
            words = ("create", *words)
        if words:
            found.append((match.group("no") is None, words))
    return tuple(found)


def _disagreement(first: Directives, second: Directives) -> str:
    for approves, words in first:
        for other, others in second:
            shared = [word for word in words if word in others]
            if approves != other:
                if _same_object(words, others, shared):
                    return " ".join(shared)
            elif approves and (about := _opposite(words, others)):
                return about
    return ""


def _same_object(words: tuple[str, ...], others: tuple[str, ...], shared: list[str]) -> bool:
    """Whether both begin alike and nearly all words of the shorter are in the other.

    One shared word is enough only where both clauses are short ("never pandas", "use pandas").
    """
    shorter = min(len(words), len(others))
    if words[0] != others[0] or len(shared) < OVERLAP * shorter:
        return False
    return len(shared) > 1 or len(words) + len(others) <= SHORT


def _opposite(words: tuple[str, ...], others: tuple[str, ...]) -> str:
    common = set(words) & set(others)
    for left, right in _OPPOSITES:
        ends = {stem(left), stem(right)}
        here, there = ends & set(words), ends & set(others)
        if len(here) == len(there) == 1 and here != there and len(common) >= 2:
            return f"{left} or {right} {' '.join(sorted(common))}"
    return ""
