"""One training run: what is learned from, what is chosen, what is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.rag.check.verify import WEIGHTS, Classifier, packaged_classifier
from harness.stats import auc
from harness.train.verifier.corruptions import TEXTS, generated, read_replacements
from harness.train.verifier.features import Featured, code_digest, evaluation_sets, featured
from harness.train.verifier.fit import (
    Rows,
    as_classifier,
    as_rows,
    best_threshold,
    choose_strength,
    cross_fitted,
    fit,
    joined,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DOCUMENTS, PER_DOCUMENT = 700, 6
SOURCES = (
    *(f"compression/train/{name}.jsonl" for name in TEXTS),
    "dev/summedits.jsonl",
    "dev/qags.jsonl",
    "dev/faithbench.jsonl",
    "compression/dev/wice.jsonl",
)


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
        one
        for claims in evaluation_sets(data).values()
        for one in featured([each for each in claims if each.tuning], cache)
    ]
    texts = data / "compression/train"
    made = generated(texts, read_replacements(wordnet), DOCUMENTS, PER_DOCUMENT, seed)
    more = {
        "corrupted texts": featured(list(made), cache),
    }
    names = sorted(tuning[0].features)
    rows = as_rows(tuning, names)
    tried, extras = _tried(rows, more, names)
    best = max(tried, key=lambda one: tried[one]["mean_auc"])
    strength, extra = tried[best]["strength"], extras[best]
    scores = cross_fitted(rows, strength, extra)
    pipeline = fit(joined(rows, extra) if extra else rows, strength)
    classifier = as_classifier(pipeline, names, best_threshold(scores, rows.supported))
    by_set = {str(name): scores[rows.sets == name] for name in sorted(set(rows.sets.tolist()))}
    report = {
        "seed": seed,
        "code": code_digest(),
        "data": {name: _digest(data / name) for name in SOURCES},
        "wordnet": {one.name: _digest(one) for one in sorted(wordnet.glob("*.*"))},
        "rows": {"tuning": len(tuning), **{name: len(found) for name, found in more.items()}},
        "tried": tried,
        "chosen": best,
        "auc_tuning": {
            name: round(auc(one, rows.supported[rows.sets == name]), 4)
            for name, one in by_set.items()
        },
    }
    return Trained(classifier, by_set, report)


def _tried(
    rows: Rows, more: Mapping[str, Sequence[Featured]], names: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, Rows | None]]:
    """Cross-validated areas under the curve with each choice of further rows."""
    each = {name: as_rows(found, names) for name, found in more.items()}
    extras: dict[str, Rows | None] = {"tuning rows alone": None, **each}
    tried: dict[str, dict[str, Any]] = {}
    for name, extra in extras.items():
        strength, found = choose_strength(rows, extra)
        tried[name] = {
            "strength": strength,
            "mean_auc": round(found[strength], 4),
            "by_strength": {str(one): round(value, 4) for one, value in found.items()},
        }
    return tried, extras


def write(trained: Trained, path: Path = WEIGHTS) -> None:
    """Store the classifier with its report; the same bytes from the same files."""
    stored = {"classifier": asdict(trained.classifier), "report": trained.report}
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    packaged_classifier.cache_clear()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
