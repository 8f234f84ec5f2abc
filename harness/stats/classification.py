"""Measures of how well scores or labels tell two classes apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def auc(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Area under the ROC curve, by ranks (Hanley & McNeil 1982); 0.5 where one label is missing.

    Args:
        scores: (n,), higher for the label True.
        labels: (n,).
    """
    positive = int(labels.sum())
    negative = len(labels) - positive
    if not positive or not negative:
        return 0.5
    _, index, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]  # equal scores share their mean rank
    above = ranks[labels].sum() - positive * (positive + 1) / 2
    return float(above / (positive * negative))


def balanced_accuracy(predicted: NDArray[np.bool_], labels: NDArray[np.bool_]) -> float:
    """Mean of the recalls of both labels, each (n,); a label that is missing has recall 0 or 1."""
    positive = float(predicted[labels].mean()) if labels.any() else 0.0
    negative = float((~predicted[~labels]).mean()) if not labels.all() else 0.0
    return (positive + negative) / 2
