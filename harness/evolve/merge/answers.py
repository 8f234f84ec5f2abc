"""Evidence that expected answers give, of agents that choose among a few.

An agent that sorts tickets gives one of a few answers, and it is known which was expected. A
lesson of a failed run then rests on a *confusion*: the answer that was given, and the right one.
Lessons of one confusion are likely to name one cause however they put it, and never one with those
of another; and a lesson that asks for another answer than was right in the run that taught it is
refuted by that run.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

from harness.core import Trajectory, mapping, one_spelling
from harness.evolve.analysts.exemplar import LABELS
from harness.evolve.artifacts import EXPECTED
from harness.evolve.merge.evidence import clauses, root, saying
from harness.evolve.merge.lessons import Lesson
from harness.evolve.merge.wording import content_words

# Share of the replies that must give one of the expected answers.
CHOSEN = 0.8
# Share of the letters of the shorter of two words that both begin with, if they are forms of one,
# and so many letters at least.
FORM, SHORTEST = 0.8, 3
# How many times as often a word stands in tasks of one confusion as in others, to be about it.
TELLING = 2
# A word of an answer or a lesson: numbers count.
_WORD = re.compile(r"[^\W_]+")
_POINTS = re.compile(r"[-+]?\d+(?:[.,/]\d+)*\s*%?")


class Answer(NamedTuple):
    """The answer that a run gave, the one that was right, and the words that its task is told in.

    Before all right answers are known, what was given is the whole reply.
    """

    run: str
    given: str
    right: str
    ticket: frozenset[str]

    @classmethod
    def of(cls, run: Trajectory, longest: int) -> Answer:
        """Take the answer of a run; the right one is "" where it is not known.

        Of an object, such as a team and a priority, it is the first text.
        """
        right = str(mapping(run.harness.get("task")).get(EXPECTED) or "").strip()
        with suppress(ValueError):
            texts = (text for text in mapping(json.loads(right)).values() if isinstance(text, str))
            right = next(texts, right)
        return cls(
            run.trajectory_id,
            run.answer,
            right=right,
            ticket=frozenset(content_words(run.prompt[:longest])),
        )

    @property
    def confusion(self) -> str:
        """Return the confusion as evidence is quoted; "" where the answer was right."""
        return "" if self.given == self.right else f"answered {self.given}, not {self.right}"


@dataclass(frozen=True)
class Answers:
    """Answers of runs, by their ids, and all that are right for one of them.

    None at all where there are not just a few, or all are numbers: points of a scale, which a rule
    adds to and takes from; no runs where agents give others.
    """

    of_runs: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, replies: Collection[Answer]) -> Answers:
        """The answers in replies; those that differ in case alone are one."""
        spellings = one_spelling(reply.right for reply in replies)
        labels = tuple(sorted(set(spellings.values())))
        scale = all(map(_POINTS.fullmatch, labels))
        if scale or "" in labels or not 1 < len(labels) <= min(LABELS, len(replies) // 2):
            return cls()
        answers = [
            reply._replace(given=last_named(reply.given, labels), right=spellings[reply.right])
            for reply in replies
        ]
        answered = sum(bool(answer.given) for answer in answers)
        few = answered >= CHOSEN * len(answers)
        return cls({answer.run: answer for answer in answers} if few else {}, labels)

    @cached_property
    def telling(self) -> dict[str, frozenset[str]]:
        """Confusion -> the words that its tasks are told in much more often than others."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for answer in self.of_runs.values():
            counts[answer.confusion].update(answer.ticket)
        tasks = Counter(answer.confusion for answer in self.of_runs.values())
        everywhere = sum(counts.values(), Counter[str]())
        return {
            name: frozenset(
                word
                for word, count in words.items()
                if count * (tasks.total() - tasks[name])
                >= TELLING * tasks[name] * (everywhere[word] - count)
            )
            for name, words in counts.items()
        }

    def confusion(self, lesson: Lesson) -> str:
        """The confusion of the runs that taught a lesson, if it is about that; else "".

        It is, if it names an answer, or what is told in tasks of this confusion and seldom else.
        """
        names = {self.of_runs[run].confusion for run in lesson.sources if run in self.of_runs}
        confusion = names.pop() if len(names) == 1 else ""
        words = {word for part in self.named(lesson.text) for word in part}
        words |= self.telling.get(confusion, frozenset()) & set(content_words(lesson.text))
        return confusion if words else ""

    def named(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """The answers that a lesson asks for, and those that it refuses."""
        return named_answers(text, self.labels)

    def document(self, lesson: Lesson) -> str:
        """Text of a lesson and the tasks that taught it on when it applies: names no answer."""
        parts = {part for label in self.labels for part in _roots(label)}
        text = _WORD.sub(lambda word: "" if _form(_root(word[0]), parts) else word[0], lesson.text)
        answers = [self.of_runs[name] for name in lesson.sources if name in self.of_runs]
        words = {word for row in answers for word in row.ticket & self.telling[row.confusion]}
        return f"{text} {' '.join(sorted(words))}"

    def objection(self, lesson: Lesson, quotes: Iterable[str]) -> str:
        """Reason for which the runs that taught a lesson speak against it, or "".

        Args:
            lesson: of a failed run or a passed one.
            quotes: what it quotes of what varies between runs.
        """
        answers = [self.of_runs[name] for name in lesson.sources if name in self.of_runs]
        demanded, refused = self.named(lesson.text)
        for answer in answers:
            if answer.right not in demanded and (demanded or answer.right in refused):
                return f"in a run that taught it {answer.right!r} was right"
        words = saying(lesson.text) - {"not"}
        idle = not self.confusion(lesson) and not any(words & saying(text) for text in quotes)
        failed = any(answer.confusion for answer in answers)
        return "it is about no answer, and nothing that its run shows" if failed and idle else ""


def last_named(reply: str, labels: Sequence[str]) -> str:
    """The answer that a reply gives: the last that it names, the longest of those; "" if none."""
    folded = reply.casefold()
    matches = [
        (match.end(), len(label), label)
        for label in labels
        for match in re.finditer(rf"(?<!\w){re.escape(label.casefold())}(?!\w)", folded)
    ]
    return max(matches, default=(0, 0, ""))[2]


@lru_cache(maxsize=4096)
def named_answers(text: str, labels: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The answers that a lesson asks for, and those that it refuses and asks for nowhere.

    An answer is named to the letter, or by forms of all of its words: "deny the refund" names
    `refund_denied`. Where any is named to the letter, only such count.
    """
    exact = [label for label in labels if _letters(label, text)]

    def named(clause: str) -> set[str]:
        words = set(map(_root, _WORD.findall(clause)))
        names = {
            label
            for label in exact or labels
            if (
                _letters(label, clause)
                if exact
                else all(_form(part, words) for part in _roots(label))
            )
        }
        # "Urgent repair" names no plain repair.
        return {
            name for name in names if not any(_roots(name) < _roots(longer) for longer in names)
        }

    sides: tuple[set[str], set[str]] = (set(), set())
    for refuses, clause in clauses(text):
        sides[refuses].update(named(clause))
    if exact and not any(sides):  # "for high fines answer C" is one clause, and says when
        sides[0].update(exact)
    return frozenset(sides[0]), frozenset(sides[1] - sides[0])


def _letters(label: str, text: str) -> bool:
    """Return True if a text holds an answer to the letter; words of one may stand apart."""
    words = _WORD.findall(label) or [label]
    pattern = r"[\W_]+".join(map(re.escape, words))
    return (
        re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE if len(words) > 1 else re.NOFLAG)
        is not None
    )


@lru_cache(maxsize=256)
def _roots(label: str) -> frozenset[str]:
    """The words of an answer, without endings."""
    return frozenset(map(_root, _WORD.findall(label)))


def _root(word: str) -> str:
    """A word without the ending of its form: "denied" is "deny"."""
    return re.sub("y$", "i", root(word.lower()))


def _form(word: str, words: Collection[str]) -> bool:
    """Return True if a word is a form of one of some words."""
    return word in words or any(
        word[:shared] == other_word[:shared]
        for other_word in words
        for shared in (max(SHORTEST, math.ceil(FORM * min(len(word), len(other_word)))),)
    )
