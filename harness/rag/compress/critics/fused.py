"""Critics on a sentence encoder: its cosine alone, and the learned fusion of several scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.core import BadInput
from harness.rag.compress.critics.features import NAMES, Scores, features, is_talk, standard
from harness.rag.compress.critics.token import WEIGHTS, TokenCritic
from harness.rag.compress.ranking import LexicalCritic
from harness.rag.compress.types import Critic, Query, Unit
from harness.rag.retrieve import Encoder, EncoderKind, open_encoder

FUSION = "fusion.json"
# Characters of a call up to which the token critic takes part: a second on one core. On longer
# inputs it would read a part of them, and the mixture ranks gold sentences better without it.
READS = 8_000


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
        _, vectors = _encoded(self._encoder, query, units)
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]


def _encoded(
    encoder: Encoder, query: Query, units: Sequence[Unit]
) -> tuple[list[str], NDArray[np.float32]]:
    """Texts of the units, and vectors of the query and of each of them."""
    texts = [f"{unit.heading}\n{unit.text}".strip() for unit in units]
    return texts, encoder.encode([query.text, *texts])


class FusedCritic:
    """Scores by coefficients that were fitted on training questions.

    `fusion.json` holds two sets: one with the token critic, fitted on groups that it was not
    trained on, and one without it, for an installation that has no weights of it. No set that is
    reported on had a part in either.

    Args:
        folder: of the coefficients and of the token critic's weights.
        encoder: an open encoder, or its kind.
        critic: an open token critic; `shipped` is that of `folder`, if held-out groups said that
            it helps; None does without.

    Raises:
        BadInput: if coefficients or packages are missing, or they are of other features.
    """

    def __init__(
        self,
        folder: Path = WEIGHTS,
        encoder: Encoder | EncoderKind = "encoder",
        critic: Critic | Literal["shipped"] | None = "shipped",
    ) -> None:
        path = folder / FUSION
        if not path.is_file():
            raise BadInput(f"expected the coefficients {FUSION} in {str(folder)!r}")
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if tuple(facts["features"]) != NAMES:
            raise BadInput(f"{path}: expected the features {NAMES}, found {facts['features']!r}")
        self.encoder = open_encoder(encoder) if isinstance(encoder, str) else encoder
        if critic == "shipped":
            helps = "with critic" in facts and (folder / "critic.onnx").is_file()
            critic = TokenCritic(folder) if helps else None
        self._critic = critic
        without = facts["without critic"]
        joined = facts["with critic"] if critic else without
        self._weights: dict[bool, list[float]] = {
            True: joined["weights"],
            False: without["weights"],
        }
        self._reads_talk = any(
            weight
            for weight, name in zip(joined["weights"], NAMES, strict=True)
            if "talk: critic" in name
        )
        # A call may be scored either way: the wider margin keeps the share both times.
        self._margins: dict[str, float] = {
            recall: max(margin, without["margins"][recall])
            for recall, margin in joined["margins"].items()
        }
        parts = ("token critic, " if critic else "") + f"{self.encoder.name}, BM25"
        self.name = f"fused ({parts})"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Unnormalised log-odds among the units of this call."""
        if not units:
            return []
        scores = self._scores(query, units)
        weights = np.asarray(self._weights[scores.critic is not None])
        return (features(query.text, units, scores) @ weights).tolist()

    def threshold(self, recall: float, scores: Sequence[float]) -> float:
        """Least score to keep: the best one less the margin that kept this share when fitted.

        Raises:
            BadInput: for a recall above the highest one that was calibrated.
        """
        margins = {float(key): margin for key, margin in self._margins.items()}
        if recall > max(margins):
            raise BadInput(f"expected a recall up to {max(margins)}, got {recall!r}")
        least = min(reached for reached in margins if recall <= reached)
        return max(scores, default=0.0) - margins[least]

    def _scores(self, query: Query, units: Sequence[Unit]) -> Scores:
        texts, vectors = _encoded(self.encoder, query, units)
        # In a talk the coefficients may not use the token critic at all.
        talks = is_talk(units) and not self._reads_talk
        if self._critic is None or talks or sum(map(len, texts)) > READS:
            return Scores(None, vectors[0], vectors[1:])
        logits = np.asarray(self._critic.score(query, units), dtype=np.float64)
        return Scores(logits, vectors[0], vectors[1:])


class MixCritic:
    """Scores short inputs by BM25 and cosine in equal parts, long ones and talks by coefficients.

    The fitted coefficients and the token critic keep more on short inputs of the sets that they
    were fitted on, and less on others (docs/concepts/compression.md).

    Args:
        encoder: an open encoder, or its kind.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """

    def __init__(self, encoder: Encoder | EncoderKind = "encoder") -> None:
        self._fitted = FusedCritic(encoder=encoder, critic=None)
        self._parts = (LexicalCritic(), EmbeddingCritic(self._fitted.encoder))
        self.name = f"mix ({self._fitted.encoder.name}, BM25)"

    def score(self, query: Query, units: Sequence[Unit]) -> list[float]:
        """Sums of standard scores, or log-odds."""
        if sum(len(unit.text) for unit in units) > READS or is_talk(units):
            return self._fitted.score(query, units)
        return standard_sum(self._parts, query, units).tolist()


def standard_sum(
    critics: Sequence[Critic], query: Query, units: Sequence[Unit]
) -> NDArray[np.float64]:
    """Sum of the critics' scores, each with mean 0 and deviation 1 over the units."""
    scores = [np.asarray(critic.score(query, units), dtype=np.float64) for critic in critics]
    return sum(map(standard, scores), np.zeros(len(units)))
