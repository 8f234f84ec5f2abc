"""Trains the classifier of the verifier `trained`.

Logistic regression on features of claims, its strength chosen by folds over sources; texts that
were corrupted by rule are learned from as well where they help.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import digest_file
from harness.rag.check.verify import WEIGHTS, Classifier, packaged_classifier
from harness.stats import auc, balanced_accuracy
from harness.train.verifier.corruptions import TEXTS, generated
from harness.train.verifier.features import Featured, code_digest, evaluation_sets, featured
from harness.train.verifier.wordnet import read_replacements

Floats = NDArray[np.float64]
STRENGTHS = (0.001, 0.01, 0.03)  # inverse weights of the penalty that are tried
FOLDS = 5
DOCUMENTS, PER_DOCUMENT = 700, 6
SOURCES = (
    *(f"compression/train/{name}.jsonl" for name in TEXTS),
    "dev/summedits.jsonl",
    "dev/qags.jsonl",
    "dev/faithbench.jsonl",
    "compression/dev/wice.jsonl",
)


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
        return Rows(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def __add__(self, more: Rows) -> Rows:
        pairs = ((getattr(self, field.name), getattr(more, field.name)) for field in fields(self))
        return Rows(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Trained:
    """What a run gives.

    Attributes:
        classifier: for all sets.
        cross_fitted: by set, probabilities of its tuning rows from models that saw no row of
            their source.
        report: what was tried, chosen and measured on the tuning parts.
    """

    classifier: Classifier
    cross_fitted: dict[str, Floats]
    report: dict[str, Any]


def train(data: Path, wordnet: Path, cache: Path | None = None, seed: int = 1) -> Trained:
    """Fit the classifier on tuning rows, with corrupted texts if they help.

    Args:
        data: the folder of data sets.
        wordnet: the folder of WordNet's database files.
        cache: folder that keeps features.
        seed: of the corruptions.
    """
    tuning = [
        row
        for claims in evaluation_sets(data).values()
        for row in featured([claim for claim in claims if claim.tuning], cache)
    ]
    texts = data / "compression/train"
    claims = generated(texts, read_replacements(wordnet), DOCUMENTS, PER_DOCUMENT, seed)
    corrupted = featured(list(claims), cache)
    names = sorted(tuning[0].features)
    rows = as_rows(tuning, names)
    extras = {"tuning rows alone": None, "corrupted texts": as_rows(corrupted, names)}
    tried: dict[str, dict[str, Any]] = {}
    for name, extra in extras.items():
        strength, by_strength = choose_strength(rows, extra)
        tried[name] = {
            "strength": strength,
            "mean_auc": round(by_strength[strength], 4),
            "by_strength": {str(key): round(value, 4) for key, value in by_strength.items()},
        }
    best = max(tried, key=lambda name: tried[name]["mean_auc"])
    strength, extra = tried[best]["strength"], extras[best]
    scores = cross_fitted(rows, strength, extra)
    pipeline = fit(rows + extra if extra else rows, strength)
    classifier = as_classifier(pipeline, names, best_threshold(scores, rows.supported))
    by_set = {str(name): scores[rows.sets == name] for name in sorted(set(rows.sets.tolist()))}
    report = {
        "seed": seed,
        "code": code_digest(),
        "data": {name: digest_file(data / name) for name in SOURCES},
        "wordnet": {file.name: digest_file(file) for file in sorted(wordnet.glob("*.*"))},
        "rows": {"tuning": len(tuning), "corrupted texts": len(corrupted)},
        "tried": tried,
        "chosen": best,
        "auc_tuning": {
            name: round(auc(probabilities, rows.supported[rows.sets == name]), 4)
            for name, probabilities in by_set.items()
        },
    }
    return Trained(classifier, by_set, report)


def write(trained: Trained, path: Path = WEIGHTS) -> None:
    """Store the classifier with its report; the same bytes from the same files."""
    stored = {"classifier": asdict(trained.classifier), "report": trained.report}
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    packaged_classifier.cache_clear()


def as_rows(claims: Sequence[Featured], names: Sequence[str]) -> Rows:
    """Arrays of claims."""
    return Rows(
        np.array([[row.features[name] for name in names] for row in claims], np.float64),
        np.array([row.claim.supported for row in claims], bool),
        np.array([row.claim.document for row in claims]),
        np.array([row.claim.name for row in claims]),
    )


def balanced(rows: Rows) -> Floats:
    """Weights by which every set counts the same, and within a set both labels."""
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
    scores = np.zeros(len(rows.supported))
    folds = min(FOLDS, len(np.unique(rows.sources)))
    splitter = import_module("sklearn.model_selection").GroupKFold(folds)
    for inside, outside in splitter.split(rows.features, rows.supported, rows.sources):
        part = rows[inside] + extra if extra else rows[inside]
        scores[outside] = fit(part, strength).predict_proba(rows.features[outside])[:, 1]
    return scores


def choose_strength(rows: Rows, extra: Rows | None = None) -> tuple[float, dict[float, float]]:
    """The strength with the best area under the curve, mean over the sets, and that of each."""
    means: dict[float, float] = {}
    for strength in STRENGTHS:
        scores = cross_fitted(rows, strength, extra)
        chosen = [rows.sets == name for name in np.unique(rows.sets)]
        means[strength] = float(np.mean([auc(scores[own], rows.supported[own]) for own in chosen]))
    return max(means, key=lambda strength: means[strength]), means


def best_threshold(scores: Floats, supported: NDArray[np.bool_]) -> float:
    """Where the balanced accuracy, averaged over neighbouring thresholds, is best.

    The average keeps a lucky single row from deciding on a small tuning part.
    """
    edges = np.quantile(scores, np.linspace(0.05, 0.95, 61))
    values = np.array([balanced_accuracy(scores >= edge, supported) for edge in edges])
    smooth = np.convolve(np.pad(values, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    return float(edges[int(np.argmax(smooth))])


def as_classifier(pipeline: Any, names: Sequence[str], threshold: float) -> Classifier:
    """The stored form of a fitted pipeline."""
    scaler, model = pipeline[0], pipeline[1]
    return Classifier(
        tuple(names),
        tuple(round(float(mean), 6) for mean in scaler.mean_),
        tuple(round(float(scale), 6) or 1.0 for scale in scaler.scale_),
        tuple(round(float(weight), 6) for weight in model.coef_[0]),
        round(float(model.intercept_[0]), 6),
        round(threshold, 4),
    )
