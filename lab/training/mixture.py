"""The coefficients of the fitted critic: how the features of a unit are weighted.

    python -m lab.training.mixture FOLDER > harness/rag/compress/critics/mixture.json

FOLDER holds labelled extracts (`lab/training/questions.py`). The loss is the softmax cross-entropy
of the gold units among all units of a document (ListNet, Cao et al. 2007), sources weighing the
same, with a quadratic penalty, chosen by leaving out one source and fitting on the others.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.rag.compress.critics.features import NAMES, features
from harness.rag.retrieve import Encoder, open_encoder
from lab.training.questions import Question, read_examples, stacked_questions

Array = NDArray[np.float64]
PENALTIES = (0.01, 0.1, 0.3, 1.0, 3.0)
BUDGETS = (0.05, 0.1, 0.2)
# Gold of meetings are all turns of a stretch, "OK" among them: no margin is learned from them.
TALK = "qmsum"


@dataclass(frozen=True)
class Case:
    """One question over a document: its features, shape (units, features), and what is gold.

    Attributes:
        source: where the question comes from.
        sizes: characters of each unit.
        group: what must not lie on both sides of a cross-validation.
    """

    source: str
    matrix: Array
    gold: NDArray[np.bool_]
    sizes: Array
    group: str = ""


Scored = tuple[Case, Array]  # a case and the scores of its units


def case_of(question: Question, encoder: Encoder) -> Case:
    """Features of the question's units."""
    vectors = encoder.encode([question.query.text, *(unit.text for unit in question.units)])
    return Case(
        question.source,
        features(question.query.text, question.units, vectors[0], vectors[1:]),
        np.asarray([index in question.gold for index in range(len(question.units))]),
        np.asarray([len(unit.text) for unit in question.units], dtype=np.float64),
        question.group,
    )


def fit(cases: Sequence[Case]) -> dict[str, Any]:
    """Coefficients, and how sources that were left out did.

    Args:
        cases: questions of at least two sources.
    """
    counts = Counter(case.source for case in cases)
    names = sorted(counts)
    tried = {p: {name: _scored(cases, name, p) for name in names} for p in PENALTIES}
    rows = {penalty: left_out(scored) for penalty, scored in tried.items()}
    means = {
        penalty: round(
            fmean(value["fitted"] for budgets in table.values() for value in budgets.values()), 4
        )
        for penalty, table in rows.items()
    }
    best = max(means, key=lambda penalty: means[penalty])
    return {
        "features": list(NAMES),
        "weights": [round(float(weight), 5) for weight in coefficients(cases, best)],
        "penalty": best,
        "left_out": rows[best],
        "cases": {name: counts[name] for name in names},
    }


def _scored(cases: Sequence[Case], source: str, penalty: float) -> list[Scored]:
    """The source's cases with scores by coefficients that were fitted without them.

    The features of talk are zero elsewhere, so that other sources say nothing about them: there
    one half of the meetings stands for the other.
    """
    of_source = [case for case in cases if case.source == source]
    foreign = [case for case in cases if case.source != source]
    folds = [(foreign, of_source)]
    if source == TALK:
        groups = sorted({case.group for case in of_source})
        halves = [[case for case in of_source if groups.index(case.group) % 2 == h] for h in (0, 1)]
        folds = [([*foreign, *halves[1 - h]], halves[h]) for h in (0, 1) if halves[h]]
    pairs: list[Scored] = []
    for train, test in folds:
        weights = coefficients(train, penalty)
        pairs += [(case, case.matrix @ weights) for case in test]
    return pairs


def coefficients(cases: Sequence[Case], penalty: float) -> Array:
    """Minimum of the loss: every source weighs the same, a penalty draws towards zero."""
    counts = Counter(case.source for case in cases)
    sizes = [len(case.gold) for case in cases]
    starts = np.cumsum([0, *sizes[:-1]])
    matrix = np.concatenate([case.matrix for case in cases])
    target = np.concatenate([case.gold / case.gold.sum() for case in cases])
    shares = np.repeat([1 / (counts[case.source] * len(counts)) for case in cases], sizes)
    spread = matrix.std(axis=0) + 1e-3  # so that the penalty does not depend on a feature's scale

    def loss(weights: Array) -> tuple[float, Array]:
        logits = matrix @ weights
        logits -= np.repeat(np.maximum.reduceat(logits, starts), sizes)
        chance = np.exp(logits)
        totals = np.repeat(np.add.reduceat(chance, starts), sizes)
        away = weights * spread
        value = penalty * float((away**2).sum())
        value -= float((shares * target * (logits - np.log(totals))).sum())
        gradient = matrix.T @ (shares * (chance / totals - target))
        return value, gradient + 2 * penalty * spread * away

    minimise: Any = import_module("scipy.optimize").minimize
    start = np.zeros(matrix.shape[1])
    return np.asarray(minimise(loss, start, jac=True, method="L-BFGS-B").x, dtype=np.float64)


def recall_at(case: Case, scores: Array, budget: float) -> float:
    """Share of the gold units among the best, which is always kept, and those that still fit."""
    room = budget * case.sizes.sum()
    kept_units: list[int] = []
    for index in map(int, np.argsort(-scores, kind="stable")):
        if case.sizes[index] <= room or not kept_units:
            kept_units.append(index)
            room -= case.sizes[index]
    return float(case.gold[kept_units].sum() / case.gold.sum())


def left_out(scored: Mapping[str, Sequence[Scored]]) -> dict[str, dict[str, dict[str, float]]]:
    """Recall on each source, beside BM25 + embedding."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for source, pairs in scored.items():
        mark = "talk: " if source == TALK else ""
        lexical, embedding = (NAMES.index(f"{mark}{name}") for name in ("lexical", "embedding"))
        ways = {
            "fitted": pairs,
            "BM25 + embedding": [
                (case, case.matrix[:, lexical] + case.matrix[:, embedding]) for case, _ in pairs
            ],
        }
        rows[source] = {
            f"{budget:.0%}": {
                way: round(fmean(recall_at(*pair, budget) for pair in scored_pairs), 4)
                for way, scored_pairs in ways.items()
            }
            for budget in BUDGETS
        }
    return rows


def main(folder: Path) -> None:
    """Fit on the extracts of a folder, and print the file that ships."""
    encoder = open_encoder("encoder")
    cases = [case_of(question, encoder) for question in stacked_questions(read_examples(folder))]
    print(json.dumps(fit(cases), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
