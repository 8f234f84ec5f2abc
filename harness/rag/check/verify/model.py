"""The classifier: logistic regression over features, stored as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

WEIGHTS = Path(__file__).parent.parent / "weights" / "classifier.json"


@dataclass(frozen=True)
class Classifier:
    """A linear model.

    Attributes:
        names: of the features.
        means: of the features where it was trained.
        scales: their standard deviations.
        weights: one a feature.
        bias: added.
        threshold: probability from which a claim is supported, chosen on the tuning parts.
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        """That a claim with these features is supported."""
        score = self.bias + sum(
            weight * (features[name] - mean) / scale
            for name, mean, scale, weight in zip(
                self.names, self.means, self.scales, self.weights, strict=True
            )
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def pooled(sentences: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Features of a claim of several sentences: mean, least and most of each."""
    found: dict[str, float] = {}
    for name in sentences[0]:
        values = [one[name] for one in sentences]
        found[f"{name}.mean"] = sum(values) / len(values)
        found[f"{name}.least"] = min(values)
        found[f"{name}.most"] = max(values)
    return found


@cache
def packaged_classifier() -> Classifier:
    """The one that ships, trained by `harness.train.verifier`."""
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))["classifier"]
    return TypeAdapter(Classifier).validate_python(stored)
