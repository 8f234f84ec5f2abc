"""LLMLingua-2's method, re-implemented: a classifier that does not see the question drops words.

Pan et al. 2024 (arXiv 2403.12968, section 4): an encoder that reads in both directions gives every
word a probability that it is kept, and the most probable ones that fit the rate stay, in their
order. The published weights cannot be had offline, nor the compressions by GPT-4 that they learned
from. The classifier is therefore the token head of the critic shipped here (an encoder of the same
kind, which learned the tokens of sentences that answer), a mask in place of the question. So this
is the method and not the published model.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compression.cases import fitting
from harness.rag.compress import open_tokenizer
from harness.rag.compress.critics.token import WEIGHTS

WINDOW = 120
"""Words that are read at once."""
MOST = 500
"""Tokens that the encoder reads at once, the special ones apart."""


class WordPruner:
    """Drops words by the probability that they are kept.

    Args:
        folder: of the critic's weights.
    """

    name = "LLMLingua-2's method"

    def __init__(self, folder: Path = WEIGHTS) -> None:
        tokenizers: Any = import_module("tokenizers")
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        runtime: Any = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        options.intra_op_num_threads = 1
        self._session: Any = runtime.InferenceSession(str(folder / "critic.onnx"), options)
        self._counts = open_tokenizer("minilm").counts
        self._known: dict[str, list[float]] = {}

    def compress(self, text: str, budget: float) -> str:
        """The most probable words that fit into `budget` of the tokens, in their order."""
        words = text.split()
        if text not in self._known:
            self._known[text] = [
                chance
                for start in range(0, len(words), WINDOW)
                for chance in self._probabilities(words[start : start + WINDOW])
            ]
        chances = self._known[text]
        sizes = self._counts(words)
        order = sorted(range(len(words)), key=lambda place: -chances[place])
        chosen = fitting(order, sizes, budget * sum(sizes))
        return " ".join(words[word] for word in sorted(chosen))

    def _probabilities(self, words: Sequence[str]) -> list[float]:
        """Average 1 - P(outside) over the tokens of every word."""
        encoded: Any = self._tokenizer.encode(
            list(words), is_pretokenized=True, add_special_tokens=False
        )
        if len(encoded.ids) > MOST:  # names of substances come in many pieces
            if len(words) == 1:
                return [0.0]
            half = len(words) // 2
            return self._probabilities(words[:half]) + self._probabilities(words[half:])
        start, mask, end = (
            self._tokenizer.token_to_id(token) for token in ("[CLS]", "[MASK]", "[SEP]")
        )
        ids = np.asarray([[start, mask, end, *encoded.ids, end]], dtype=np.int64)
        member = np.zeros((1, 1, ids.shape[1]), dtype=np.float32)
        member[0, 0, 3:-1] = 1
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "query": np.ones((1, 1), dtype=np.float32),
            "member": member,
        }
        logits: NDArray[np.float64] = self._session.run(["tags"], inputs)[0][0, 3:-1].astype(float)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        keep = 1 - odds[:, 0] / odds.sum(axis=1)
        of_word: list[list[float]] = [[] for _ in words]
        places: list[int] = encoded.word_ids
        for word, chance in zip(places, keep, strict=True):
            of_word[word].append(float(chance))
        return [sum(scores) / len(scores) if scores else 0.0 for scores in of_word]
