"""Vectors of sentences and of their tokens, from one pass of the packaged encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.rag.retrieve import bundled_model, is_short, load_minilm, load_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

LONGEST = 128
"""Word pieces of a sentence that are read; what lies behind them has no vector."""
_BATCH = 32


@dataclass(frozen=True)
class States:
    """Vectors of one sentence.

    Attributes:
        sentence: mean of its tokens' vectors, of length one; shape (384,).
        tokens: in context, of length one each, without the two marks at the ends; (n, 384).
        pieces: the word pieces, as text; n of them.
    """

    sentence: Vectors
    tokens: NDArray[np.float16]
    pieces: tuple[str, ...]


def encode_states(texts: Sequence[str]) -> list[States]:
    """States of texts, in their order.

    Raises:
        BadInput: if the encoder's packages are not installed.
    """
    if is_short(texts):
        return [_of(*one) for one in load_minilm(bundled_model()).states(texts, LONGEST)]
    model: Any = load_model("SentenceTransformer", str(bundled_model()))
    found: dict[int, States] = {}
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for first in range(0, len(order), _BATCH):
        chosen = order[first : first + _BATCH]
        found |= dict(zip(chosen, _batch(model, [texts[one] for one in chosen]), strict=True))
    return [found[at] for at in range(len(texts))]


def _of(hidden: Vectors, pieces: tuple[str, ...]) -> States:
    import numpy as np

    mean = hidden.mean(axis=0)
    tokens = hidden[1:-1] / np.linalg.norm(hidden[1:-1], axis=1, keepdims=True)
    return States(mean / np.linalg.norm(mean), tokens.astype(np.float16), pieces[1:-1])


def _batch(model: Any, texts: list[str]) -> list[States]:
    import numpy as np
    import torch

    tokenizer, network = model.tokenizer, model[0].auto_model
    encoded = tokenizer(
        texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
    )
    with torch.inference_mode():
        hidden = network(**encoded).last_hidden_state
    mask = encoded["attention_mask"].unsqueeze(-1).float()
    means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    tokens = torch.nn.functional.normalize(hidden, dim=-1).numpy().astype(np.float16)
    lengths = encoded["attention_mask"].sum(1).tolist()
    return [
        States(
            means[row],
            tokens[row, 1 : length - 1].copy(),
            tuple(tokenizer.convert_ids_to_tokens(encoded["input_ids"][row, 1 : length - 1])),
        )
        for row, length in enumerate(lengths)
    ]
