"""Fitting the coefficients of the learned fusion, and the margins of its recall targets.

The loss is the softmax cross-entropy of the gold units among all units of a document (ListNet,
Cao et al. 2007), sources weighing the same, with a quadratic penalty. What leaves a source out and
fits on the others chooses the penalty. A token critic is joined to the result in `joining`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core import BadInput
from harness.rag.compress import Critic
from harness.rag.compress.critics.features import NAMES, Scores, features
from harness.rag.retrieve import Encoder
from harness.train.compressor.evaluation import Asked, asked_of
from harness.train.compressor.examples import Example

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


RECALLS = (0.9, 0.95, 0.98, 0.99)
BUDGETS = (0.05, 0.1, 0.2)
PENALTIES = (0.01, 0.1, 0.3, 1.0, 3.0)
TALK = "qmsum"
"""Its gold are all turns of a stretch, "OK" among them: no margin is learned from it."""


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


Scored = tuple[Case, "Array"]
"""A case and the scores of its units."""


def cases_of(asked: Sequence[Asked], encoder: Encoder, critic: Critic | None) -> list[Case]:
    """Features of every question's units, with or without a trained critic."""
    import numpy as np

    found: list[Case] = []
    for one in asked:
        vectors = encoder.encode([one.query.text, *(unit.text for unit in one.units)])
        logits = None
        if critic is not None:
            logits = np.asarray(critic.score(one.query, one.units), dtype=np.float64)
        matrix = features(one.query.text, one.units, Scores(logits, vectors[0], vectors[1:]))
        gold = np.asarray([at in one.gold for at in range(len(one.units))])
        sizes = np.asarray([len(unit.text) for unit in one.units], dtype=np.float64)
        found.append(Case(one.source, matrix, gold, sizes, one.group))
    return found


def fit(cases: Sequence[Case], prior: Sequence[float] | None = None) -> dict[str, Any]:
    """Coefficients, margins, and how sources that were left out did.

    Args:
        cases: questions of at least two sources.
        prior: coefficients that the penalty draws towards; default: zero.
    """
    import numpy as np

    start = np.zeros(len(NAMES)) if prior is None else np.asarray(prior, dtype=np.float64)
    names = _sources(cases)
    tried = {p: {name: _scored(cases, name, start, p) for name in names} for p in PENALTIES}
    rows = {penalty: left_out(scored, start) for penalty, scored in tried.items()}
    means = {penalty: _mean_recall(rows[penalty]) for penalty in rows}
    best = max(means, key=lambda penalty: means[penalty])
    weights = coefficients(cases, start, best)
    return {
        "weights": [round(float(one), 5) for one in weights],
        "margins": margins(tried[best]),
        "penalty": best,
        "left_out": rows[best],
        "cases": {name: len(_of(cases, name)) for name in names},
    }


def coefficients(cases: Sequence[Case], prior: Array, penalty: float) -> Array:
    """Minimum of the loss, by L-BFGS."""
    import numpy as np

    counts = {name: len(_of(cases, name)) for name in _sources(cases)}
    sizes = [len(case.gold) for case in cases]
    starts = np.cumsum([0, *sizes[:-1]])
    matrix = np.concatenate([case.matrix for case in cases])
    wanted = np.concatenate([case.gold / case.gold.sum() for case in cases])
    shares = np.repeat([1 / (counts[case.source] * len(counts)) for case in cases], sizes)
    spread = matrix.std(axis=0) + 1e-3  # so that the penalty does not depend on a feature's scale

    def loss(weights: Array) -> tuple[float, Array]:
        logits = matrix @ weights
        logits -= np.repeat(np.maximum.reduceat(logits, starts), sizes)
        chance = np.exp(logits)
        totals = np.repeat(np.add.reduceat(chance, starts), sizes)
        away = (weights - prior) * spread
        value = penalty * float((away**2).sum())
        value -= float((shares * wanted * (logits - np.log(totals))).sum())
        gradient = matrix.T @ (shares * (chance / totals - wanted))
        return value, gradient + 2 * penalty * spread * away

    minimise: Any = import_module("scipy.optimize").minimize
    return np.asarray(minimise(loss, prior, jac=True, method="L-BFGS-B").x, dtype=np.float64)


def recall_at(case: Case, scores: Array, budget: float) -> float:
    """Share of the gold units among the best, which is always kept, and those that still fit."""
    import numpy as np

    order = np.argsort(-scores, kind="stable")
    kept = np.zeros(len(scores), dtype=bool)
    kept[order[0]] = True
    room = budget * float(case.sizes.sum()) - float(case.sizes[order[0]])
    for at in order[1:]:
        if case.sizes[at] <= room:
            kept[at], room = True, room - float(case.sizes[at])
    return float((kept & case.gold).sum() / case.gold.sum())


