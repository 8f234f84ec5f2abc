"""Fits the classifier: logistic regression, its strength chosen by folds over sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.rag.check.verify import Classifier
from harness.stats import auc, balanced_accuracy
from harness.train.verifier.features import Featured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STRENGTHS = (0.001, 0.01, 0.03)
"""Inverse weights of the penalty that are tried."""
FOLDS = 5


@dataclass(frozen=True)
class Rows:
    """Claims as arrays.

    Attributes:
        features: (n, names).
        supported: (n,), bool.
        sources: (n,), the documents.
        sets: (n,), names of the sets.
    """

    features: Floats
    supported: NDArray[np.bool_]
    sources: NDArray[np.str_]
    sets: NDArray[np.str_]

    def __getitem__(self, chosen: Any) -> Rows:
        return Rows(
            self.features[chosen], self.supported[chosen], self.sources[chosen], self.sets[chosen]
        )


def as_rows(found: Sequence[Featured], names: Sequence[str]) -> Rows:
    """Arrays of claims."""
    import numpy as np

    return Rows(
        np.array([[one.features[name] for name in names] for one in found], np.float64),
        np.array([one.claim.supported for one in found], bool),
        np.array([one.claim.document for one in found]),
        np.array([one.claim.name for one in found]),
    )


def balanced(rows: Rows) -> Floats:
    """Weights by which every set counts the same, and within a set both labels."""
    import numpy as np

    weights = np.zeros(len(rows.supported))
    for name in np.unique(rows.sets):
        for label in (True, False):
            chosen = (rows.sets == name) & (rows.supported == label)
            weights[chosen] = 1 / max(1, int(chosen.sum()))
    return weights / weights.mean()


def fit(rows: Rows, strength: float) -> Any:
    """A pipeline of scikit-learn: standardised features, logistic regression."""
    pipeline = import_module("sklearn.pipeline").make_pipeline(
        import_module("sklearn.preprocessing").StandardScaler(),
        import_module("sklearn.linear_model").LogisticRegression(
            C=strength, solver="newton-cholesky"
        ),
    )
    weights = balanced(rows)
    return pipeline.fit(rows.features, rows.supported, logisticregression__sample_weight=weights)


def cross_fitted(rows: Rows, strength: float, extra: Rows | None = None) -> Floats:
    """Probability of every row by a model that saw no row of its source.

    Args:
        rows: to score.
        strength: inverse weight of the penalty.
        extra: rows that every model is trained on as well.
    """
    import numpy as np

    scores = np.zeros(len(rows.supported))
    folds = min(FOLDS, len(np.unique(rows.sources)))
    splitter = import_module("sklearn.model_selection").GroupKFold(folds)
    for inside, outside in splitter.split(rows.features, rows.supported, rows.sources):
        part = joined(rows[inside], extra) if extra else rows[inside]
        scores[outside] = fit(part, strength).predict_proba(rows.features[outside])[:, 1]
    return scores


def joined(first: Rows, second: Rows) -> Rows:
    """Rows of both."""
    import numpy as np

    return Rows(
        np.concatenate([first.features, second.features]),
        np.concatenate([first.supported, second.supported]),
        np.concatenate([first.sources, second.sources]),
        np.concatenate([first.sets, second.sets]),
    )


def mean_auc(rows: Rows, scores: Floats) -> float:
    """Mean over the sets."""
    import numpy as np

    names = np.unique(rows.sets)
    each = [auc(scores[rows.sets == one], rows.supported[rows.sets == one]) for one in names]
    return float(np.mean(each))


def choose_strength(rows: Rows, extra: Rows | None = None) -> tuple[float, dict[float, float]]:
    """The strength with the best mean area under the curve, and that of each."""
    found = {one: mean_auc(rows, cross_fitted(rows, one, extra)) for one in STRENGTHS}
    return max(found, key=lambda one: found[one]), found


def best_threshold(scores: Floats, supported: NDArray[np.bool_]) -> float:
    """Where the balanced accuracy, averaged over neighbouring thresholds, is best.

    The average keeps a lucky single row from deciding on a small tuning part.
    """
    import numpy as np

    edges = np.quantile(scores, np.linspace(0.05, 0.95, 61))
    values = np.array([balanced_accuracy(scores >= one, supported) for one in edges])
    smooth = np.convolve(np.pad(values, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    return float(edges[int(np.argmax(smooth))])


def middle_threshold(scores: Floats, supported: NDArray[np.bool_]) -> float:
    """Half way between the medians of both labels.

    With a few dozen rows this varies less than the best threshold: chosen on one half of the
    tuning sources and scored on the other, it gave .650 to .658 where the best one gave .641 to
    .647 (mean of five sets, 60 splits).
    """
    import numpy as np

    return float(np.median(scores[supported]) + np.median(scores[~supported])) / 2


def calibrated(scores: Floats, supported: NDArray[np.bool_], others: Floats) -> Floats:
    """Probabilities of other scores, by a logistic curve through these (Platt 1999)."""
    model = import_module("sklearn.linear_model").LogisticRegression(C=1.0)
    fitted = model.fit(scores[:, None], supported)
    return fitted.predict_proba(others[:, None])[:, 1]


def calibration_error(probabilities: Floats, supported: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error over bins of equal size (Naeini et al. 2015, adaptive)."""
    import numpy as np

    order = np.array_split(np.argsort(probabilities, kind="stable"), bins)
    gaps = [
        len(one) * abs(float(probabilities[one].mean() - supported[one].mean()))
        for one in order
        if len(one)
    ]
    return sum(gaps) / len(probabilities)


def as_classifier(pipeline: Any, names: Sequence[str], threshold: float) -> Classifier:
    """The stored form of a fitted pipeline."""
    scaler, model = pipeline[0], pipeline[1]
    return Classifier(
        tuple(names),
        tuple(round(float(one), 6) for one in scaler.mean_),
        tuple(round(float(one), 6) or 1.0 for one in scaler.scale_),
        tuple(round(float(one), 6) for one in model.coef_[0]),
        round(float(model.intercept_[0]), 6),
        round(threshold, 4),
    )


def as_probabilities(classifier: Classifier, found: Sequence[Mapping[str, float]]) -> Floats:
    """Probabilities of the stored form."""
    import numpy as np

    return np.array([classifier.probability(one) for one in found])
