"""Fitting the fusion and its thresholds on groups that the critic was not trained on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.compress.critics.embedding import EmbeddingCritic
from harness.compress.critics.features import NAMES, features
from harness.compress.critics.lexical import LexicalCritic
from harness.compress.training.cloze import cloze_question
from harness.compress.training.examples import Example
from harness.compress.types import Critic, Query, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RECALLS = (0.9, 0.95, 0.98, 0.99)
DISTRACTORS = 4
PENALTIES = (0.003, 0.03, 0.3, 3.0)
"""Values of C of the logistic regression."""


@dataclass(frozen=True)
class Case:
    """One question over a document: its features, shape (units, features), and what is gold."""

    source: str
    matrix: Array
    gold: NDArray[np.bool_]
    sizes: Array


def documents_of(examples: Sequence[Example], seed: int = 41) -> list[tuple[Example, list[Unit]]]:
    """Held-out questions over documents: short passages among others, long ones as they are.

    Cloze questions over the same passages stand beside the real ones, as a source of their own.
    """
    rng = random.Random(seed)
    found: list[tuple[Example, list[Unit]]] = []
    short = [one for one in examples if len(one.passage.sentences) < 20]
    for example in examples:
        if len(example.passage.sentences) >= 20:
            found.append((example, _units([example])))
            continue
        others = rng.sample([one for one in short if one.passage.group != example.passage.group],
                            DISTRACTORS)  # fmt: skip
        stack = [example, *others]
        rng.shuffle(stack)
        found.append((example, _units(stack)))
        if made := _cloze(example, rng):
            found.append((made, _units([made if one is example else one for one in stack])))
    return found


def cases_of(documents: Sequence[tuple[Example, list[Unit]]], critic: Critic) -> list[Case]:
    """Features of every document, with `critic` as the trained one."""
    import numpy as np

    others: tuple[Critic, ...] = (EmbeddingCritic(), LexicalCritic())
    found: list[Case] = []
    for example, units in documents:
        query = Query("", example.query)
        scores = [
            np.asarray(one.score(query, units), dtype=np.float64) for one in (critic, *others)
        ]
        own = [unit.doc == _name(example) for unit in units]
        places = [sum(own[: at + 1]) - 1 if mine else -1 for at, mine in enumerate(own)]
        gold = np.asarray([place in example.gold for place in places])
        sizes = np.asarray([len(unit.text.split()) for unit in units], dtype=np.float64)
        found.append(Case(_source(example), features(units, *scores), gold, sizes))
    return found


def fit(cases: Sequence[Case]) -> dict[str, Any]:
    """Weights, bias and thresholds; the penalty is chosen leaving one source out at a time."""
    sources = sorted({case.source for case in cases})

    def left_out(penalty: float) -> float:
        gains: list[float] = []
        for source in sources:
            weights, _ = _logistic([one for one in cases if one.source != source], penalty)
            rest = [one for one in cases if one.source == source]
            gains.append(sum(recall_at(one, one.matrix @ weights, 0.1) for one in rest) / len(rest))
        return sum(gains) / len(gains)

    scored = {penalty: left_out(penalty) for penalty in PENALTIES}
    best = max(scored, key=lambda penalty: scored[penalty])
    weights, bias = _logistic(cases, best)
    return {
        "features": list(NAMES),
        "weights": [round(float(one), 6) for one in weights],
        "bias": round(bias, 6),
        "penalty": best,
        "left_one_source_out": {str(key): round(value, 4) for key, value in scored.items()},
        "cases": {source: sum(one.source == source for one in cases) for source in sources},
        "thresholds": _thresholds(cases, weights, bias),
    }


def recall_at(case: Case, scores: Array, budget: float) -> float:
    """Share of gold units among the best that fit into `budget` of the words."""
    import numpy as np

    left, kept = budget * case.sizes.sum(), np.zeros(len(scores), dtype=bool)
    for at in np.argsort(-scores, kind="stable"):
        if case.sizes[at] <= left:
            kept[at], left = True, left - case.sizes[at]
    return float((kept & case.gold).sum() / case.gold.sum())


def _logistic(cases: Sequence[Case], penalty: float) -> tuple[Array, float]:
    """Every source weighs the same, and in it every question."""
    import numpy as np

    counts: dict[str, int] = {}
    for case in cases:
        counts[case.source] = counts.get(case.source, 0) + 1
    weight = np.concatenate(
        [np.full(len(one.gold), 1 / (counts[one.source] * len(one.gold))) for one in cases]
    )
    rows = np.concatenate([one.matrix for one in cases])
    gold = np.concatenate([one.gold for one in cases])
    weight[gold] *= (weight[~gold].sum() / weight[gold].sum()) * 0.2
    model: Any = import_module("sklearn.linear_model").LogisticRegression(C=penalty, max_iter=2000)
    model.fit(rows, gold, sample_weight=weight * len(weight) / weight.sum())
    return np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0])


def _thresholds(cases: Sequence[Case], weights: Array, bias: float) -> dict[str, float]:
    """Recall -> the score that this share of the gold units reaches, the worst source counting."""
    import numpy as np

    found: dict[str, float] = {}
    for recall in RECALLS:
        lowest = [
            np.quantile(
                np.concatenate(
                    [(one.matrix @ weights + bias)[one.gold] for one in cases if one.source == name]
                ),
                1 - recall,
            )
            for name in sorted({one.source for one in cases})
        ]
        found[str(recall)] = round(float(min(lowest)), 4)
    return found


def _cloze(example: Example, rng: random.Random) -> Example | None:
    number = rng.randrange(len(example.passage.sentences))
    made = cloze_question(example.passage.sentences[number], rng)
    if made is None:
        return None
    return Example(made[0], example.passage, frozenset({number}), ("cloze", made[1]))


def _source(example: Example) -> str:
    return "cloze" if example.answers[:1] == ("cloze",) else example.passage.source


def _name(example: Example) -> str:
    return example.passage.group[:40]


def _units(examples: Sequence[Example]) -> list[Unit]:
    """The sentences of the passages; offsets count within each passage."""
    units: list[Unit] = []
    for example in examples:
        place = 0
        for text in example.passage.sentences:
            units.append(Unit(_name(example), place, place + len(text), text, "sentence"))
            place += len(text) + 1
    return units
