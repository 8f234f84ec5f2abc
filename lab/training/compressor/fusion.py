"""Joins a trained critic to the learned fusion, on held-out groups.

The fusion without it and the critic both give log-odds of a unit; a share of the critic's is added.
From there all coefficients are fitted once more, a penalty drawing them back. Fitted from nothing
they were worse on sources that were left out: a few hundred questions are too few for that.

The loss is the softmax cross-entropy of the gold units among all units of a document (ListNet,
Cao et al. 2007), sources weighing the same, with a quadratic penalty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.rag.compress import Critic
from harness.rag.compress.critics.features import NAMES, Scores, features
from harness.rag.retrieve import Encoder
from lab.training.compressor.evaluation import Question, kept_within, stacked_questions
from lab.training.compressor.examples import Example

Array = NDArray[np.float64]
RECALLS = (0.9, 0.95, 0.98, 0.99)
BUDGETS = (0.05, 0.1, 0.2)
# Gold of meetings are all turns of a stretch, "OK" among them: no margin is learned from them.
TALK = "qmsum"
# Held-out questions of each source, at most: the critic reads a document anew for each.
SIZES = {"nq": 100, "nq long": 12, "qed": 80, "wice": 24, "qmsum": 0}
SEED = 43
# Share of the critic's log-odds to begin with, and weight of the penalty: by left-out sources.
START, PULL = 0.7, 0.3
WITHOUT, WITH, REFUSED = "without critic", "with critic", "critic that did not help"


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


def cases_of(questions: Sequence[Question], encoder: Encoder, critic: Critic | None) -> list[Case]:
    """Features of every question's units, with or without a trained critic."""
    cases: list[Case] = []
    for question in questions:
        units, text = question.units, question.query.text
        vectors = encoder.encode([text, *(unit.text for unit in units)])
        logits = None
        if critic is not None:
            logits = np.asarray(critic.score(question.query, units), dtype=np.float64)
        matrix = features(text, units, Scores(logits, vectors[0], vectors[1:]))
        gold = np.asarray([place in question.gold for place in range(len(units))])
        sizes = np.asarray([len(unit.text) for unit in units], dtype=np.float64)
        cases.append(Case(question.source, matrix, gold, sizes, question.group))
    return cases


def joined(
    facts: dict[str, Any], critic: Critic, encoder: Encoder, examples: Sequence[Example]
) -> dict[str, Any]:
    """The facts of a fusion, with coefficients for this critic if it helps.

    Whether it helps is asked of each source with coefficients that were fitted on the others; those
    without it were fitted on all groups, these too, so that the comparison favours doing without.
    Talk is left as it is: there every turn would have to be read, and averages over many turns tell
    more than any critic of single ones.

    Args:
        facts: of `fusion.json`, with coefficients without a critic.
        critic: was trained on none of the held-out groups.
        encoder: of the fusion.
        examples: all; those held out are used.

    Raises:
        BadInput: if the coefficients are of other features.
    """
    if tuple(facts["features"]) != NAMES:
        raise BadInput(f"expected a fusion of the features {NAMES}, found {facts['features']!r}")
    held_out = [example for example in examples if example.passage.held_out]
    return joined_by(facts, cases_of(stacked_questions(held_out, SEED, SIZES), encoder, critic))


def joined_by(facts: dict[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """Fit the fusion on cases whose features are known.

    Raises:
        BadInput: if they are all of one source, or of talk.
    """

    def family(source: str) -> str:
        """Stacks of few and of many passages hold the same questions."""
        return source.split(" ")[0]

    read = [case for case in cases if case.source != TALK]
    sources = sorted({case.source for case in read})
    if len(set(map(family, sources))) < 2:
        raise BadInput(f"expected held-out questions of two sources, found {sources!r}")
    base = np.asarray(facts[WITHOUT]["weights"], dtype=np.float64)
    start = base.copy()
    start[NAMES.index("critic logit")] += START
    scored: dict[str, list[Scored]] = {}
    for name in sources:
        unlike = [case for case in read if family(case.source) != family(name)]
        weights = coefficients(unlike, start, PULL)
        scored[name] = [(case, case.matrix @ weights) for case in read if case.source == name]
    rows = left_out(scored, base)
    gains = [row["fused"] - row["before"] for budgets in rows.values() for row in budgets.values()]
    fitted = {
        "weights": [round(float(weight), 5) for weight in coefficients(read, start, PULL)],
        "margins": margins(scored),
        "left_out": rows,
        "cases": {name: len(pairs) for name, pairs in scored.items()},
    }
    unchanged = {key: value for key, value in facts.items() if key not in (WITH, REFUSED)}
    return {**unchanged, WITH if sum(gains) > 0 else REFUSED: fitted}


def coefficients(cases: Sequence[Case], prior: Array, penalty: float) -> Array:
    """Minimum of the loss: every source weighs the same, a penalty draws towards `prior`."""
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
        away = (weights - prior) * spread
        value = penalty * float((away**2).sum())
        value -= float((shares * target * (logits - np.log(totals))).sum())
        gradient = matrix.T @ (shares * (chance / totals - target))
        return value, gradient + 2 * penalty * spread * away

    minimise: Any = import_module("scipy.optimize").minimize
    return np.asarray(minimise(loss, prior, jac=True, method="L-BFGS-B").x, dtype=np.float64)


def recall_at(case: Case, scores: Array, budget: float) -> float:
    """Share of the gold units among the best, which is always kept, and those that still fit."""
    chosen = kept_within(scores, case.sizes.tolist(), budget)
    return float(case.gold[list(chosen)].sum() / case.gold.sum())


def left_out(
    scored: Mapping[str, Sequence[Scored]], prior: Array
) -> dict[str, dict[str, dict[str, float]]]:
    """Recall on each source, beside the fusion before and BM25 + embedding."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for source, pairs in scored.items():
        mark = "talk: " if source == TALK else ""
        lexical, embedding = (NAMES.index(f"{mark}{name}") for name in ("lexical", "embedding"))
        arms = {
            "fused": pairs,
            "before": [(case, case.matrix @ prior) for case, _ in pairs],
            "BM25 + embedding": [
                (case, case.matrix[:, lexical] + case.matrix[:, embedding]) for case, _ in pairs
            ],
        }
        rows[source] = {
            f"{budget:.0%}": {
                arm: round(fmean(recall_at(*pair, budget) for pair in scored_pairs), 4)
                for arm, scored_pairs in arms.items()
            }
            for budget in BUDGETS
        }
    return rows


def margins(scored: Mapping[str, Sequence[Scored]]) -> dict[str, float]:
    """Recall -> how far below the best score that share of the gold units lies, at most.

    Scores are those of the left-out fits: on what it was fitted to, a fusion is too sure.
    """
    below = [
        np.concatenate([scores.max() - scores[case.gold] for case, scores in pairs])
        for name, pairs in scored.items()
        if name != TALK
    ]
    return {
        str(recall): round(float(np.mean([np.quantile(gaps, recall) for gaps in below])), 4)
        for recall in RECALLS
    }
