"""The shipped default: a logistic model over the token critic, the encoder and BM25."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.compress.critics.embedding import EmbeddingCritic
from harness.compress.critics.features import NAMES, features
from harness.compress.critics.lexical import LexicalCritic
from harness.compress.critics.token import WEIGHTS, TokenCritic
from harness.compress.types import Query, Unit
from harness.core import BadInput

if TYPE_CHECKING:
    pass

FUSION = "fusion.json"


class FusedCritic:
    """Log-odds that a unit answers the question, from scores of three critics.

    The coefficients were fitted on held-out groups of the training files (`fusion.json` says how
    many); no set that is reported on had a part in them.

    Args:
        folder: of the weights.

    Raises:
        BadInput: if weights or packages are missing, or the coefficients are of other features.
    """

    def __init__(self, folder: Path = WEIGHTS) -> None:
        self._critics = (TokenCritic(folder), EmbeddingCritic(), LexicalCritic())
        facts = json.loads((folder / FUSION).read_text(encoding="utf-8"))
        if tuple(facts["features"]) != NAMES:
            raise BadInput(f"{folder / FUSION}: expected the features {NAMES}")
        self._weights: list[float] = facts["weights"]
        self._bias: float = facts["bias"]
        self._thresholds: dict[str, float] = facts["thresholds"]
        self.name = "fused (token critic, embedding, BM25)"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Log-odds; comparable within one call, and roughly between calls."""
        import numpy as np

        if not units:
            return []
        values = [np.asarray(one.score(query, units), dtype=np.float64) for one in self._critics]
        matrix = features(units, *values)
        return [float(one) for one in matrix @ np.asarray(self._weights) + self._bias]

    def threshold(self, recall: float, scores: Sequence[float]) -> float:
        """Least score to keep for that share of the evidence, calibrated on held-out questions.

        Raises:
            BadInput: for a recall above the highest one that was calibrated.
        """
        known = sorted((float(key), value) for key, value in self._thresholds.items())
        for reached, value in known:
            if recall <= reached:
                return value
        raise BadInput(f"expected a recall up to {known[-1][0]}, got {recall!r}")
