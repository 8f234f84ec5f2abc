"""Questions over documents as a critic meets them, and how well it finds their gold units.

A short passage is stacked with others, once as five documents (as retrieval hands them over) and
once as one long text of paragraphs; web pages and meetings stand as they are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from harness.core import Value
from harness.rag.compress import Critic, Query, Unit
from lab.training.compressor.examples import Example

T = TypeVar("T")
SHORT = 20  # sentences below which a passage is stacked, as what was retrieved is
# Other passages in a stack, few or many, and how many there are to choose from.
FEW, MANY, POOL = 4, 40, 300
# Questions of each source for the fusion, at most: enough for a fit of thirty coefficients.
SIZES = {"nq": 250, "nq long": 150, "qed": 200, "wice": 90, "qmsum": 120}
# Held-out questions of each source, at most; a meeting has 15,000 tokens.
MOST = {"nq_oracle": 60, "qed": 60, "wice_dev": 30, "qmsum_val": 8}
BUDGETS = (0.05, 0.10, 0.20)  # shares of the characters of a document
RECALLS = (0.95, 0.98, 0.99)


@dataclass(frozen=True)
class Question:
    """A question over units.

    Attributes:
        source: of the question; a stack of many passages is a source of its own.
        group: of its passage.
        gold: places of the units that answer.
    """

    source: str
    group: str
    query: Query
    units: tuple[Unit, ...]
    gold: frozenset[int]


class Measured(Value):
    """Measures of one critic over held-out questions.

    Attributes:
        questions: source -> how many.
        recall: source -> budget -> share of the questions with a gold unit among what is kept.
        thresholds: recall -> score that this share of the gold units reaches, in the source where
            it is hardest; empty where no question is held out.
    """

    questions: dict[str, int]
    recall: dict[str, dict[str, float]]
    thresholds: dict[str, float]

    @property
    def mean(self) -> float:
        """Mean recall over sources and budgets: every source counts the same."""
        values = [value for budgets in self.recall.values() for value in budgets.values()]
        return sum(values) / len(values) if values else 0.0


def stacked_questions(
    examples: Sequence[Example], seed: int = 41, sizes: Mapping[str, int] = SIZES
) -> list[Question]:
    """Questions over documents, the same ones for the same seed; no negative holds an answer.

    Args:
        examples: of all sources.
        seed: of the draw and of the distractors.
        sizes: source -> questions, at most.
    """
    rng = random.Random(seed)
    questions: list[Question] = []
    for source, label, count in (
        ("nq_oracle", "nq", FEW),
        ("nq_oracle", "nq long", MANY),
        ("qed", "qed", FEW),
    ):
        short = [
            example
            for example in examples
            if example.passage.source == source and len(example.passage.sentences) < SHORT
        ]
        drawn = rng.sample(short, min(sizes[label], len(short)))
        # A pool of few passages is encoded once.
        near = rng.sample(short, min(POOL, len(short)))
        questions += [_stacked(label, example, near, count, rng) for example in drawn]
    for source, label in (("wice_dev", "wice"), ("qmsum_val", "qmsum")):
        groups: dict[str, list[Example]] = {}
        for example in examples:
            if example.passage.source == source:
                groups.setdefault(example.passage.group, []).append(example)
        for example in in_turn(groups, rng)[: sizes[label]]:
            questions.append(_question(label, example, [example], joined=True))
    return questions


def held_questions(examples: Sequence[Example], seed: int) -> list[Question]:
    """At most :data:`MOST` questions of each source, drawn with a seed.

    Args:
        examples: all; those whose passage is held out are used.
        seed: of the draw and of the distractors.
    """
    rng = random.Random(f"held-{seed}")
    held_out = [example for example in examples if example.passage.held_out]
    short = [example for example in held_out if len(example.passage.sentences) < SHORT]
    questions: list[Question] = []
    for source in sorted({example.passage.source for example in held_out}):
        own = [example for example in held_out if example.passage.source == source]
        for example in rng.sample(own, min(MOST[source], len(own))):
            stack = [example]
            if len(example.passage.sentences) < SHORT:
                group = example.passage.group
                distractors = [member for member in short if member.passage.group != group]
                stack += rng.sample(distractors, min(FEW, len(distractors)))
                rng.shuffle(stack)
            questions.append(_question(source, example, stack, joined=False))
    return questions


def measure(critic: Critic, questions: Sequence[Question]) -> Measured:
    """Recall at every budget, and thresholds."""
    hits: dict[str, dict[str, list[float]]] = {}
    golden: dict[str, list[float]] = {}
    for question in questions:
        scores = np.asarray(critic.score(question.query, question.units), dtype=np.float64)
        golden.setdefault(question.source, []).extend(float(scores[n]) for n in question.gold)
        lengths = [len(unit.text) for unit in question.units]
        by_budget = hits.setdefault(question.source, {})
        for budget in BUDGETS:
            hit = bool(kept_within(scores, lengths, budget) & question.gold)
            by_budget.setdefault(f"{budget:.0%}", []).append(float(hit))
    return Measured(
        questions={source: len(next(iter(values.values()))) for source, values in hits.items()},
        recall={
            source: {budget: round(sum(row) / len(row), 4) for budget, row in values.items()}
            for source, values in hits.items()
        },
        thresholds={
            str(recall): round(
                min(float(np.quantile(scores, 1 - recall)) for scores in golden.values()), 4
            )
            for recall in RECALLS
            if golden
        },
    )


def kept_within(scores: NDArray[np.float64], lengths: Sequence[float], budget: float) -> set[int]:
    """Places of the best units that fit into `budget` of the length; never none."""
    room = budget * sum(lengths)
    chosen: set[int] = set()
    for place in map(int, np.argsort(-scores, kind="stable")):
        if lengths[place] <= room or not chosen:
            chosen.add(place)
            room -= lengths[place]
    return chosen


def in_turn(groups: Mapping[str, Sequence[T]], rng: random.Random) -> list[T]:
    """Members of all groups: the first of each, groups in random order, then every second …"""
    names = sorted(groups)
    rng.shuffle(names)
    deepest = max(map(len, groups.values()), default=0)
    return [
        groups[name][depth]
        for depth in range(deepest)
        for name in names
        if depth < len(groups[name])
    ]


def units_of(passages: Sequence[Sequence[str]], *, joined: bool) -> list[Unit]:
    """Units of passages, each a document of its own or a paragraph of one."""
    units: list[Unit] = []
    place = 0
    for number, sentences in enumerate(passages):
        if not joined:
            place = 0
        for text in sentences:
            doc = "text" if joined else f"passage {number}"
            units.append(Unit(doc, place, place + len(text), text, "sentence"))
            place += len(text) + 1
        place += 1
    return units


def _stacked(
    label: str, example: Example, pool: Sequence[Example], count: int, rng: random.Random
) -> Question:
    """The passage among `count` others in random order; one document if there are many."""
    answers = [answer.casefold() for answer in example.answers if answer]
    stack = [example]
    for candidate in rng.sample(pool, len(pool)):
        text = " ".join(candidate.passage.sentences).casefold()
        same_group = candidate.passage.group == example.passage.group
        if not same_group and not any(answer in text for answer in answers):
            stack.append(candidate)
        if len(stack) > count:
            break
    rng.shuffle(stack)
    return _question(label, example, stack, joined=count == MANY)


def _question(source: str, example: Example, stack: Sequence[Example], *, joined: bool) -> Question:
    """The example's question over the passages of a stack, its own among them."""
    index = next(number for number, member in enumerate(stack) if member is example)
    before = sum(len(member.passage.sentences) for member in stack[:index])
    units = units_of([member.passage.sentences for member in stack], joined=joined)
    gold = frozenset(before + place for place in example.gold)
    return Question(source, example.passage.group, Query("", example.query), tuple(units), gold)
