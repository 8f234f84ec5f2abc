"""all-MiniLM-L6-v2 for one text, in numpy: no framework to import, ready in a moment.

The same vectors as sentence-transformers makes of the same weights (to 1e-5, tested): BERT (Devlin
et al. 2019) with six layers, the mean over all tokens, scaled to length one. Of long or many texts
torch makes vectors faster; of a query, importing it takes longer than everything else together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]

LAYERS, HEADS, LONGEST = 6, 12, 256
# Of the layer norms.
EPSILON = 1e-12


@dataclass(frozen=True)
class MiniLM:
    """Weights and tokenizer.

    Attributes:
        weights: by the names of the published file, float32.
        tokenizer: WordPiece, cut at 256 tokens.
    """

    weights: Mapping[str, Array]
    tokenizer: Any

    def encode(self, texts: Sequence[str]) -> Array:
        """Vectors of shape (n, 384), of length one; one text after another, nothing is padded.

        On one thread: the products are small, and threads that wait for each other on a busy
        machine take a hundred times as long.
        """
        limits: Any = import_module("threadpoolctl").threadpool_limits
        with limits(1):
            tokens = [np.asarray(self.tokenizer.encode(text).ids, np.int64) for text in texts]
            means = [self._hidden(ids).mean(axis=0) for ids in tokens]
        return np.stack([mean / max(float(np.linalg.norm(mean)), EPSILON) for mean in means])

    def _hidden(self, ids: NDArray[np.int64]) -> Array:
        table = "embeddings"
        hidden = (
            self.weights[f"{table}.word_embeddings.weight"][ids]
            + self.weights[f"{table}.position_embeddings.weight"][: len(ids)]
            + self.weights[f"{table}.token_type_embeddings.weight"][0]
        )
        hidden = self._normal(hidden, f"{table}.LayerNorm")
        for number in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{number}")
        return hidden

    def _layer(self, hidden: Array, name: str) -> Array:
        attended = self._linear(self._attention(hidden, name), f"{name}.attention.output.dense")
        hidden = self._normal(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = self._linear(hidden, f"{name}.intermediate.dense")
        erf: Any = import_module("scipy.special").erf
        inner = inner * 0.5 * (1.0 + erf(inner / math.sqrt(2.0)))  # GELU in its exact form
        return self._normal(
            hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
        )

    def _attention(self, hidden: Array, name: str) -> Array:
        tokens, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}.attention.self.{part}")
            .reshape(tokens, HEADS, width // HEADS)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // HEADS)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (powers / powers.sum(axis=-1, keepdims=True)) @ value
        return mixed.transpose(1, 0, 2).reshape(tokens, width)

    def _linear(self, hidden: Array, name: str) -> Array:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normal(self, hidden: Array, name: str) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


@cache
def load_minilm(folder: Path) -> MiniLM:
    """The model in a folder, its weights mapped, not read.

    Args:
        folder: with `model.safetensors` and `tokenizer.json`.
    """
    tokenizer: Any = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    return MiniLM(read_safetensors(folder / "model.safetensors"), tokenizer)


def read_safetensors(path: Path) -> dict[str, Array]:
    """The float32 tensors of a file: eight bytes of length, a JSON header, then the numbers."""
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header: dict[str, Any] = json.loads(stream.read(size))
    numbers: Any = np.memmap(path, mode="r", offset=8 + size, dtype=np.uint8)
    return {
        name: numbers[slice(*entry["data_offsets"])].view("<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }
