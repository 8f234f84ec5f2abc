"""all-MiniLM-L6-v2 in numpy: no framework to import, ready in a moment.

The same vectors as sentence-transformers makes of the same weights (to 1e-5, tested): BERT (Devlin
et al. 2019) with six layers, the mean over all tokens, scaled to length one. The tokens of many
texts are the rows of one matrix, and nothing is padded: of sentences that takes about half of the
processor time that torch takes, of long texts as much (docs/concepts/retrieval.md).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Tokens = NDArray[np.int64]

LAYERS, HEADS, LONGEST = 6, 12, 256
# Tokens whose rows are multiplied at once: more leave the processor's cache.
ROWS = 512
# Of the layer norms.
EPSILON = 1e-12
# artanh(erf(x / √2)) / x as a polynomial of x², highest power first, fitted for the least largest
# error of GELU; from x² = 25 on, erf is ±1 in float32.
GELU = (
    -5.71092254e-08, 2.81248273e-06, -4.73981293e-05, -5.73555347e-05, 0.0363649171, 0.797872931
)  # fmt: skip
GELU_LIMIT = 25.0


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
        """Vectors of shape (n, 384), of length one.

        Products run on one thread, groups of texts side by side: threads that share a small
        product wait for each other, on a busy machine a hundred times as long.
        """
        limits: Any = import_module("threadpoolctl").threadpool_limits
        encodings = self.tokenizer.encode_batch(list(texts))
        groups = _groups([np.asarray(encoding.ids, np.int64) for encoding in encodings])
        with limits(1), ThreadPoolExecutor(os.cpu_count()) as threads:
            return np.concatenate(list(threads.map(self._means, groups)))

    def _means(self, texts: Sequence[Tokens]) -> Array:
        lengths = [len(ids) for ids in texts]
        starts = np.cumsum([0, *lengths[:-1]])
        hidden = self._hidden(np.concatenate(texts), lengths, starts)
        sums = np.add.reduceat(hidden, starts, axis=0)
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), EPSILON)

    def _hidden(self, ids: Tokens, lengths: Sequence[int], starts: Tokens) -> Array:
        table = "embeddings"
        positions = np.arange(len(ids)) - np.repeat(starts, lengths)
        hidden = (
            self.weights[f"{table}.word_embeddings.weight"][ids]
            + self.weights[f"{table}.position_embeddings.weight"][positions]
            + self.weights[f"{table}.token_type_embeddings.weight"][0]
        )
        hidden = self._normal(hidden, f"{table}.LayerNorm")
        for number in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{number}", starts)
        return hidden

    def _layer(self, hidden: Array, name: str, starts: Tokens) -> Array:
        attended = self._attention(hidden, f"{name}.attention.self", starts)
        attended = self._linear(attended, f"{name}.attention.output.dense")
        hidden = self._normal(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._normal(
            hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm"
        )

    def _attention(self, hidden: Array, name: str, starts: Tokens) -> Array:
        """Each text attends to itself."""
        width = hidden.shape[1] // HEADS
        parts = [self._linear(hidden, f"{name}.{part}") for part in ("query", "key", "value")]
        mixed: list[Array] = []
        for rows in zip(*(np.split(part, starts[1:]) for part in parts), strict=True):
            query, key, value = (part.reshape(-1, HEADS, width).swapaxes(0, 1) for part in rows)
            scores = query @ key.swapaxes(1, 2)
            scores -= scores.max(axis=-1, keepdims=True)
            scores *= np.float32(1 / math.sqrt(width))
            powers = np.exp(scores, out=scores)
            powers /= powers.sum(axis=-1, keepdims=True)
            mixed.append((powers @ value).swapaxes(0, 1).reshape(rows[0].shape))
        return np.concatenate(mixed)

    def _linear(self, hidden: Array, name: str) -> Array:
        product = hidden @ self.weights[f"{name}.weight"].T
        product += self.weights[f"{name}.bias"]
        return product

    def _normal(self, hidden: Array, name: str) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        centred /= np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        centred *= self.weights[f"{name}.weight"]
        centred += self.weights[f"{name}.bias"]
        return centred


def _gelu(values: Array) -> Array:
    """GELU within 1.1e-6 of its exact form, in a third of the time that an erf takes."""
    squares = np.minimum(values**2, GELU_LIMIT)
    powers = np.full_like(squares, GELU[0])
    for coefficient in GELU[1:]:
        powers *= squares
        powers += coefficient
    powers *= values
    np.tanh(powers, out=powers)
    powers += 1
    powers *= values
    powers *= np.float32(0.5)
    return powers


def _groups(texts: Sequence[Tokens]) -> list[list[Tokens]]:
    """Consecutive texts of at most :data:`ROWS` tokens together, one text at least."""
    groups: list[list[Tokens]] = []
    room = 0
    for ids in texts:
        if len(ids) > room:
            groups.append([])
            room = ROWS
        groups[-1].append(ids)
        room -= len(ids)
    return groups


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
