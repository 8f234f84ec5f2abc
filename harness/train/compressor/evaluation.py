"""Training questions over documents as a critic meets them: among other passages, or in long text.

A short passage is stacked with others, once as five documents (as retrieval hands them over) and
once as one long text of paragraphs; web pages and meetings stand as they are.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from harness.core import Value
from harness.rag.compress import Critic, Query, Unit
from harness.train.compressor.examples import Example

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]


T = TypeVar("T")
SHORT = 20
"""Sentences below which a passage is stacked."""
FEW, MANY, POOL = 4, 40, 300
"""Other passages in a stack, few or many, and how many there are to choose from."""
SIZES = {"nq": 250, "nq long": 150, "qed": 200, "wice": 90, "qmsum": 120}
"""Questions of each source, at most: what a fit of thirty coefficients needs."""


@dataclass(frozen=True)
class Asked:
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


def asked_of(
    examples: Sequence[Example], seed: int = 41, sizes: Mapping[str, int] = SIZES
) -> list[Asked]:
    """Questions over documents, the same ones for the same seed; no negative holds an answer.

    Args:
        examples: of all sources.
        seed: of the draw and of the distractors.
        sizes: source -> questions, at most.
    """
    rng = random.Random(seed)
    found: list[Asked] = []
    for source, label, others in (
        ("nq_oracle", "nq", FEW),
        ("nq_oracle", "nq long", MANY),
        ("qed", "qed", FEW),
    ):
        pool = [one for one in examples if one.passage.source == source]
        short = [one for one in pool if len(one.passage.sentences) < SHORT]
        drawn = rng.sample(short, min(sizes[label], len(short)))
        # A pool of few passages is encoded once.
        near = rng.sample(short, min(POOL, len(short)))
        found += [_stacked(label, one, near, others, rng) for one in drawn]
    for source, label in (("wice_dev", "wice"), ("qmsum_val", "qmsum")):
        own = [one for one in examples if one.passage.source == source]
        found += _whole(label, own, sizes[label], rng)
    return found


def _stacked(
    label: str, example: Example, pool: Sequence[Example], count: int, rng: random.Random
) -> Asked:
    """The passage among `count` others in random order; one document if there are many."""
    answers = [one.casefold() for one in example.answers if one]
    order = rng.sample(pool, len(pool))
    others: list[Example] = []
    for one in order:
        text = " ".join(one.passage.sentences).casefold()
        if one.passage.group != example.passage.group and not any(a in text for a in answers):
            others.append(one)
        if len(others) == count:
            break
    stack = [example, *others]
    rng.shuffle(stack)
    before = sum(len(one.passage.sentences) for one in stack[: stack.index(example)])
    units = units_of([one.passage.sentences for one in stack], joined=count == MANY)
    gold = frozenset(before + at for at in example.gold)
    return Asked(label, example.passage.group, Query("", example.query), tuple(units), gold)


def _whole(label: str, examples: Sequence[Example], count: int, rng: random.Random) -> list[Asked]:
    """Questions over whole documents, drawn in turn from every document."""
    groups: dict[str, list[Example]] = {}
    for one in examples:
        groups.setdefault(one.passage.group, []).append(one)
    ordered = in_turn(groups, rng)[:count]
    return [
        Asked(label, one.passage.group, Query("", one.query),
              tuple(units_of([one.passage.sentences], joined=True)), one.gold)
        for one in ordered
    ]  # fmt: skip


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


BUDGETS = (0.05, 0.10, 0.20)
"""Shares of the characters of a document."""
RECALLS = (0.95, 0.98, 0.99)
DISTRACTORS = 4
MOST = {"nq_oracle": 60, "qed": 60, "wice_dev": 30, "qmsum_val": 8}
"""Held-out questions of each source, at most; a meeting has 15,000 tokens."""


class Measured(Value):
    """Of one critic over held-out questions.

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


class Held(Value):
    """A held-out question over its document, or over passages with its own among them."""

    source: str
    query: str
    units: tuple[Unit, ...]
    gold: frozenset[int]


def held_questions(examples: Sequence[Example], seed: int) -> list[Held]:
    """At most :data:`MOST` questions of each source, drawn with a seed.

    Args:
        examples: all; those whose passage is held out are used.
        seed: of the draw and of the distractors.
    """
    rng = random.Random(f"held-{seed}")
    held = [one for one in examples if one.passage.held_out]
    short = [one for one in held if len(one.passage.sentences) < SHORT]
    found: list[Held] = []
    for source in sorted({one.passage.source for one in held}):
        own = [one for one in held if one.passage.source == source]
        drawn = rng.sample(own, min(MOST[source], len(own)))
        found.extend(_held(example, short, rng) for example in drawn)
    return found


def measure(critic: Critic, questions: Sequence[Held]) -> Measured:
    """Recall at every budget, and thresholds."""
    import numpy as np

    hits: dict[str, dict[str, list[float]]] = {}
    golden: dict[str, list[float]] = {}
    for one in questions:
        scores = np.asarray(critic.score(Query("", one.query), one.units), dtype=np.float64)
        golden.setdefault(one.source, []).extend(float(scores[at]) for at in one.gold)
        for budget in BUDGETS:
            kept = kept_within(scores, [len(unit.text) for unit in one.units], budget)
            by_budget = hits.setdefault(one.source, {})
            by_budget.setdefault(f"{budget:.0%}", []).append(float(bool(kept & one.gold)))
    return Measured(
        questions={source: len(next(iter(values.values()))) for source, values in hits.items()},
        recall={
            source: {budget: round(sum(found) / len(found), 4) for budget, found in values.items()}
            for source, values in hits.items()
        },
        thresholds=_thresholds(golden),
    )


def kept_within(scores: Scores, lengths: Sequence[int], budget: float) -> set[int]:
    """Places of the best units that fit into `budget` of the length; never none."""
    import numpy as np

    left = budget * sum(lengths)
    kept: set[int] = set()
    for place in np.argsort(-scores, kind="stable"):
        at = int(place)
        if lengths[at] <= left or not kept:
            kept.add(at)
            left -= lengths[at]
    return kept


def _thresholds(golden: dict[str, list[float]]) -> dict[str, float]:
    import numpy as np

    return {
        str(recall): round(
            min(float(np.quantile(scores, 1 - recall)) for scores in golden.values()), 4
        )
        for recall in RECALLS
        if golden
    }


def _held(example: Example, short: Sequence[Example], rng: random.Random) -> Held:
    stack = [example]
    if len(example.passage.sentences) < SHORT:
        others = [one for one in short if one.passage.group != example.passage.group]
        stack += rng.sample(others, min(DISTRACTORS, len(others)))
        rng.shuffle(stack)
    units: list[Unit] = []
    gold: set[int] = set()
    for number, one in enumerate(stack):
        place = 0
        for at, text in enumerate(one.passage.sentences):
            if one is example and at in one.gold:
                gold.add(len(units))
            units.append(Unit(str(number), place, place + len(text), text, "sentence"))
            place += len(text) + 1
    return Held(
        source=example.passage.source, query=example.query, units=tuple(units), gold=frozenset(gold)
    )
