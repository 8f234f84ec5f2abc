"""The coefficients of the learned fusion without a token critic, as they ship.

The loss is that of `lab.training.compressor.fusion`. A penalty is chosen by leaving out one source
and fitting on the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from harness.rag.compress.critics.features import NAMES
from lab.training.compressor.fusion import (
    TALK,
    Array,
    Case,
    Scored,
    coefficients,
    left_out,
    margins,
)

PENALTIES = (0.01, 0.1, 0.3, 1.0, 3.0)


def fit(cases: Sequence[Case], prior: Sequence[float] | None = None) -> dict[str, Any]:
    """Coefficients, margins, and how sources that were left out did.

    Args:
        cases: questions of at least two sources.
        prior: coefficients that the penalty draws towards; default: zero.
    """
    start = np.zeros(len(NAMES)) if prior is None else np.asarray(prior, dtype=np.float64)
    counts = Counter(case.source for case in cases)
    names = sorted(counts)
    tried = {p: {name: _scored(cases, name, start, p) for name in names} for p in PENALTIES}
    rows = {penalty: left_out(scored, start) for penalty, scored in tried.items()}
    means = {
        penalty: round(
            fmean(value["fused"] for budgets in table.values() for value in budgets.values()), 4
        )
        for penalty, table in rows.items()
    }
    best = max(means, key=lambda penalty: means[penalty])
    return {
        "weights": [round(float(weight), 5) for weight in coefficients(cases, start, best)],
        "margins": margins(tried[best]),
        "penalty": best,
        "left_out": rows[best],
        "cases": {name: counts[name] for name in names},
    }


def _scored(cases: Sequence[Case], source: str, prior: Array, penalty: float) -> list[Scored]:
    """The source's cases with scores by coefficients that were fitted without them.

    The features of talk are zero elsewhere, so that other sources say nothing about them: there
    one half of the meetings stands for the other.
    """
    own = [case for case in cases if case.source == source]
    foreign = [case for case in cases if case.source != source]
    folds = [(foreign, own)]
    if source == TALK:
        groups = sorted({case.group for case in own})
        halves = [[case for case in own if groups.index(case.group) % 2 == h] for h in (0, 1)]
        folds = [([*foreign, *halves[1 - h]], halves[h]) for h in (0, 1) if halves[h]]
    pairs: list[Scored] = []
    for train, test in folds:
        weights = coefficients(train, prior, penalty)
        pairs += [(case, case.matrix @ weights) for case in test]
    return pairs
