"""Critics on a sentence encoder: its cosine alone, with BM25 in equal parts, and fitted to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.rag.compress.critics.features import features, is_talk, standard
from harness.rag.compress.ranking import LexicalCritic
from harness.rag.compress.types import Critic, Query, Unit
from harness.rag.retrieve import Encoder, EncoderKind, open_encoder

COEFFICIENTS = Path(__file__).with_name("mixture.json")
"""Weights of the features; `lab/training/mixture.py` fits them."""
# Characters of a call up to which BM25 and cosine in equal parts rank it: about three pages.
SHORT = 8_000


class EmbeddingCritic:
    """Scores by the angle between the query and each unit, its heading in front.

    Args:
        encoder: an open encoder, or its kind.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """

    def __init__(self, encoder: Encoder | EncoderKind = "encoder") -> None:
        self.encoder = open_encoder(encoder) if isinstance(encoder, str) else encoder
        self.name = f"embedding ({self.encoder.name})"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Cosines, from -1 to 1; comparable between calls too."""
        vectors = self._vectors(query, units)
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    def _vectors(self, query: Query, units: Sequence[Unit]) -> NDArray[np.float32]:
        """Vectors of the query and of each unit."""
        texts = [f"{unit.heading}\n{unit.text}".strip() for unit in units]
        return self.encoder.encode([query.text, *texts])


class FittedCritic(EmbeddingCritic):
    """Scores by features of BM25 and cosine, with coefficients fitted on training questions.

    No set that is reported on had a part in the fit.

    Args:
        encoder: an open encoder, or its kind.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """

    def __init__(self, encoder: Encoder | EncoderKind = "encoder") -> None:
        super().__init__(encoder)
        fitted: dict[str, Any] = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
        self._weights = np.asarray(fitted["weights"])
        self.name = f"fitted ({self.encoder.name}, BM25)"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Unnormalised log-odds among the units of this call."""
        if not units:
            return []
        vectors = self._vectors(query, units)
        return (features(query.text, units, vectors[0], vectors[1:]) @ self._weights).tolist()


class MixCritic:
    """Scores short inputs by BM25 and cosine in equal parts, long ones and talks by coefficients.

    The coefficients keep more on short inputs of the sets that they were fitted on, and less on
    others (docs/concepts/compression.md).

    Args:
        encoder: an open encoder, or its kind.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """

    def __init__(self, encoder: Encoder | EncoderKind = "encoder") -> None:
        self._fitted = FittedCritic(encoder)
        self.encoder = self._fitted.encoder
        self._parts = (LexicalCritic(), EmbeddingCritic(self.encoder))
        self.name = f"mix ({self.encoder.name}, BM25)"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Sums of standard scores, or log-odds."""
        if not units or sum(len(unit.text) for unit in units) > SHORT or is_talk(units):
            return self._fitted.score(query, units)
        return standard_sum(self._parts, query, units).tolist()


def standard_sum(
    critics: Sequence[Critic], query: Query, units: Sequence[Unit]
) -> NDArray[np.float64]:
    """Sum of the critics' scores, each with mean 0 and deviation 1 over the units."""
    scores = [np.asarray(critic.score(query, units), dtype=np.float64) for critic in critics]
    return sum(map(standard, scores), np.zeros(len(units)))
