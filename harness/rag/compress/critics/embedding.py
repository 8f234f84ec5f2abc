"""Cosine of a sentence encoder's vectors (sentence-transformers)."""

from __future__ import annotations

from collections.abc import Sequence

from harness.rag.compress.types import Query, Unit
from harness.rag.retrieve.encoder import Encoder, EncoderKind, open_encoder


class EmbeddingCritic:
    """Scores by the angle between the query and each unit, its heading in front.

    Args:
        encoder: an open encoder, or its kind.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """

    def __init__(self, encoder: Encoder | EncoderKind = "encoder") -> None:
        self._encoder = open_encoder(encoder) if isinstance(encoder, str) else encoder
        self.name = f"embedding ({self._encoder.name})"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Cosines, from -1 to 1; comparable between calls too."""
        if not units:
            return []
        texts = [f"{unit.heading}\n{unit.text}".strip() for unit in units]
        vectors = self._encoder.encode([query.text, *texts])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]