def left_out(
    scored: Mapping[str, Sequence[Scored]], prior: Array
) -> dict[str, dict[str, dict[str, float]]]:
    """Recall on each source, beside the fusion before and BM25 + embedding."""
    return {
        source: {
            f"{budget:.0%}": {
                "fused": _mean([recall_at(one, scores, budget) for one, scores in pairs]),
                "before": _mean([recall_at(one, one.matrix @ prior, budget) for one, _ in pairs]),
                "BM25 + embedding": _mean(
                    [recall_at(one, _plain(one), budget) for one, _ in pairs]
                ),
            }
            for budget in BUDGETS
        }
        for source, pairs in scored.items()
    }


def _scored(cases: Sequence[Case], source: str, prior: Array, penalty: float) -> list[Scored]:
    """The source's cases with scores by coefficients that were fitted without them.

    The features of talk are zero elsewhere, so that other sources say nothing about them: there
    one half of the meetings stands for the other.
    """
    pairs: list[Scored] = []
    for train, test in _folds(cases, source):
        weights = coefficients(train, prior, penalty)
        pairs += [(one, one.matrix @ weights) for one in test]
    return pairs


def _folds(cases: Sequence[Case], source: str) -> list[tuple[list[Case], list[Case]]]:
    """What is fitted on, and what is scored."""
    others = [one for one in cases if one.source != source]
    if source != TALK:
        return [(others, _of(cases, source))]
    groups = sorted({one.group for one in _of(cases, source)})
    halves = [
        [one for one in _of(cases, source) if groups.index(one.group) % 2 == half]
        for half in (0, 1)
    ]
    return [([*others, *halves[1 - half]], halves[half]) for half in (0, 1) if halves[half]]


def _plain(case: Case) -> Array:
    """BM25 and embedding, standardised and added."""
    mark = "talk: " if case.source == TALK else ""
    lexical, embedding = NAMES.index(f"{mark}lexical"), NAMES.index(f"{mark}embedding")
    return case.matrix[:, lexical] + case.matrix[:, embedding]


def _mean_recall(rows: dict[str, dict[str, dict[str, float]]]) -> float:
    return _mean([value["fused"] for budgets in rows.values() for value in budgets.values()])


def margins(scored: Mapping[str, Sequence[Scored]]) -> dict[str, float]:
    """Recall -> how far below the best score that share of the gold units lies, at most.

    Scores are those of the left-out fits: on what it was fitted to, a fusion is too sure.
    """
    import numpy as np

    below = [
        np.concatenate([scores.max() - scores[one.gold] for one, scores in pairs])
        for name, pairs in scored.items()
        if name != TALK
    ]
    return {
        str(recall): round(float(np.mean([np.quantile(one, recall) for one in below])), 4)
        for recall in RECALLS
    }


def _sources(cases: Sequence[Case]) -> list[str]:
    return sorted({case.source for case in cases})


def _of(cases: Sequence[Case], source: str) -> list[Case]:
    return [case for case in cases if case.source == source]


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


SIZES = {"nq": 100, "nq long": 12, "qed": 80, "wice": 24, "qmsum": 0}
"""Held-out questions of each source, at most: the critic reads a document anew for each."""
SEED = 43
START, PULL = 0.7, 0.3
"""Share of the critic's log-odds to begin with, and weight of the penalty: by left-out sources."""
WITHOUT, WITH, REFUSED = "without critic", "with critic", "critic that did not help"


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
    held = [one for one in examples if one.passage.held_out]
    return joined_by(facts, cases_of(asked_of(held, SEED, SIZES), encoder, critic))


def joined_by(facts: dict[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """The same from cases whose features are known.

    Raises:
        BadInput: if they are all of one source, or of talk.
    """
    import numpy as np

    read = [one for one in cases if one.source != TALK]
    sources = sorted({one.source for one in read})
    if len({_family(name) for name in sources}) < 2:
        raise BadInput(f"expected held-out questions of two sources, found {sources!r}")
    base = np.asarray(facts[WITHOUT]["weights"], dtype=np.float64)
    start = scaled(base, START)
    scored: dict[str, list[Scored]] = {}
    for name in sources:
        others = [one for one in read if _family(one.source) != _family(name)]
        weights = coefficients(others, start, PULL)
        scored[name] = [(one, one.matrix @ weights) for one in read if one.source == name]
    rows = left_out(scored, base)
    gains = [row["fused"] - row["before"] for budgets in rows.values() for row in budgets.values()]
    fitted = {
        "weights": [round(float(one), 5) for one in coefficients(read, start, PULL)],
        "margins": margins(scored),
        "left_out": rows,
        "cases": {name: len(pairs) for name, pairs in scored.items()},
    }
    kept = {key: value for key, value in facts.items() if key not in (WITH, REFUSED)}
    return {**kept, WITH if sum(gains) > 0 else REFUSED: fitted}


def scaled(base: Array, scale: float) -> Array:
    """Coefficients with the critic's logit added, times `scale`."""
    weights = base.copy()
    weights[NAMES.index("critic logit")] += scale
    return weights


def read_facts(folder: Path) -> dict[str, Any]:
    """The facts of the fusion in `folder`."""
    return json.loads((folder / "fusion.json").read_text(encoding="utf-8"))


def _family(source: str) -> str:
    """Stacks of few and of many passages hold the same questions."""
    return source.split(" ")[0]
