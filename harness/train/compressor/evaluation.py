"""How well a critic finds the gold units of the groups that no weight has seen."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.core import Value
from harness.rag.compress.types import Critic, Query, Unit
from harness.train.compressor.examples import Example

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

BUDGETS = (0.05, 0.10, 0.20)
"""Shares of the characters of a document."""
RECALLS = (0.95, 0.98, 0.99)
DISTRACTORS = 4
MOST = {"nq_oracle": 60, "qed": 60, "wice_dev": 30, "qmsum_val": 8}
"""Held-out questions of each source, at most; a meeting has 15,000 tokens."""
SHORT = 20
"""Sentences below which a passage stands among others, as what was retrieved does."""


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
        found.extend(_stacked(example, short, rng) for example in drawn)
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


def _stacked(example: Example, short: Sequence[Example], rng: random.Random) -> Held:
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
